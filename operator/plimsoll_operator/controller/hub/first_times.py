"""Whether something is met for the first time, as far back as is remembered."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

REMEMBERED: Final = 50_000


class FirstTimes:
    """Keys met lately; those met longest ago are forgotten, and would count as new again."""

    def __init__(self) -> None:
        self._keys: OrderedDict[str, None] = OrderedDict()

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def add(self, key: str) -> bool:
        """Remember the key; whether it was new."""
        if key in self._keys:
            return False
        self._keys[key] = None
        if len(self._keys) > REMEMBERED:
            self._keys.popitem(last=False)
        return True
