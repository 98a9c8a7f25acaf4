"""Libra's ascent: ADAM on the logarithm of a chunk's size, by the slope of filtered rates.

Within a run the rate is a chunk's: items over its time and its wait; if all chunks are cut before,
it is the run's. The slope is that of the recent rates over the recent sizes; sizes move a little up
and down in turns, so that there is a slope.
"""

from __future__ import annotations

import math
from typing import Final

from plimsoll_predictor.splitting.jobs import Job
from plimsoll_predictor.splitting.strategies.strategy import Chunk, Cut

STEP: Final = 0.4
FIRST: Final = 0.9
SECOND: Final = 0.99
FILTER: Final = 0.9
"""How much a rate counts after the next one."""
MOVED: Final = 0.5
"""How far sizes are moved, in their logarithm, to see the effect."""
STARTS: Final = 4
"""Items of the first leases: one item cannot be moved up and down."""
TAIL: Final = 2
"""A lease is at most a worker's part of the rest, divided by this."""


class Libra:
    """Starts at the share if chunks are cut before, and at a few items if they are leased."""

    def __init__(self) -> None:
        self._log: float | None = None
        self._job = Job(1, 1, 0.0, 0.0)
        self._cut = Cut.LEASED
        self._turns = 0
        self._steps = 0
        self._first = self._second = 0.0
        self._sums = [0.0] * 5

    def begin(self, job: Job, cut: Cut) -> None:
        """Go on where the last run ended."""
        self._job, self._cut = job, cut
        self._turns += 1
        if self._log is None:
            self._log = math.log(job.share if cut is Cut.BEFORE else min(job.share, STARTS))

    def next_items(self, left: int) -> int:
        """Return the size, moved up or down."""
        if self._cut is Cut.LEASED:
            self._turns += 1
        # A worker that has its whole part in one chunk cannot go up.
        moved = (self._log or 0.0) + MOVED * (1 if self._turns % 2 else -1)
        items = math.exp(min(moved, math.log(self._job.share)))
        if self._cut is Cut.LEASED:
            items = min(items, left / (TAIL * self._job.workers))
        return max(1, min(left, round(items)))

    def done(self, chunk: Chunk) -> None:
        """Climb after a lease."""
        if self._cut is Cut.LEASED:
            seconds = chunk.seconds + self._job.wait_s
            self._climb(math.log(chunk.items), math.log(chunk.items / max(seconds, 1e-9)))

    def ended(self, makespan_s: float) -> None:
        """Climb after a run."""
        if self._cut is Cut.BEFORE:
            size = min((self._log or 0.0) + MOVED * (1 if self._turns % 2 else -1), 60.0)
            self._climb(min(size, math.log(self._job.share)), -math.log(max(makespan_s, 1e-9)))

    def _climb(self, size: float, rate: float) -> None:
        now = (1.0, size, rate, size * size, size * rate)
        self._sums = [FILTER * old + new for old, new in zip(self._sums, now, strict=True)]
        count, sizes, rates, squares, both = self._sums
        variance = squares / count - (sizes / count) ** 2
        if variance < 1e-6:
            return
        slope = (both / count - sizes * rates / count**2) / variance
        self._steps += 1
        self._first = FIRST * self._first + (1 - FIRST) * slope
        self._second = SECOND * self._second + (1 - SECOND) * slope * slope
        first = self._first / (1 - FIRST**self._steps)
        second = self._second / (1 - SECOND**self._steps)
        moved = (self._log or 0.0) + STEP * first / (math.sqrt(second) + 1e-9)
        self._log = min(max(0.0, moved), math.log(self._job.share))
