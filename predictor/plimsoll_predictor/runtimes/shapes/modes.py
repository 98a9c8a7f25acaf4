"""Whether a task's runtimes gather at more than one place. Numpy only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import ceil, hypot, log, sqrt
from typing import Final

import numpy as np

from plimsoll_predictor.runtimes.shapes.normalising import FloatArray

LEAST_RUNS: Final = 10
"""Fewer runs fall into two groups by chance."""
MOST_RUNS: Final = 2000
"""The most runs looked at, evenly over the sorted runs; more change nothing."""
LEAST_SIDE: Final = 3
LEAST_SHARE: Final = 0.1
"""The least share of the runs: fewer are a tail, not a mode."""
MOST_MODES: Final = 4
APART: Final = 4.0
"""Distance of two modes in their standard deviations; halves of one hump are 2 to 3 apart."""
FEW_RUNS: Final = 4
"""With so few runs in the smallest mode it must be twice as far: few runs part easily by chance."""
LEAST_RATIO: Final = 1.25
"""Modes nearer than this count as one for people."""
LEAST_SD: Final = 0.03
"""The least deviation of ln(runtime): two equal runs do not make a mode of no width."""
CLOCK_SD_S: Final = 0.5
"""The spread that a clock of whole seconds may hide: half a second for runs at 2 s."""
MAD_TO_SD: Final = 1.4826
STD_SHARE: Final = 0.5
"""A mode's spread is at least this share of the standard deviation."""


@dataclass(frozen=True, slots=True)
class Mode:
    """Runs that gather: their share of all, their median, how many."""

    share: float
    usual_s: float
    runs: int


def modes_of(runtimes_s: FloatArray) -> list[Mode]:
    """The modes, shortest first; one if the runs do not part clearly. (n,), n > 0."""
    ordered = np.sort(runtimes_s)
    edges = [0, *np.searchsorted(ordered, _borders_s(ordered)).tolist(), ordered.size]
    return [
        Mode(
            share=(end - start) / ordered.size,
            usual_s=float(np.median(ordered[start:end])),
            runs=end - start,
        )
        for start, end in pairwise(edges)
    ]


def _borders_s(ordered: FloatArray) -> list[float]:
    """The shortest run of each mode except the first: as many modes as part clearly."""
    if ordered.size < LEAST_RUNS:
        return []
    thinned = ordered[np.linspace(0, ordered.size - 1, min(ordered.size, MOST_RUNS)).astype(int)]
    parting = _Parting(np.log(thinned), max(LEAST_SIDE, ceil(LEAST_SHARE * thinned.size)))
    candidates = sorted({*parting.by_variance(), *parting.by_gaps()})
    for count in range(MOST_MODES - 1, 0, -1):
        cuts = max(combinations(candidates, count), key=parting.clearness, default=())
        if cuts and parting.clearness(cuts) >= APART:
            return [float(thinned[cut]) for cut in cuts]
    return []


class _Parting:
    """Sorted ln(runtime), and how clearly cuts part them into modes of ``side`` runs or more."""

    def __init__(self, logs: FloatArray, side: int) -> None:
        self._logs, self._side = logs, side
        self._middles: dict[tuple[int, int], tuple[float, float]] = {}

    def by_variance(self) -> Iterator[int]:
        """Cuts that leave the least variance on both sides, then the same within each side."""
        pending = [(0, self._logs.size)]
        for _ in range(MOST_MODES - 1):
            start, end = max(pending, key=lambda part: part[1] - part[0])
            cut = self._variance_cut(start, end)
            if cut is None:
                return
            yield cut
            pending.remove((start, end))
            pending += [(start, cut), (cut, end)]

    def _variance_cut(self, start: int, end: int) -> int | None:
        logs, side = self._logs[start:end], self._side
        if logs.size < 2 * side:
            return None
        sizes = np.arange(1, logs.size)
        sums = np.cumsum(logs)[:-1]
        step = sums / sizes - (logs.sum() - sums) / (logs.size - sizes)
        # Equal runtimes, from a clock of whole seconds, must not be parted.
        between = sizes * (logs.size - sizes) * step**2 * (np.diff(logs) > 0)
        inner = between[side - 1 : logs.size - side]
        return start + side + int(np.argmax(inner)) if inner.max() > 0 else None

    def by_gaps(self) -> Iterator[int]:
        """The widest gaps: variance alone cuts an uneven pair in the wrong place."""
        gaps = np.diff(self._logs)[self._side - 1 : self._logs.size - self._side]
        for place in np.argsort(-gaps, kind="stable")[: MOST_MODES - 1]:
            if gaps[place] > 0:
                yield int(place) + self._side

    def clearness(self, cuts: Sequence[int]) -> float:
        """How many standard deviations the nearest two modes are apart; 0 if one is too small.

        It is less if the smallest mode has few runs.
        """
        edges = [0, *cuts, self._logs.size]
        smallest = min(end - start for start, end in pairwise(edges))
        if not cuts or smallest < self._side:
            return 0.0
        parts = [self._part(start, end) for start, end in pairwise(edges)]
        apart = min(_apart(lower, upper) for lower, upper in pairwise(parts))
        return apart / (1 + FEW_RUNS / smallest)

    def _part(self, start: int, end: int) -> tuple[float, float]:
        """Median and spread; an outlier counts little, but runs of another mode count."""
        if (start, end) not in self._middles:
            logs = self._logs[start:end]
            middle = float(np.median(logs))
            by_runs = MAD_TO_SD * float(np.median(np.abs(logs - middle)))
            spread = max(by_runs, STD_SHARE * float(logs.std()), LEAST_SD)
            by_clock = CLOCK_SD_S / float(np.exp(middle))
            self._middles[start, end] = middle, hypot(spread, by_clock)
        return self._middles[start, end]


def _apart(lower: tuple[float, float], upper: tuple[float, float]) -> float:
    """Standard deviations between two medians; 0 if people would not tell them apart."""
    step = upper[0] - lower[0]
    if step < log(LEAST_RATIO):
        return 0.0
    return step / sqrt((lower[1] ** 2 + upper[1] ** 2) / 2)
