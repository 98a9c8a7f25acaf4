"""The grid of ln(runtime) that forecasts live on, and what one finished run adds to it.

A bin is ``WIDTH`` wide in ln(seconds), so about a tenth of a runtime. Runtimes below
``SMALLEST_S``, also 0, count as ``SMALLEST_S``: a clock of whole seconds gives 0 for shorter ones.
Runtimes beyond the grid's end (eighteen days) count as its last bin.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.floating]
BoolArray = npt.NDArray[np.bool_]

LOW: Final = -0.95
N_BINS: Final = 152
WIDTH: Final = 0.1
SMALLEST_S: Final = 0.5
# The part of a runtime that a clock of whole seconds hides: the deviation of a uniform second.
_CLOCK_SD_S: Final = 0.29
_COARSEST_S: Final = 1.0
_FINE: Final = 8  # positions of a bump in each bin
_SUBPOINTS: Final = 7

EDGES: Final = LOW + WIDTH * np.arange(N_BINS + 1)
EDGES_S: Final = np.exp(EDGES)
GRID: Final = EDGES[:-1] + WIDTH / 2
KNOWN_TO_S: Final = float(EDGES_S[-2])
"""Where the last bin begins: it does not tell how long the runs in it last."""
_BEYOND: Final[FloatArray] = np.eye(1, N_BINS, N_BINS - 1, dtype=np.float32)[0]
for _array in (EDGES, EDGES_S, GRID, _BEYOND):
    _array.setflags(write=False)


def checked_runtime(runtime_s: float) -> float:
    """The runtime as the grid can hold it: at least SMALLEST_S.

    Raises ValueError for an impossible runtime: negative, infinite or not a number.
    """
    if not math.isfinite(runtime_s) or runtime_s < 0:
        raise ValueError(
            f"a runtime of {runtime_s!r} s is none; give seconds from start to finish, above 0"
        )
    return max(float(runtime_s), SMALLEST_S)


def bin_of(ln_runtime: float) -> int:
    """The bin of a ln(runtime); the first or last one if it lies beyond the grid."""
    return min(max(int((ln_runtime - LOW) / WIDTH), 0), N_BINS - 1)


class Bumps:
    """The masses that a run adds to the bins: a Gaussian around its ln(runtime), with sum 1.

    Its deviation is √(k² + (.29 / runtime)²): k for how alike two runs of one task are, the rest
    for a clock of whole seconds. Rows are computed once, for eight positions in each bin. A run
    beyond the grid is all in the last bin: how far it is from the others is not known.
    """

    def __init__(self, k: float) -> None:
        self._rows = _bump_rows(k)

    def at(self, ln_runtime: float) -> FloatArray:
        """(N_BINS,) float32, read-only."""
        if ln_runtime > EDGES[-1]:
            return _BEYOND
        position = int((ln_runtime - LOW) * (_FINE / WIDTH))
        row: FloatArray = self._rows[min(max(position, 0), len(self._rows) - 1)]
        return row


# They take a tenth of a second and never change; every look at a task makes a forecaster.
@lru_cache(maxsize=8)
def _bump_rows(k: float) -> FloatArray:
    at = LOW + WIDTH / _FINE * (np.arange(N_BINS * _FINE) + 0.5)
    runtimes_s = np.exp(at)
    # A runtime below a second comes from a finer clock, or stands for 0.
    clock_sd = np.where(runtimes_s < _COARSEST_S - 0.01, 0.0, _CLOCK_SD_S / runtimes_s)
    sd = np.sqrt(k**2 + clock_sd**2)
    offsets = (np.arange(_SUBPOINTS) + 0.5) / _SUBPOINTS * WIDTH
    masses = np.zeros((len(at), N_BINS))
    for offset in offsets:
        masses += np.exp(-0.5 * ((EDGES[None, :-1] + offset - at[:, None]) / sd[:, None]) ** 2)
    masses[masses < 1e-6 * masses.max(axis=1, keepdims=True)] = 0.0
    masses /= masses.sum(axis=1, keepdims=True)
    rows: FloatArray = masses.astype(np.float32)
    rows.setflags(write=False)
    return rows
