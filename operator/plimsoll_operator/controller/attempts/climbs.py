"""Which retries still climb, as far as agents said: those whose running maximum went up lately.

    an agent's running maximum, the clock ─► Climbs ─► LiveNeeds
A retry that still climbs may be killed at its size as its run was before. One that stays where it
is has shown what it needs; below what its run was killed at before it cannot stay.
Live state of the attempts that LiveNeeds follows, and so bounded. After a restart of the controller
an agent's first word only says where a retry is, and the second whether it climbs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from plimsoll_predictor.core.task import TaskId

STEP: Final = 1.05
"""A running maximum went up if it did by this factor; less is noise."""
LATELY_SHARE: Final = 0.25
"""Lately is within the latest part of its time so far, by this share,"""
LATELY_S: Final = 5.0
"""or within so many seconds, as agents measure and report by the second."""


@dataclass(slots=True)
class Climb:
    """One retry.

    after_bytes: what its run was killed at before. reached_bytes: its running maximum; 0 before an
    agent told any. rose_s: when that was first seen above ``base_bytes`` by a step; None if never.
    climbing: what was told of it last.
    """

    task: TaskId
    started_s: float
    after_bytes: float
    reached_bytes: float = 0.0
    base_bytes: float = 0.0
    rose_s: float | None = None
    climbing: bool = False

    def reached(self, need_bytes: float, at_s: float) -> None:
        """Note its running maximum. What is seen first says nothing of when it was reached."""
        self.reached_bytes = max(self.reached_bytes, need_bytes)
        if self.base_bytes == 0.0:
            self.base_bytes = need_bytes
        elif need_bytes >= STEP * self.base_bytes:
            self.base_bytes, self.rose_s = need_bytes, at_s

    def goes_on(self, now_s: float) -> bool:
        """Whether it will need more: it did lately, or what killed its run is not reached yet.

        A run of hours climbs in steps of minutes. What no agent measures says nothing.
        """
        if 0 < self.reached_bytes < self.after_bytes:
            return True
        if self.rose_s is None:
            return False
        lately_s = max(LATELY_S, LATELY_SHARE * (self.rose_s - self.started_s))
        return now_s - self.rose_s <= lately_s


@dataclass(slots=True)
class Climbs:
    """The retries that run now, by attempt. Times are Unix seconds."""

    _climbs: dict[str, Climb] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._climbs)

    def follow(self, attempt_uid: str, task: TaskId, started_s: float, after_bytes: float) -> None:
        """Follow a retry from now on. after_bytes: what its run was killed at before."""
        self._climbs.setdefault(attempt_uid, Climb(task, started_s, after_bytes))

    def reached(self, attempt_uid: str, need_bytes: float, at_s: float) -> None:
        """Note the running maximum of an attempt, if it is followed."""
        if (climb := self._climbs.get(attempt_uid)) is not None:
            climb.reached(need_bytes, at_s)

    def ended(self, attempt_uid: str) -> None:
        """Follow it no more."""
        self._climbs.pop(attempt_uid, None)

    def turned(self, now_s: float) -> Iterator[tuple[TaskId, str, bool]]:
        """Yield which attempts begin to climb or climb no more, each once: its task, and whether.

        Silence tells the end of a climb, so the clock has to be asked.
        """
        for attempt_uid, climb in self._climbs.items():
            goes_on = climb.goes_on(now_s)
            if goes_on is not climb.climbing:
                climb.climbing = goes_on
                yield climb.task, attempt_uid, goes_on
