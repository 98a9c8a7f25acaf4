"""Waiting for as long as something happens: how fast it goes is up to the machine."""

from __future__ import annotations

import time
from collections.abc import Callable


class Patience:
    """Ends when nothing has changed for so many seconds, and not before.

    clock_s: seconds that only grow.
    """

    def __init__(self, silence_s: float, clock_s: Callable[[], float] = time.monotonic) -> None:
        self.silence_s = silence_s
        self._clock_s = clock_s
        self._seen: object = None
        self._since_s = clock_s()

    def saw(self, what: object) -> None:
        """Note how things are; anything else than the last time is a sign of life."""
        if what != self._seen:
            self._seen = what
            self._since_s = self._clock_s()

    @property
    def is_over(self) -> bool:
        """Whether there was no sign of life for too long."""
        return self._clock_s() - self._since_s > self.silence_s
