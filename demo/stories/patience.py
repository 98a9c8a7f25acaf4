"""Waits as long as something happens: the machine decides how fast that is."""

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
        """Note the present state; a state other than the last one is a sign of life."""
        if what != self._seen:
            self._seen = what
            self._since_s = self._clock_s()

    @property
    def is_over(self) -> bool:
        """Whether there was no sign of life for too long."""
        return self._clock_s() - self._since_s > self.silence_s
