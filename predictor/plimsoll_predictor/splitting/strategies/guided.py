"""Guided self-scheduling by what items are found to cost, within a run and from run to run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, Final

from plimsoll_predictor.core.documents import from_document
from plimsoll_predictor.splitting.after_kill import smaller_is_cheaper
from plimsoll_predictor.splitting.costs import MOST_ITEMS, ChunkSums, Costs
from plimsoll_predictor.splitting.jobs import Job
from plimsoll_predictor.splitting.peaks import MOST_BYTES, KilledChunk, PeakSums
from plimsoll_predictor.splitting.runs import RunSums
from plimsoll_predictor.splitting.sizes import GROWTH, Bounds, next_items
from plimsoll_predictor.splitting.strategies.strategy import Chunk, Cut

WORTH_WAITS: Final = 10.0
"""A bound on items leaves a chunk at least so many waits long: items may be faster than before."""
FIT_AGAIN: Final = 1.02
"""Costs are fitted again after so many times as many chunks: a fit costs more than a chunk."""

_ROUND: Final = "round"


class Guided:
    """A worker's part of what is left.

    most_bytes: a worker's memory; None for no bound. most_items: largest chunk that is worth its
    wait; None for no bound. surely: whether the job ends if a worker is killed.
    """

    def __init__(
        self,
        most_bytes: int | None = None,
        most_items: int | None = None,
        *,
        surely: bool = False,
    ) -> None:
        self.past = RunSums()
        self._before: RunSums | None = None
        """What was known when this run began; None if an older version began it."""
        self._round = 0
        """How often what is kept of the task had faded when this run began."""
        self._surely = surely
        self._most_items = most_items or MOST_ITEMS
        self._most_bytes = most_bytes
        self._job = Job(1, 1, 0.0, 0.0)
        self._costs: Costs | None = None
        self._bounds = Bounds(1)
        self._cut = Cut.LEASED
        self._killed_items: int | None = None
        """The smallest chunk that was killed for memory in this run."""
        self._fit_again = 0.0

    @property
    def costs(self) -> Costs | None:
        """What items and chunks cost; None if no chunk was measured."""
        return self._costs

    @property
    def most_bytes(self) -> int | None:
        """A worker's memory; None for no bound."""
        return self._most_bytes

    def bound(self, most_bytes: int | None) -> None:
        """Note a worker's memory; the least that any reported is the bound."""
        if most_bytes is None or not 0 < most_bytes <= MOST_BYTES:
            return
        if self._most_bytes is None or most_bytes < self._most_bytes:
            self._most_bytes = most_bytes
            self._learn()

    def to_document(self) -> dict[str, Any]:
        """Return what was learned from chunks, in plain JSON types."""
        return _written(self.past)

    def to_record(self) -> dict[str, Any]:
        """Return what a run that goes on needs: also what was known when it began."""
        before = None if self._before is None else _written(self._before)
        return {**_written(self.past), "before": before, _ROUND: self._round}

    def on_top_of(self, stored: object) -> dict[str, Any]:
        """Return a document with what this run measured, added to what is stored now.

        That is more than this run began with where other Jobs of its task ended meanwhile. Of Jobs
        that ran beside each other, the first to end lets older ones count less.
        """
        round_ = _round_of(stored)
        if self._before is None:
            return {**self.to_document(), _ROUND: round_ + 1}
        found = _read(stored) or RunSums()
        if round_ == self._round:
            found.begin()
            round_ += 1
        found.take(self.past, self._before)
        return {**_written(found), _ROUND: round_}

    def remember(self, document: object) -> None:
        """Take up an earlier document or record; one that cannot be read is ignored."""
        found = _read(document)
        if found is None or not isinstance(document, Mapping):
            return
        self.past.times, self.past.peaks = found.times, found.peaks
        self._before, self._round = _read(document.get("before")), _round_of(document)
        self._learn()

    def begin(self, job: Job, cut: Cut, *, anew: bool = True) -> None:
        """Let old runs count less. anew: False if this run began before, and goes on."""
        self._job, self._cut, self._killed_items = job, cut, None
        if anew:
            self.past.begin()
            self._before = RunSums(replace(self.past.times), replace(self.past.peaks))
        self._learn()

    def next_items(self, left: int) -> int:
        """Return a part of the rest; the share if all is cut before anything is known."""
        if self._costs is None and self._cut is Cut.BEFORE:
            return min(left, self._job.share)
        return next_items(left, self._job, self._costs, self._bounds)

    def done(self, chunk: Chunk) -> None:
        """Learn from a chunk; the next size already uses it."""
        self.past.times.add(chunk.items, chunk.seconds)
        if chunk.peak_bytes is not None:
            self.past.peaks.add(chunk.largest or chunk.items, chunk.peak_bytes)
        if self.past.times.count >= self._fit_again:
            self._learn()

    def killed(self, items: int, container_bytes: int) -> bool:
        """Note that a worker was killed for memory: chunks become smaller at once.

        Return whether that is cheaper than more memory, so that its next attempt needs no more.
        """
        sums = self.past.peaks
        before, killed = sums.least_killed(container_bytes), KilledChunk(items, container_bytes)
        costs, wait_s = self.past.costs(), self._job.wait_s
        cheaper = smaller_is_cheaper(killed, before, self.past.memory(), costs, wait_s)
        sums.killed(items, container_bytes)
        self._killed_items = min(items, self._killed_items or items)
        self._learn()
        return cheaper

    def ended(self, makespan_s: float) -> None:
        """Count the run."""
        self.past.ended(makespan_s)

    def _learn(self) -> None:
        self._fit_again = self.past.times.count * FIT_AGAIN
        self._costs = self.past.costs()
        if self._cut is Cut.BEFORE:
            self._bounds = Bounds(self._job.items, math.inf)
            return
        most = GROWTH * max(1, self.past.times.largest)
        peaks = self.past.memory() if self._most_bytes is not None else None
        if self._most_bytes is not None:
            fit = peaks.most_items(self._most_bytes, surely=self._surely) if peaks else 1
            most = min(most, fit)
        elif self._killed_items is not None:
            # The limit is unknown, but the size that died in this run is known.
            most = min(most, max(1, self._killed_items // 2))
        self._bounds = Bounds(min(most, self._worth_most()))

    def _worth_most(self) -> int:
        if self._costs is None or self._costs.item_s <= 0:
            return self._most_items
        worth = min(MOST_ITEMS, WORTH_WAITS * self._job.wait_s / self._costs.item_s)
        return max(self._most_items, math.ceil(worth))


def _written(past: RunSums) -> dict[str, Any]:
    peaks = asdict(past.peaks)
    least = min(past.peaks.kills, key=lambda kill: kill.items, default=None)
    if least is not None:  # for an older version, after a rollback
        peaks |= {"killed_items": least.items, "killed_bytes": least.container_bytes}
    return {"times": asdict(past.times), "peaks": peaks}


def _round_of(document: object) -> int:
    found = document.get(_ROUND) if isinstance(document, Mapping) else None
    return found if isinstance(found, int) else 0


def _read(document: object) -> RunSums | None:
    """Return what ``_written`` wrote; None if it cannot be read."""
    if not isinstance(document, Mapping):
        return None
    try:
        times = from_document(ChunkSums, document.get("times"), "what chunks took")
        peaks = from_document(PeakSums, document.get("peaks"), "what chunks needed")
    except ValueError:
        return None
    return RunSums(times, peaks)
