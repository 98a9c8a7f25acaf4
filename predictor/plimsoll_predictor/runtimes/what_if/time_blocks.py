"""Runs of the same time: each block of time holds runs of both sides, or is left out.

Tasks and clusters change over the weeks, so both sides weigh the same in every block: a side that
ran mostly in one month is not compared with the runs of other months.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from plimsoll_predictor.core.units import DAY_S, HOUR_S
from plimsoll_predictor.runtimes.what_if.measures import FloatArray, effective_runs
from plimsoll_predictor.runtimes.what_if.scenario import Sides

BLOCKS_S: Final = (7 * DAY_S, DAY_S, 6 * HOUR_S, HOUR_S)
"""Lengths of a block, longest first: the first that gives ENOUGH_BLOCKS is taken."""
ENOUGH_BLOCKS: Final = 12
FEWEST_BLOCKS: Final = 5
"""With fewer blocks there is no interval."""
MOST_GROUPS: Final = 20


@dataclass(frozen=True, slots=True, eq=False)
class Matched:
    """Runs of the blocks that hold both sides.

    log_runtimes: (n,), rising. as_asked: (n,), bool. weights: (n,); both sides weigh the same in
    each block. groups: (n,), int, 0 … n_groups - 1: neighbouring blocks, of about equal weight.
    block_s: the length of a block; None if nothing matches.
    """

    log_runtimes: FloatArray
    as_asked: NDArray[np.bool_]
    weights: FloatArray
    groups: NDArray[np.int64]
    n_groups: int
    blocks: int
    block_s: float | None

    @property
    def effective_runs(self) -> float:
        """The size of the smaller side, in equally weighted runs."""
        return min(
            effective_runs(self.weights[self.as_asked]),
            effective_runs(self.weights[~self.as_asked]),
        )

    def between(self, first: int, last: int) -> Matched:
        """The groups from ``first`` up to but not ``last``."""
        inside = (self.groups >= first) & (self.groups < last)
        return self._part(inside, self.groups - first, last - first)

    def without(self, first: int, last: int) -> Matched:
        """All groups except those from ``first`` up to ``last``, numbered anew."""
        outside = (self.groups < first) | (self.groups >= last)
        left_out = last - first
        groups = np.where(self.groups >= last, self.groups - left_out, self.groups)
        return self._part(outside, groups, self.n_groups - left_out)

    def _part(self, chosen: NDArray[np.bool_], groups: NDArray[np.int64], n_groups: int) -> Matched:
        """The chosen runs; groups: of all runs, numbered anew. Each group counts as one block."""
        return Matched(
            self.log_runtimes[chosen],
            self.as_asked[chosen],
            self.weights[chosen],
            groups[chosen],
            n_groups,
            n_groups,
            self.block_s,
        )


NOTHING_MATCHED: Final = Matched(
    np.zeros(0), np.zeros(0, np.bool_), np.zeros(0), np.zeros(0, np.int64), 0, 0, None
)


def matched(log_runtimes: FloatArray, submitted_s: FloatArray, sides: Sides) -> Matched:
    """The runs that can be compared: none if no block of any length holds both sides.

    log_runtimes, submitted_s: (n,), in any order. sides: (n,); runs of an unknown side stay out.
    The length of a block is chosen from the times of both sides' runs, never from their runtimes.
    """
    sided = sides >= 0
    logs, times_s, as_asked = log_runtimes[sided], submitted_s[sided], sides[sided] == 1
    best: tuple[float, NDArray[np.int64], int] | None = None
    for block_s in BLOCKS_S if sided.any() else ():
        blocks = np.floor((times_s - times_s.min()) / block_s).astype(np.int64)
        both = np.intersect1d(blocks[as_asked], blocks[~as_asked]).size
        if both and (best is None or both > best[2]):
            best = block_s, blocks, both
        if both >= ENOUGH_BLOCKS:
            break
    return NOTHING_MATCHED if best is None else _weighted(logs, as_asked, best[1], best[0])


def _weighted(
    logs: FloatArray, as_asked: NDArray[np.bool_], blocks: NDArray[np.int64], block_s: float
) -> Matched:
    _, block = np.unique(blocks, return_inverse=True)
    asked_in = np.bincount(block, weights=as_asked)
    other_in = np.bincount(block) - asked_in
    # A block's worth: the inverse of the variance of a difference of two means of so many runs.
    worth = asked_in * other_in / (asked_in + other_in)
    group_of, n_groups = _groups(worth)
    both = worth[block] > 0
    logs, as_asked, block = logs[both], as_asked[both], block[both]
    weights = worth[block] / np.where(as_asked, asked_in[block], other_in[block])
    order = np.argsort(logs, kind="stable")
    return Matched(
        logs[order],
        as_asked[order],
        weights[order],
        group_of[block][order],
        n_groups,
        int((worth > 0).sum()),
        block_s,
    )


def _groups(worth: FloatArray) -> tuple[NDArray[np.int64], int]:
    """Each block's group, (n_blocks,), and their number: neighbours, about equal in worth."""
    groups = min(MOST_GROUPS, int((worth > 0).sum()))
    middles = np.cumsum(worth) - worth / 2
    places = np.floor(middles / worth.sum() * groups).astype(np.int64)
    places[worth == 0] = -1
    used, numbered = np.unique(places, return_inverse=True)
    empty = int(used[0] == -1)
    return numbered.astype(np.int64) - empty, len(used) - empty
