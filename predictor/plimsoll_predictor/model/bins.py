"""Bins: classes of needs, and the search for the ceilings that save the most memory-time.

A bin's ceiling carries a margin over the largest need in it. So needs are labelled for training as
``need x INNER_MARGIN`` (``labels_with_margin``): a need that would only barely fit a ceiling
belongs to the bin above. ``Bins.labels`` says whether a need fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from plimsoll_predictor.core.units import MIB

INNER_MARGIN: Final = 1.04
"""Factor of an inner ceiling over the largest need in its bin: the same work measured twice
differs by a few per cent (allocator, page alignment, sampling)."""


@dataclass(frozen=True, slots=True)
class Bins:
    """Ceilings, ascending, and figures of the needs below each.

    All tuples have one entry per bin. A bin without members has counts 0 and takes its means
    from its ceiling and from the task.
    """

    ceilings_bytes: tuple[int, ...]
    counts: tuple[int, ...]
    mean_need_bytes: tuple[float, ...]
    mean_runtime_s: tuple[float, ...]

    def __len__(self) -> int:
        return len(self.ceilings_bytes)

    def labels(self, needs_bytes: NDArray[Any]) -> NDArray[np.int64]:
        """The index of the first ceiling that each need fits, or the last index, (n,) -> (n,)."""
        places = np.searchsorted(np.asarray(self.ceilings_bytes), needs_bytes, side="left")
        return np.minimum(places, len(self.ceilings_bytes) - 1).astype(np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class BinLimits:
    """The limits of the search.

    reference_bytes: what the user asks for; improvements are relative to it.
    min_members: runs per bin; stratified splitting needs two.
    headroom: last ceiling over the largest need; at least INNER_MARGIN is used.
    floor_bytes: no ceiling is below it, as no allocation is.
    """

    reference_bytes: float
    max_bins: int = 8
    min_members: int = 2
    headroom: float = 1.1
    floor_bytes: int = 0


@dataclass(frozen=True, slots=True)
class BinOption:
    """The best bins of one number, and what a perfect classifier would save with them.

    optimal_improvement: share of reference x runs saved (Table 6, left column).
    time_based_optimal_improvement: share of reference x runtime saved (Table 6, right column).
    Negative if the reference is smaller than the needs are.
    """

    bins: Bins
    optimal_improvement: float
    time_based_optimal_improvement: float


def labels_with_margin(bins: Bins, needs_bytes: NDArray[np.float64]) -> NDArray[np.int64]:
    """Labels to train on, (n,) -> (n,): each need keeps INNER_MARGIN to its bin's ceiling."""
    return bins.labels(needs_bytes * INNER_MARGIN)


def search_bins(
    needs_bytes: NDArray[np.float64], runtimes_s: NDArray[np.float64], limits: BinLimits
) -> tuple[BinOption, ...]:
    """The bins with the highest time-based optimal improvement, for each number of bins.

    The fewest come first; there is at least one option.

    Thesis 5.2.1, exact instead of by a stride: every need, with its margin and rounded up to MiB,
    is a possible ceiling, and dynamic programming minimises the sum of ceiling x runtime over all
    ways to cut the sorted needs. The lower envelope of lines keeps each number of bins linear in
    the distinct needs.

    needs_bytes: (n,), above zero.
    runtimes_s: (n,), at least zero; if all are zero, all count alike.

    Raises:
        ValueError: if there is no need, or one is not finite and above zero.
    """
    if needs_bytes.size == 0 or not np.all(np.isfinite(needs_bytes) & (needs_bytes > 0)):
        raise ValueError(
            f"bins need at least one finite need above zero, got {needs_bytes.size} needs; "
            "leave out runs whose need is not known"
        )
    order = np.argsort(needs_bytes, kind="stable")
    needs, runtimes = needs_bytes[order].astype(np.float64), runtimes_s[order].astype(np.float64)
    weights = runtimes if runtimes.sum() > 0 else np.ones_like(runtimes)
    groups = _grouped(needs, weights, limits)
    options = []
    for starts in _best_cuts(groups, limits):
        bins = _described(needs, runtimes, groups, starts)
        options.append(_judged(bins, needs, weights, limits.reference_bytes))
    return tuple(options)


@dataclass(frozen=True, slots=True)
class _Groups:
    """Needs that share a rounded ceiling, ascending; m groups.

    ceilings_bytes: (m,). members, weights: (m + 1,), sums over the groups before each index.
    """

    ceilings_bytes: NDArray[np.float64]
    members: NDArray[np.int64]
    weights: NDArray[np.float64]


def _grouped(
    needs: NDArray[np.float64], weights: NDArray[np.float64], limits: BinLimits
) -> _Groups:
    ceilings = np.ceil(np.maximum(needs * INNER_MARGIN, limits.floor_bytes) / MIB) * MIB
    distinct, first = np.unique(ceilings, return_index=True)
    last = np.ceil(needs[-1] * max(limits.headroom, INNER_MARGIN) / MIB) * MIB
    distinct[-1] = max(distinct[-1], last)
    bounds = np.append(first, needs.size)
    return _Groups(distinct, bounds, np.append(0.0, np.cumsum(weights))[bounds])


def _best_cuts(groups: _Groups, limits: BinLimits) -> list[list[int]]:
    """For each possible number of bins, the group index at which each bin starts."""
    width = groups.ceilings_bytes.size
    costs = [0.0] + [float("inf")] * width
    starts_of: list[list[int]] = []
    cuts: list[list[int]] = []
    # There may be only one run: then one bin has one member.
    min_members = min(limits.min_members, int(groups.members[-1]))
    for _ in range(limits.max_bins):
        costs, starts = _one_more_bin(costs, groups, min_members)
        if costs[width] == float("inf"):
            break
        starts_of.append(starts)
        cuts.append(_traced(starts_of, width))
    return cuts


def _traced(starts_of: Sequence[Sequence[int]], end: int) -> list[int]:
    cut: list[int] = []
    for starts in reversed(starts_of):
        end = starts[end]
        cut.append(end)
    return cut[::-1]


def _one_more_bin(
    costs: Sequence[float], groups: _Groups, min_members: int
) -> tuple[list[float], list[int]]:
    """Least cost of covering the first j groups with one bin more, and where that bin starts.

    cost[j] = min over i of costs[i] + ceiling[j - 1] x (weights[j] - weights[i]). Each i is a line
    in the ceiling with slope -weights[i]; slopes fall and ceilings rise, so the best line only
    moves on and a queue holds the lower envelope.
    """
    ceilings, members = groups.ceilings_bytes.tolist(), groups.members.tolist()
    weights = groups.weights.tolist()
    best, starts = [float("inf")] * len(costs), [0] * len(costs)
    lines = _Envelope()
    entering = 0
    for end in range(1, len(costs)):
        while members[end] - members[entering] >= min_members and entering < end:
            if costs[entering] < float("inf"):
                lines.add(-weights[entering], costs[entering], entering)
            entering += 1
        lowest = lines.lowest_at(ceilings[end - 1])
        if lowest is not None:
            best[end] = lowest[0] + ceilings[end - 1] * weights[end]
            starts[end] = lowest[1]
    return best, starts


class _Envelope:
    """Lower envelope of lines added with falling slopes, asked at rising places."""

    def __init__(self) -> None:
        self._lines: list[tuple[float, float, int]] = []
        self._head = 0

    def add(self, slope: float, offset: float, name: int) -> None:
        lines = self._lines
        if len(lines) > self._head and lines[-1][0] == slope:
            if lines[-1][1] <= offset:
                return
            lines.pop()
        while len(lines) - self._head >= 2 and self._hidden(slope, offset):
            lines.pop()
        lines.append((slope, offset, name))

    def _hidden(self, slope: float, offset: float) -> bool:
        """Whether the newest line is nowhere lowest once this one is there."""
        (slope_a, offset_a, _), (slope_b, offset_b, _) = self._lines[-2:]
        return (offset - offset_a) * (slope_a - slope_b) <= (offset_b - offset_a) * (
            slope_a - slope
        )

    def lowest_at(self, place: float) -> tuple[float, int] | None:
        lines, head = self._lines, self._head
        if head >= len(lines):
            return None
        value = lines[head][0] * place + lines[head][1]
        while head + 1 < len(lines):
            following = lines[head + 1][0] * place + lines[head + 1][1]
            if following > value:
                break
            head, value = head + 1, following
        self._head = head
        return value, lines[head][2]


def _described(
    needs: NDArray[np.float64],
    runtimes: NDArray[np.float64],
    groups: _Groups,
    starts: Sequence[int],
) -> Bins:
    first = groups.members[np.asarray(starts)]
    counts = np.diff(np.append(first, needs.size))
    ends = np.append(np.asarray(starts[1:], dtype=np.int64), groups.ceilings_bytes.size) - 1
    return Bins(
        ceilings_bytes=tuple(int(value) for value in groups.ceilings_bytes[ends]),
        counts=tuple(int(value) for value in counts),
        mean_need_bytes=tuple(float(v) for v in np.add.reduceat(needs, first) / counts),
        mean_runtime_s=tuple(float(v) for v in np.add.reduceat(runtimes, first) / counts),
    )


def _judged(
    bins: Bins, needs: NDArray[np.float64], weights: NDArray[np.float64], reference_bytes: float
) -> BinOption:
    ceilings = np.repeat(np.asarray(bins.ceilings_bytes, dtype=np.float64), bins.counts)
    return BinOption(
        bins,
        optimal_improvement=1 - float(ceilings.sum()) / (reference_bytes * needs.size),
        time_based_optimal_improvement=1
        - float(ceilings @ weights) / (reference_bytes * float(weights.sum())),
    )
