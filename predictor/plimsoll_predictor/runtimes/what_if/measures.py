"""The figures that a what-if compares, from weighted runs: middle, 95%, spread and outliers.

Quantiles are Harrell and Davis' (1982): averages of order statistics, weighted by a beta density.
They vary smoothly as runs come and go, so leaving some out shows their uncertainty.
"""

from __future__ import annotations

import math
from enum import StrEnum
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]

OUTLIER_TIMES: Final = 2.0
"""A run longer than this many times the usual is an outlier."""


class Measure(StrEnum):
    """A figure that changes: the first three by a ratio, outliers by a difference of shares."""

    P50 = "p50"
    """ln of the median runtime."""
    P95 = "p95"
    """ln of the runtime that 95 of 100 runs stay within."""
    SPREAD = "spread"
    """ln of the 75% quantile over the 25% one: how far apart the middle half of the runs lies."""
    OUTLIERS = "outliers"
    """Share of runs longer than OUTLIER_TIMES the usual."""


MEASURES: Final = tuple(Measure)
_SHARES: Final = (0.25, 0.5, 0.75, 0.95)
_LEAST: Final = 1e-12
_REACH: Final = 10.0
"""Order statistics further off than so many standard errors count for nothing."""


def effective_runs(weights: FloatArray) -> float:
    """How many equally weighted runs carry the same information (Kish); 0 for none."""
    total = float(weights.sum())
    return total * total / float(weights @ weights) if total > 0 else 0.0


def levels(log_runtimes: FloatArray, weights: FloatArray, log_outlier: float) -> FloatArray:
    """The measures of one side, (4,) in the order of MEASURES.

    log_runtimes: (n,), rising. weights: (n,), none below zero and at least one above.
    log_outlier: ln of the runtime beyond which a run is an outlier.
    """
    quarter, middle, three_quarters, high = _quantiles(log_runtimes, weights)
    beyond = float(weights[log_runtimes > log_outlier].sum() / weights.sum())
    return np.array([middle, high, three_quarters - quarter, beyond])


def _quantiles(log_runtimes: FloatArray, weights: FloatArray) -> list[float]:
    counted = weights > 0
    values, weights = log_runtimes[counted], weights[counted]
    shares = weights / weights.sum()
    middles = np.clip(np.cumsum(shares) - shares / 2, _LEAST, 1 - _LEAST)
    runs = effective_runs(weights)
    quantiles = []
    for share in _SHARES:
        reach = _REACH * math.sqrt(share * (1 - share) / (runs + 2))
        first, last = np.searchsorted(middles, [share - reach, share + reach])
        near = slice(int(first), max(int(last), int(first) + 1))
        density = _beta_density(middles[near], (runs + 1) * share, (runs + 1) * (1 - share))
        worth = density * shares[near]
        quantiles.append(float(worth @ values[near] / worth.sum()))
    return quantiles


def _beta_density(at: FloatArray, a: float, b: float) -> FloatArray:
    """Proportional to the density of Beta(a, b), scaled so that its largest value is 1."""
    logs = (a - 1) * np.log(at) + (b - 1) * np.log1p(-at)
    scaled: FloatArray = np.exp(logs - logs.max())
    return scaled


def student(df: float) -> float:
    """The 97.5% point of Student's distribution, by Fisher and Cornish's expansion.

    The error is below .01 from four degrees of freedom on; fewer are refused.

    >>> round(student(10), 2)
    2.23
    """
    if df < 4:
        raise ValueError(f"{df} degrees of freedom are too few to tell an interval from")
    z = 1.959963984540054
    return (
        z
        + (z**3 + z) / (4 * df)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * df**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * df**3)
        + (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / (92160 * df**4)
    )


def log_outlier_of(log_runtimes: FloatArray) -> float:
    """Where outliers begin, as ln of a runtime. log_runtimes: (n,), at least one."""
    return float(np.median(log_runtimes)) + math.log(OUTLIER_TIMES)
