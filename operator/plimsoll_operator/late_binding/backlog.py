"""The order and the pace in which waiting pods are resized. Pure; the clock is an argument."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Final

from plimsoll_operator.late_binding.resizing import Resize
from plimsoll_operator.pods.spec import Pod, metadata_of, spec_of

_COMPACT_AT: Final = 1024


@dataclass(frozen=True, slots=True, order=True)
class Turn:
    """A place in the order; less is sooner.

    Raises first: a pod that starts too small is killed. Then whoever frees most; among equals,
    in the order of the scheduler: by priority, then who has waited longest.
    """

    lowers: bool
    changed_bytes: int
    priority: int
    created: str

    @classmethod
    def of(cls, pod: Pod, resize: Resize) -> Turn:
        """The turn of a pod that would be resized."""
        priority = spec_of(pod).get("priority")
        return cls(
            lowers=resize.freed_bytes >= 0,
            changed_bytes=-abs(resize.freed_bytes),
            priority=-priority if isinstance(priority, int) else 0,
            created=str(metadata_of(pod).get("creationTimestamp") or ""),
        )


class Backlog:
    """Pods to be resized, each once, by turn. O(log n) each."""

    def __init__(self) -> None:
        self._turns: dict[str, Turn] = {}
        self._heap: list[tuple[Turn, str]] = []

    def __len__(self) -> int:
        return len(self._turns)

    def put(self, uid: str, turn: Turn) -> None:
        """Line a pod up; one that stands there already takes its new turn."""
        if self._turns.get(uid) == turn:
            return
        self._turns[uid] = turn
        heapq.heappush(self._heap, (turn, uid))
        if len(self._heap) > 2 * len(self._turns) + _COMPACT_AT:
            self._heap = [(turn, uid) for uid, turn in self._turns.items()]
            heapq.heapify(self._heap)

    def drop(self, uid: str) -> None:
        """The pod is not resized any more."""
        self._turns.pop(uid, None)

    def pop(self) -> str | None:
        """The next pod's UID; None if none is left."""
        while self._heap:
            turn, uid = heapq.heappop(self._heap)
            if self._turns.get(uid) == turn:
                del self._turns[uid]
                return uid
        return None


@dataclass(slots=True)
class Rate:
    """A token bucket. per_s: tokens a second, as many as it holds at most (but one at least)."""

    per_s: float
    _tokens: float = 1.0
    _filled_s: float = 0.0

    def wait_s(self, now_s: float) -> float:
        """Take a token: how long to wait until it is there. now_s: seconds that never go back."""
        most = max(1.0, self.per_s)
        self._tokens = min(most, self._tokens + (now_s - self._filled_s) * self.per_s)
        self._filled_s = now_s
        self._tokens -= 1.0
        return max(0.0, -self._tokens / self.per_s)
