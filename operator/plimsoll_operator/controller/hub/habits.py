"""Two habits that the controller's parts share.

Keys that were met are remembered for a while. Reads of the store never give up, because a lost
event is never sent again.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, ParamSpec, TypeVar

import structlog

from plimsoll_predictor.store import StoreError, Writer

log = structlog.get_logger()
P = ParamSpec("P")
T = TypeVar("T")

REMEMBERED: Final = 50_000
READ_PAUSE_S: Final = 1.0
"""A store that cannot be read is asked again after this pause."""


class FirstTimes:
    """Keys met lately; those met longest ago are forgotten, and count as new again."""

    def __init__(self) -> None:
        self._keys: OrderedDict[str, None] = OrderedDict()

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def add(self, key: str) -> bool:
        """Remember the key. Return whether it was new."""
        if key in self._keys:
            return False
        self._keys[key] = None
        if len(self._keys) > REMEMBERED:
            self._keys.popitem(last=False)
        return True

    def discard(self, key: str) -> None:
        """Forget the key."""
        self._keys.pop(key, None)


async def read_patiently(
    writer: Writer, method: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """Return what the store's method answers, and wait until the store can be read."""
    while True:
        try:
            return await writer.read(method, *args, **kwargs)
        except StoreError as error:
            log.warning("the store cannot be read, waiting", error=str(error))
            await asyncio.sleep(READ_PAUSE_S)
