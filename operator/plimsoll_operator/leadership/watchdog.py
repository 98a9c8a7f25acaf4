"""Ends the process of a leader that could not renew its Lease in time.

In a thread of its own: an event loop that hangs must not keep a leader that others have replaced.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from typing import Final

import structlog

log = structlog.get_logger()

LOST: Final = 75
"""Exit status of a process that lost the lead; the kubelet starts it again, and it stands by."""
_LOOK_EVERY_S: Final = 0.1


def boot_clock_s() -> float:
    """Seconds that also pass while the machine is suspended; nothing sets this clock."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def end_process(why: str) -> None:
    """End at once, without cleaning up: nothing more is written anywhere."""
    # The logging libraries are not used: the part that hangs may hold their locks.
    line = {"event": "lost the lead, ending at once", "why": why, "level": "error"}
    os.write(2, f"{json.dumps(line)}\n".encode())
    os._exit(LOST)


class Watchdog:
    """Watches from ``renewed`` on, until ``stop``."""

    def __init__(
        self,
        patience_s: float,
        clock_s: Callable[[], float] = boot_clock_s,
        end: Callable[[str], None] = end_process,
    ) -> None:
        self._patience_s = patience_s
        self._clock_s = clock_s
        self._end = end
        self._renewed_s: float | None = None
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="plimsoll-lease", daemon=True)

    def renewed(self, at_s: float) -> None:
        """Note a renewal that was requested at ``at_s``: the answer may have taken long."""
        self._renewed_s = at_s
        if not self._thread.ident:
            self._thread.start()

    def stop(self) -> None:
        """Watch no longer: the Lease was given back, or what needs it has ended."""
        self._stopped.set()

    def _watch(self) -> None:
        while not self._stopped.wait(_LOOK_EVERY_S):
            assert self._renewed_s is not None
            silent_s = self._clock_s() - self._renewed_s
            if silent_s > self._patience_s:
                self._end(f"the lease was not renewed for {silent_s:.1f} s")
                return
