"""How good a classifier of bins is, as thesis 5.2.3 and 6.2 define it.

Rates and improvements are shares of one; the u-score is per hundred predictions, as printed there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


def confusion_matrix(
    true_bins: NDArray[Any], predicted_bins: NDArray[Any], n_bins: int
) -> NDArray[np.int64]:
    """Counts, (n_bins, n_bins): row = true bin, column = predicted bin.

    true_bins, predicted_bins: (n,), int, below n_bins.
    """
    flat = np.asarray(true_bins, dtype=np.int64) * n_bins + np.asarray(predicted_bins)
    return np.bincount(flat.astype(np.int64), minlength=n_bins * n_bins).reshape(n_bins, n_bins)


def accuracy(confusion: NDArray[np.int64]) -> float:
    """Share of predictions that are the true bin. Nothing predicted is nothing wrong: 1."""
    total = confusion.sum()
    return float(np.trace(confusion) / total) if total else 1.0


def u_rate(confusion: NDArray[np.int64]) -> float:
    """Share of predictions below the true bin (thesis 6.2)."""
    total = confusion.sum()
    return float(np.tril(confusion, -1).sum() / total) if total else 0.0


def o_rate(confusion: NDArray[np.int64]) -> float:
    """Share of predictions above the true bin."""
    total = confusion.sum()
    return float(np.triu(confusion, 1).sum() / total) if total else 0.0


def u_score(over: int, under: int, total: int, penalty: float) -> float:
    """(O + U x penalty) / Total x 100 (thesis 5.2.3); smaller is better, 0 is all correct.

    >>> u_score(over=2, under=1, total=1000, penalty=10)
    1.2
    """
    return (over + under * penalty) / total * 100 if total else 0.0


def estimated_improvement(optimal_improvement: float, accuracy: float, u_rate: float) -> float:
    """What the classifier will save: optimal x accuracy - u_rate (thesis 6.2, Table 11)."""
    return optimal_improvement * accuracy - u_rate


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The figures of one set of predictions."""

    confusion: tuple[tuple[int, ...], ...]
    accuracy: float
    u_rate: float
    o_rate: float
    u_score: float


def evaluate(confusion: NDArray[np.int64], penalty: float) -> Evaluation:
    """All figures of one confusion matrix."""
    over, under = int(np.triu(confusion, 1).sum()), int(np.tril(confusion, -1).sum())
    return Evaluation(
        confusion=tuple(tuple(int(count) for count in row) for row in confusion),
        accuracy=accuracy(confusion),
        u_rate=u_rate(confusion),
        o_rate=o_rate(confusion),
        u_score=u_score(over, under, int(confusion.sum()), penalty),
    )
