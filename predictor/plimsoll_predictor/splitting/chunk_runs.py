"""Learns from pods that each did one chunk of a Job, for the task's next Jobs."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from plimsoll_predictor.core.documents import from_document, to_document
from plimsoll_predictor.splitting.costs import MOST_ITEMS, MOST_S, ChunkSums, Costs
from plimsoll_predictor.splitting.peaks import IDLE, MOST_BYTES, Peaks, PeakSums, few

KEPT: Final = 500
"""How many of a task's chunks count, the newest ones: a task changes."""
NEXT_POD_S: Final = 1.0
"""The Job controller makes the next pod up to a second after one has ended: it handles ends in
batches."""
UNSEEN_S: Final = 0.5
"""The least time of all chunks together. Kubernetes reports whole seconds, so chunks of a few
milliseconds take 0 s each. On average no time is lost, unless all of them take 0 s."""
CLOCK_S: Final = 1.0
"""Such a clock tells no shorter times apart."""
MOST_KILLED: Final = 8
"""How many limits are kept with the smallest chunk that was killed at each."""
MOST_USUAL: Final = 0.9
"""Chunks are compared with what this share of them take or need: half of them may find nothing to
do."""
HUNG: Final = 10.0
"""A chunk that takes so many times as long hung, or a clock jumped."""
LONGEST_ITEM: Final = 100
"""One of its items may take as long as so many, and it has not hung."""
LEAST_WAIT_S: Final = 0.5
LONGEST_WAIT_S: Final = 600.0


@dataclass(frozen=True, slots=True)
class ChunkRun:
    """One pod's chunk. seconds: how long it ran; None if it did not finish.

    waited_s: from the pod's creation to its start; None if unknown. killed_bytes: the limit at
    which it was killed for memory; None if it was not. run: the run that it was an attempt of.
    ended_s: Unix seconds. limit_bytes: as written; None if there was none. failed: whether it ended
    neither by success nor by a kill for memory: it failed, or was evicted, preempted or deleted.
    """

    items: int
    seconds: float | None = None
    waited_s: float | None = None
    peak_bytes: int | None = None
    killed_bytes: int | None = None
    run: str = ""
    ended_s: float | None = None
    limit_bytes: int | None = None
    failed: bool = False

    def __post_init__(self) -> None:
        """Raise ValueError for values that no chunk can have."""
        if not 0 < self.items <= MOST_ITEMS:
            raise ValueError(f"a chunk of {self.items!r} items; it has 1 to {MOST_ITEMS}")
        if self.seconds is not None and not 0 <= self.seconds <= MOST_S:
            raise ValueError(f"a chunk that took {self.seconds!r} s; it takes 0 to {MOST_S:g}")


@dataclass(frozen=True, slots=True)
class Learned:
    """What is known of a task's chunks. wait_s: from one pod's end to the start of the next.

    largest: items of the largest chunk that finished. peaks: None if none was measured. killed:
    items and limit (as written) of chunks that were killed for memory: the smallest chunk at each
    limit, for the largest limits only. failed: how many of the newest ``KEPT`` chunks failed, see
    ``ChunkRun``. hung: how many took far too long, so that their times count for nothing.
    """

    costs: Costs
    peaks: Peaks | None
    wait_s: float
    largest: int
    killed: tuple[tuple[int, int], ...] = ()
    failed: int = 0
    hung: int = 0

    def __post_init__(self) -> None:
        """Raise ValueError for values that cannot be learned: they come over the network."""
        if not 0 < self.largest <= MOST_ITEMS:
            raise ValueError(f"a largest chunk of {self.largest!r} items")
        if not 0 < self.costs.item_s <= MOST_S or not 0 <= self.costs.chunk_s <= MOST_S:
            raise ValueError(f"items that take {self.costs.item_s!r} s")
        if not 0 <= self.costs.spread_s <= MOST_S or not 0 <= self.wait_s <= MOST_S:
            raise ValueError(f"a spread of {self.costs.spread_s!r} s, a wait of {self.wait_s!r} s")
        if not (0 <= self.costs.item_error_s <= MOST_S and 0 <= self.costs.chunk_error_s <= MOST_S):
            raise ValueError(f"items that take {self.costs.item_s!r} s, nobody knows how surely")
        if self.failed < 0 or self.hung < 0:
            raise ValueError(f"{self.failed!r} chunks that failed, {self.hung!r} that hung")
        if self.peaks is not None and not _is_line(self.peaks):
            raise ValueError(f"peaks of {self.peaks.base_bytes!r} bytes and more")

    def to_document(self) -> dict[str, Any]:
        """Return it as plain JSON types."""
        document: dict[str, Any] = to_document(self)
        return document

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Learned:
        """Inverse of ``to_document``; ValueError names what is wrong."""
        return from_document(cls, document, "what is known of chunks")


def learned_of(runs: Sequence[ChunkRun]) -> Learned | None:
    """Return what these chunks teach; None if none finished, or nobody could read it.

    Cost: O(chunks).
    """
    done = [(run.items, run.seconds, run.peak_bytes) for run in runs if run.seconds is not None]
    took_s = [(items, seconds) for items, seconds, _ in done]
    needed = [(items, peak) for items, _, peak in done if peak and 0 < peak <= MOST_BYTES]
    times = _times_of(took_s)
    costs = times.fit()
    if costs is None or not costs.item_s > 0:
        return None
    try:
        return Learned(
            costs=costs,
            peaks=_peaks_of(needed).fit(),
            wait_s=_wait_s(runs),
            largest=times.largest,
            killed=_killed(runs),
            failed=sum(run.failed for run in runs),
            hung=len(done) - round(times.count),
        )
    except ValueError:
        return None


def _times_of(took_s: Sequence[tuple[int, float]]) -> ChunkSums:
    """Return the times of those chunks that have not hung. took_s: items and seconds."""
    times = ChunkSums()
    usual = _usual_of([(items, max(CLOCK_S, seconds)) for items, seconds in took_s], HUNG)
    for items, seconds in took_s:
        if seconds <= usual.longest_s(items):
            times.add(items, max(seconds, UNSEEN_S / len(took_s)))
    return times


def _peaks_of(needed: Sequence[tuple[int, int]]) -> PeakSums:
    """Return the peaks of those chunks that did their items. needed: items and bytes."""
    peaks = PeakSums()
    usual = _usual_of(needed, IDLE)
    for items, peak_bytes in needed:
        if peak_bytes * IDLE >= usual.least(items):
            peaks.add_usual(items, peak_bytes)
    return peaks


@dataclass(frozen=True, slots=True)
class _Usual:
    """amount: the seconds or bytes of MOST_USUAL of the chunks, if they have so many items."""

    items: float
    amount: float

    def longest_s(self, items: int) -> float:
        """Return the longest time of a chunk that has not hung."""
        each_s = self.amount / self.items
        return HUNG * each_s * (max(self.items, items) + LONGEST_ITEM)

    def least(self, items: int) -> float:
        """Return the least that is usual for so many items: all of it may be the items'."""
        return self.amount * min(1.0, items / self.items)


def _usual_of(chunks: Sequence[tuple[int, float]], far: float) -> _Usual:
    """Return what is usual. chunks: items, and seconds or bytes.

    A larger chunk may take more in proportion; a smaller one may take as much. If more than a few
    take over ``far`` times what nine of ten take, only they did their items, and are usual.
    """
    if not chunks:
        return _Usual(1.0, 0.0)
    items = statistics.median(items for items, _ in chunks)
    alike = sorted(amount / max(1.0, each / items) for each, amount in chunks)
    usual = _most(alike)
    beyond = [each for each in alike if each > far * usual]
    return _Usual(items, _most(beyond) if len(beyond) > few(len(alike)) else usual)


def _most(amounts: Sequence[float]) -> float:
    """Return what MOST_USUAL of the amounts are within. amounts: rising, at least one."""
    return amounts[int(MOST_USUAL * (len(amounts) - 1))]


def _is_line(peaks: Peaks) -> bool:
    """Say whether peaks are possible values."""
    each = (peaks.base_bytes, peaks.slope_bytes, peaks.noise, peaks.slope_error_bytes)
    known = all(0 <= value <= MOST_BYTES for value in (*each, peaks.middle))
    return known and peaks.base_bytes + peaks.slope_bytes > 0 and 0 < peaks.largest <= MOST_ITEMS


def _killed(runs: Sequence[ChunkRun]) -> tuple[tuple[int, int], ...]:
    """Return the smallest chunk that was killed at each limit.

    A kill below the limit as written says nothing about that limit.
    """
    smallest: dict[int, int] = {}
    for run in runs:
        killed = run.killed_bytes
        if killed is not None and killed >= (run.limit_bytes or killed):
            smallest[killed] = min(run.items, smallest.get(killed, run.items))
    largest_limits = sorted(smallest, reverse=True)[:MOST_KILLED]
    return tuple((smallest[limit], limit) for limit in largest_limits)


def _wait_s(runs: Sequence[ChunkRun]) -> float:
    """Return how long a pod usually takes to start, with the wait before it.

    It is the lower quartile of starts: the other pods waited for room on a node.
    """
    known = sorted(
        run.waited_s
        for run in runs
        if run.waited_s is not None and math.isfinite(run.waited_s) and run.waited_s >= 0
    )
    if not known:
        return LEAST_WAIT_S + NEXT_POD_S
    quartile = statistics.quantiles(known, n=4)[0] if len(known) > 1 else known[0]
    return min(max(quartile, LEAST_WAIT_S), LONGEST_WAIT_S) + NEXT_POD_S
