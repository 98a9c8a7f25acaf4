"""Counts the calls for each pod that are not answered yet.

Nothing waits for a call that hangs, because a raise comes too late then. So an older call may reach
the API server after a newer one, and the call that is answered last shows what came of them.
"""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field


@dataclass(slots=True)
class CallsInFlight:
    """Belongs to one event loop."""

    _calls: Counter[str] = field(default_factory=Counter)

    def one(self, pod_uid: str) -> ExitStack:
        """Count one call for a pod from now on, until what is returned is left."""
        self._calls[pod_uid] += 1
        call = ExitStack()
        call.callback(self._end, pod_uid)
        return call

    def of(self, pod_uid: str) -> int:
        """Return how many calls for a pod are not answered yet."""
        return self._calls[pod_uid]

    def _end(self, pod_uid: str) -> None:
        self._calls[pod_uid] -= 1
        if not self._calls[pod_uid]:
            del self._calls[pod_uid]
