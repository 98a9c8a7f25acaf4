"""The multiple of an anchor that costs least on average, given how runs compared with it before.

An anchor is a rough size, such as the largest need seen or a regression's prediction; a ratio is a
run's need over it. On one fixed grid of ratios the cost of every multiple for every ratio is a
matrix, so choosing is a product of it with a histogram.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from plimsoll_predictor.knowledge.ladder import next_step_bytes

Vector = NDArray[np.float64]


def _grid() -> Vector:
    """Logarithms of ratios, ascending: fine where it matters, just below and above one."""
    return np.concatenate(
        [
            np.arange(math.log(0.02), -0.3, 0.06),
            np.arange(-0.3, -0.03, 0.025),
            np.log([1.0, 1.01, 1.03]),
            np.arange(math.log(1.05), math.log(1.6), 0.045),
            np.arange(math.log(1.6), math.log(20.0), 0.12),
        ]
    )


GRID: Final = _grid()
N_CELLS: Final = len(GRID)


_POINTS: Final = GRID.tolist()


def cell_of(log_ratio: float) -> int:
    """The cell of a ratio: the first grid point at or above it."""
    return min(bisect_left(_POINTS, log_ratio - 1e-9), N_CELLS - 1)


def cells(log_ratios: Vector) -> NDArray[np.int64]:
    """The cell of each ratio, as ``cell_of``."""
    places: NDArray[np.int64] = GRID.searchsorted(log_ratios - 1e-9)
    return np.minimum(places, N_CELLS - 1)


def histogram(of: NDArray[np.int64], weights: Vector) -> Vector:
    """Weight in each cell, (N_CELLS,). of: the cell of each ratio, as from ``cells``."""
    counted = np.bincount(of, weights=weights, minlength=N_CELLS)
    return np.asarray(counted, dtype=np.float64)


@lru_cache(maxsize=1)
def _costs() -> tuple[Vector, Vector]:
    """Memory wasted, and memory of failed attempts, both in anchors: (multiple, ratio)."""
    points = np.exp(GRID)
    # A cell's needs lie between two grid points.
    middles = np.concatenate([points[:1], np.sqrt(points[1:] * points[:-1])])
    wasted, failed = np.zeros((N_CELLS, N_CELLS)), np.zeros((N_CELLS, N_CELLS))
    for row, multiple in enumerate(points):
        for column, ratio in enumerate(points):
            size = float(multiple)
            while size < ratio * (1 - 1e-9):
                failed[row, column] += size
                size = next_step_bytes(size, 1.0)
            wasted[row, column] = failed[row, column] + max(size - middles[column], 0.0)
    return wasted, failed


def cheapest_multiple(
    by_runtime: Vector, by_count: Vector, overhead_runtimes: float, most_failing: float = 1.0
) -> float:
    """The multiple of the anchor with the least expected cost.

    by_runtime, by_count: (N_CELLS,), past ratios weighted by runtime and counted.
    overhead_runtimes: the price of a failed attempt, in mean runtimes of its memory.
    most_failing: the largest share of past runs, 0 to 1, that the multiple may have failed.
    """
    wasted, failed = _costs()
    costs = wasted @ by_runtime + overhead_runtimes * (failed @ by_count)
    counted = np.add.reduce(by_count)
    above = counted - by_count.cumsum()
    # The largest multiple fails none, so that one is always left.
    costs[above > most_failing * counted + 1e-9] = np.inf
    return math.exp(_POINTS[costs.argmin()])
