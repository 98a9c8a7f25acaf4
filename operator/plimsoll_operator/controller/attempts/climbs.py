"""Finds the retries that still climb: those whose running maximum went up lately.

    an agent's running maximum, the clock ─► Climbs ─► LiveNeeds
A retry that still climbs may be killed at its size, as its run was before. A retry that stays where
it is has shown its need; it cannot stay below the size at which its run was killed before.
This is live state of the attempts that LiveNeeds follows, and so it is bounded. After a restart of
the controller, an agent's first report only says where a retry is; the second says if it climbs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from plimsoll_predictor.core.task import TaskId

STEP: Final = 1.05
"""A running maximum went up if it rose by this factor; less is noise."""
LATELY_SHARE: Final = 0.25
"""Lately means: within this share of the attempt's time until its last rise,"""
LATELY_S: Final = 5.0
"""or within this many seconds, because agents measure and report each second."""


@dataclass(slots=True)
class Climb:
    """One retry.

    after_bytes: the size at which its run was killed before. reached_bytes: its running maximum; 0
    before an agent reported one. rose_s: when that last rose above ``base_bytes`` by a step; None
    if never. climbing: what ``turned`` yielded for it last.
    """

    task: TaskId
    started_s: float
    after_bytes: float
    reached_bytes: float = 0.0
    base_bytes: float = 0.0
    rose_s: float | None = None
    climbing: bool = False

    def reached(self, need_bytes: float, at_s: float) -> None:
        """Note its running maximum. The first report does not say when it was reached."""
        self.reached_bytes = max(self.reached_bytes, need_bytes)
        if self.base_bytes == 0.0:
            self.base_bytes = need_bytes
        elif need_bytes >= STEP * self.base_bytes:
            self.base_bytes, self.rose_s = need_bytes, at_s

    def goes_on(self, now_s: float) -> bool:
        """Whether it will need more: it rose lately, or is below the size that killed its run.

        A run of hours climbs in steps of minutes. An attempt that no agent measures does not climb.
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
        """Follow a retry from now on. after_bytes: the size at which its run was killed before."""
        self._climbs.setdefault(attempt_uid, Climb(task, started_s, after_bytes))

    def reached(self, attempt_uid: str, need_bytes: float, at_s: float) -> None:
        """Note the running maximum of an attempt, if it is followed."""
        if (climb := self._climbs.get(attempt_uid)) is not None:
            climb.reached(need_bytes, at_s)

    def ended(self, attempt_uid: str) -> None:
        """Follow it no more."""
        self._climbs.pop(attempt_uid, None)

    def turned(self, now_s: float) -> Iterator[tuple[TaskId, str, bool]]:
        """Yield each attempt that starts or stops climbing, once: task, UID, and if it climbs.

        A climb ends in silence, so only the clock shows its end.
        """
        for attempt_uid, climb in self._climbs.items():
            goes_on = climb.goes_on(now_s)
            if goes_on is not climb.climbing:
                climb.climbing = goes_on
                yield climb.task, attempt_uid, goes_on
