"""Says whether the store could not be written for so long that nobody may wait for a turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

STUCK_FOR_S: Final = 15.0
"""If the store could not be written for this long, nobody waits: ends of pods may not be seen."""


@dataclass(slots=True)
class StuckStore:
    """Looked at again and again. is_stuck_now: whether the store cannot be written."""

    is_stuck_now: Callable[[], bool]
    _since_s: float | None = field(default=None, init=False)

    def look(self, now_s: float) -> None:
        """Look once. now_s: on a clock that cannot jump."""
        if not self.is_stuck_now():
            self._since_s = None
        elif self._since_s is None:
            self._since_s = now_s

    def is_stuck(self, now_s: float) -> bool:
        """Say whether it was stuck at each look of the last STUCK_FOR_S."""
        return self._since_s is not None and now_s - self._since_s >= STUCK_FOR_S
