"""How good a classifier of bins is, as thesis 5.2.3 and 6.2 define it, and how reliable.

Rates and improvements are shares of one; the u-score is per hundred predictions, as printed there.
A classifier is reliable if its chances come true: nine in ten of those that it gives 90%.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

BOUNDS: Final = (0.0, 0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98, 1.0)
"""Bounds of the buckets of chance: these are narrow at the ends, where sizes are decided."""


def confusion_matrix(
    true_bins: NDArray[Any], predicted_bins: NDArray[Any], n_bins: int
) -> NDArray[np.int64]:
    """Counts, (n_bins, n_bins): row = true bin, column = predicted bin.

    true_bins, predicted_bins: (n,), int, below n_bins.
    """
    flat = np.asarray(true_bins, dtype=np.int64) * n_bins + np.asarray(predicted_bins)
    return np.bincount(flat.astype(np.int64), minlength=n_bins * n_bins).reshape(n_bins, n_bins)


def u_score(over: int, under: int, total: int, penalty: float) -> float:
    """(O + U x penalty) / Total x 100 (thesis 5.2.3); smaller is better, 0 is all correct.

    >>> u_score(over=2, under=1, total=1000, penalty=10)
    1.2
    """
    return (over + under * penalty) / total * 100 if total else 0.0


def estimated_improvement(optimal_improvement: float, accuracy: float, u_rate: float) -> float:
    """The share to be saved: optimal x accuracy - u_rate (thesis 6.2, Table 11)."""
    return optimal_improvement * accuracy - u_rate


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The figures of one set of predictions.

    accuracy, u_rate, o_rate: shares of predictions that are the true bin, below it and above it
        (thesis 6.2). Where nothing is predicted, nothing is wrong.
    """

    confusion: tuple[tuple[int, ...], ...]
    accuracy: float
    u_rate: float
    o_rate: float
    u_score: float


def evaluate(confusion: NDArray[np.int64], penalty: float) -> Evaluation:
    """All figures of one confusion matrix."""
    over, under = np.triu(confusion, 1).sum(), np.tril(confusion, -1).sum()
    total = confusion.sum()
    return Evaluation(
        confusion=tuple(tuple(int(count) for count in row) for row in confusion),
        accuracy=float(np.trace(confusion) / total) if total else 1.0,
        u_rate=float(under / total) if total else 0.0,
        o_rate=float(over / total) if total else 0.0,
        u_score=u_score(int(over), int(under), int(total), penalty),
    )


@dataclass(frozen=True, slots=True)
class Bucket:
    """Forecasts of about one chance. chance: their mean; came_true: the share that did."""

    chance: float
    came_true: float
    count: int


@dataclass(frozen=True, slots=True)
class Reliability:
    """Forecasts "the need fits this ceiling", by chance; empty buckets are left out.

    error: mean distance between chance and share that came true, weighted by count (the expected
        calibration error); None where nothing was forecast.
    """

    buckets: tuple[Bucket, ...]
    error: float | None

    @classmethod
    def of(cls, chances: NDArray[np.float64], came_true: NDArray[np.bool_]) -> Reliability:
        """The reliability of forecasts, (n,) from 0 to 1, given which came true, (n,)."""
        places = np.clip(np.searchsorted(BOUNDS, chances, side="right") - 1, 0, len(BOUNDS) - 2)
        buckets = tuple(
            Bucket(
                chance=float(chances[inside].mean()),
                came_true=float(came_true[inside].mean()),
                count=int(inside.sum()),
            )
            for place in range(len(BOUNDS) - 1)
            if (inside := places == place).any()
        )
        off = sum(abs(bucket.chance - bucket.came_true) * bucket.count for bucket in buckets)
        return cls(buckets, off / chances.size if chances.size else None)


def fitting_forecasts(
    probabilities: NDArray[np.float64],
    needs_bytes: NDArray[np.float64],
    ceilings_bytes: Sequence[int],
) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Each run's chance to fit each ceiling but the last, and whether it did; flat, (n (k - 1),).

    probabilities: (n, k) of each true bin. needs_bytes: (n,). ceilings_bytes: k, ascending.
    """
    chances = np.cumsum(probabilities, axis=1)[:, :-1]
    fits = needs_bytes[:, np.newaxis] <= np.asarray(ceilings_bytes[:-1], dtype=np.float64)
    return np.minimum(chances, 1.0).ravel(), fits.ravel()
