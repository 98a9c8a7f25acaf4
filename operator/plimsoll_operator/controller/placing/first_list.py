"""Knows whether the pods that there were at the controller's start were all seen.

The watch first lists pods in pages, and then brings changes; nothing says where the list ends. A
change shows that it has ended. In a cluster where nothing changes, time shows it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

QUIET_S: Final = 2.0
"""Listed pods are handled side by side: so long after the last of them, all are handled."""
LONGEST_S: Final = 30.0
"""If nothing changes for so long, the list has ended, or there are no pods of tasks."""


class FirstList:
    """Complete from the beginning where nothing begins it, as in a replay."""

    def __init__(self, monotonic_s: Callable[[], float] = time.monotonic) -> None:
        self._monotonic_s = monotonic_s
        self._began_s: float | None = None
        self._newest_s = 0.0
        """When a listed pod was handled last."""
        self._changed = False
        self._complete = True

    def begin(self) -> None:
        """Wait for the list from now on."""
        self._began_s = self._newest_s = self._monotonic_s()
        self._complete = self._changed = False

    def see(self, *, listed: bool) -> None:
        """Note that a pod was handled. listed: by the list, not by a change."""
        if self._complete:
            return
        if listed:
            self._newest_s = self._monotonic_s()
        else:
            self._changed = True

    @property
    def complete(self) -> bool:
        """Whether all were seen. Once true, it stays so, though the watch may list again."""
        if not self._complete and self._began_s is not None:
            now_s = self._monotonic_s()
            ended = self._changed or now_s - self._began_s >= LONGEST_S
            self._complete = ended and now_s - self._newest_s >= QUIET_S
        return self._complete
