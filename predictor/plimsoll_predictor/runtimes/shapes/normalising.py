"""Runtimes over their task's usual one, as histograms of 200 bins (the paper's section 4.2)."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.intp]

BINS: Final = 200
SUPPORT: Final = 20
"""How many runs a task needs to teach shapes, as in the paper's data set D1."""


class Normalisation(StrEnum):
    """How a runtime is compared with the usual one."""

    RATIO = "ratio"
    """Runtime / usual: compares tasks of seconds and of days."""
    DELTA = "delta"
    """Runtime - usual, in seconds, as a waiting person feels it."""


RANGES: Final = {Normalisation.RATIO: (0.0, 10.0), Normalisation.DELTA: (-900.0, 900.0)}
"""The histogram's ends. A value beyond is an outlier and counts in the bin at its edge."""
OUTLIER_FROM: Final = {kind: high for kind, (_, high) in RANGES.items()}


def checked_runtimes(runtimes_s: ArrayLike) -> FloatArray:
    """Runtimes, (n,), each finite and above 0.

    Raises:
        ValueError: naming the first that is not, or if there is none at all.
    """
    checked = np.asarray(runtimes_s, dtype=np.float64).reshape(-1)
    if not checked.size:
        raise ValueError("no runtimes; a shape needs one run that succeeded, or more")
    wrong = ~(np.isfinite(checked) & (checked > 0))
    if wrong.any():
        place = int(np.argmax(wrong))
        raise ValueError(
            f"runtime {place + 1} of {checked.size} is {checked[place]:g} s; a runtime is finite "
            "and above 0: leave out what never ran, and count a clock's 0 as its smallest step"
        )
    return checked


def normalised(
    runtimes_s: ArrayLike, usual_s: ArrayLike, normalisation: Normalisation
) -> FloatArray:
    """Definition 4.1: ratio to, or difference in seconds from, the usual runtime. Elementwise."""
    runtimes = np.asarray(runtimes_s, dtype=np.float64)
    usual = np.asarray(usual_s, dtype=np.float64)
    ratio = normalisation is Normalisation.RATIO
    values: FloatArray = runtimes / usual if ratio else runtimes - usual
    return values


def bins_of(values: ArrayLike, normalisation: Normalisation) -> IntArray:
    """The bin of each normalised value; outliers are in the bins at the edges."""
    low, high = RANGES[normalisation]
    # Divided, not multiplied by a reciprocal: a ratio of exactly 1 must not fall to either side.
    places = np.floor((np.asarray(values, dtype=np.float64) - low) / ((high - low) / BINS) + 1e-9)
    bins: IntArray = np.clip(places, 0, BINS - 1).astype(np.intp)
    return bins


def histogram(
    values: ArrayLike, normalisation: Normalisation, weights: FloatArray | None = None
) -> FloatArray:
    """How much of ``weights`` (1 each if None) falls in each bin: (BINS,)."""
    counts: FloatArray = np.bincount(
        bins_of(values, normalisation), weights=weights, minlength=BINS
    ).astype(np.float64)
    return counts


def recency_weights(n_runs: int, half_life_runs: float) -> FloatArray:
    """Weights of runs, oldest first: the newest has 1, a run ``half_life_runs`` before half."""
    ages = np.arange(n_runs - 1, -1, -1, dtype=np.float64)
    return np.asarray(np.power(0.5, ages / half_life_runs), dtype=np.float64)
