"""Keeps the order and the pace in which waiting pods are resized. Pure; callers pass the time."""

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

    Raises come first, because a pod that starts too small is killed. Then comes the pod that frees
    most; equals follow in the scheduler's order, by priority and then by age.
    """

    lowers: bool
    changed_bytes: int
    priority: int
    created: str

    @classmethod
    def of(cls, pod: Pod, resize: Resize) -> Turn:
        """Return the turn of a pod that is to be resized."""
        priority = spec_of(pod).get("priority")
        return cls(
            lowers=resize.freed_bytes >= 0,
            changed_bytes=-abs(resize.freed_bytes),
            priority=-priority if isinstance(priority, int) else 0,
            created=str(metadata_of(pod).get("creationTimestamp") or ""),
        )


class Backlog:
    """Pods to be resized, each once, by turn. A step costs O(log n)."""

    def __init__(self) -> None:
        self._turns: dict[str, Turn] = {}
        self._heap: list[tuple[Turn, str]] = []

    def __len__(self) -> int:
        return len(self._turns)

    def put(self, uid: str, turn: Turn) -> None:
        """Put a pod into the order, in place of any earlier turn of it."""
        if self._turns.get(uid) == turn:
            return
        self._turns[uid] = turn
        heapq.heappush(self._heap, (turn, uid))
        if len(self._heap) > 2 * len(self._turns) + _COMPACT_AT:
            self._heap = [(turn, uid) for uid, turn in self._turns.items()]
            heapq.heapify(self._heap)

    def drop(self, uid: str) -> None:
        """Take a pod out: it is not resized any more."""
        self._turns.pop(uid, None)

    def pop(self) -> str | None:
        """Return the next pod's UID; None if none is left."""
        while self._heap:
            turn, uid = heapq.heappop(self._heap)
            if self._turns.get(uid) == turn:
                del self._turns[uid]
                return uid
        return None


@dataclass(slots=True)
class Rate:
    """A token bucket. per_s: tokens a second; it holds as many at most, and at least one."""

    per_s: float
    _tokens: float = 1.0
    _filled_s: float = 0.0

    def wait_s(self, now_s: float) -> float:
        """Take a token; the seconds until it is there. now_s: by a clock that never goes back."""
        most = max(1.0, self.per_s)
        self._tokens = min(most, self._tokens + (now_s - self._filled_s) * self.per_s)
        self._filled_s = now_s
        self._tokens -= 1.0
        return max(0.0, -self._tokens / self.per_s)
