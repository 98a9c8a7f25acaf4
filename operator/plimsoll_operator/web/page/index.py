"""Holds all tasks' lines, and reads them again every few seconds while somebody looks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from plimsoll_operator.web.page.rows import Live, TaskRow, row_of
from plimsoll_predictor.store import CampaignTally, Store

FRESH_S: Final = 3.0
STALE_S: Final = 60.0
"""Lines that are older than this are not shown: readers wait for new ones."""
REST: Final = 20.0
"""Reading rests this many times as long as it took: a big store is not read all the time."""

LISTED_CAMPAIGNS: Final = 10
"""How many of the newest campaigns are listed; a task's page has those of the task."""

Later = Callable[[Callable[[], object]], object]
"""Runs something soon, in another thread."""


@dataclass(frozen=True, slots=True)
class _Read:
    rows: tuple[TaskRow, ...]
    campaigns: tuple[CampaignTally, ...]
    at_s: float
    took_s: float

    def is_old(self, now_s: float) -> bool:
        """Say whether it had better be read again."""
        return now_s - self.at_s > max(FRESH_S, REST * self.took_s)


class TaskIndex:
    """Lines in the order of their names. Several threads may use it.

    A reader gets the latest lines at once; if they are old, a new reading begins beside it.
    clock: gives seconds that never go back.
    """

    def __init__(self, store: Store, live: Live, later: Later, clock: Callable[[], float]) -> None:
        self._store = store
        self._live = live
        self._later = later
        self._clock = clock
        self._read: _Read | None = None
        self._reading = threading.Lock()

    def rows(self) -> Sequence[TaskRow]:
        """All tasks of the store. StoreError if the lines are old and it cannot be read now."""
        last, now_s = self._read, self._clock()
        if last is None or now_s - last.at_s > STALE_S + REST * last.took_s:
            with self._reading:
                # Another thread may have read it meanwhile.
                if self._read is last:
                    self._read_now()
                return self._read.rows if self._read else ()
        if last.is_old(now_s):
            self._later(self.refresh)
        return last.rows

    def campaigns(self) -> Sequence[CampaignTally]:
        """The newest campaigns, as they were when the lines were read."""
        return self._read.campaigns if self._read else ()

    def refresh(self) -> None:
        """Read now, unless a reading is under way. A StoreError leaves the latest lines.

        Each who looks at old lines asks for it; only the first of them has it read.
        """
        if self._reading.acquire(blocking=False):
            try:
                if self._read is None or self._read.is_old(self._clock()):
                    self._read_now()
            finally:
                self._reading.release()

    def _read_now(self) -> None:
        begun_s = self._clock()
        summaries = self._store.totals.by_task()
        rows = tuple(row_of(summaries[task], self._live.task(task)) for task in sorted(summaries))
        campaigns = tuple(self._store.campaigns.newest(LISTED_CAMPAIGNS))
        now_s = self._clock()
        self._read = _Read(rows, campaigns, now_s, now_s - begun_s)
