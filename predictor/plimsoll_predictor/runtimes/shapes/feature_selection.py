"""Chooses the classifier's features by the weights of a passive-aggressive one (section 5.2).

Strong features are chosen first. A feature that says the same as a chosen one is left out, so that
a Shapley value is not split between two names for one thing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from plimsoll_predictor.runtimes.shapes.normalising import FloatArray, IntArray

AGGRESSIVENESS: Final = 0.01
EPOCHS: Final = 3
MOST_ROWS: Final = 4000
ALIKE: Final = 0.95
"""The correlation from which two features say the same."""
LEAST_WEIGHT: Final = 0.05
"""The least weight of a chosen feature, as a share of the heaviest one's."""


def select(rows: FloatArray, labels: IntArray, *, seed: int) -> IntArray:
    """Choose columns, ascending, of (n_rows, n_features) for labels (n_rows,), 0 and up."""
    standard = standardised_by(rows)(rows)
    weights = np.abs(passive_aggressive(standard, labels, seed=seed)).sum(axis=0)
    kept: list[int] = []
    for column in np.argsort(-weights, kind="stable"):
        if weights[column] < LEAST_WEIGHT * weights.max() or not standard[:, column].any():
            continue
        if all(abs(_correlation(standard, int(column), other)) < ALIKE for other in kept):
            kept.append(int(column))
    return np.array(sorted(kept) or [0], dtype=np.intp)


def passive_aggressive(standard: FloatArray, labels: IntArray, *, seed: int) -> FloatArray:
    """PA-I for several classes (Crammer et al. 2006): weights (n_classes, n_features).

    If the margin to the best wrong class is below 1, both move just far enough to make it 1, by at
    most ``AGGRESSIVENESS``. The weights are the mean over all steps, so the last rows decide less
    about the order.
    """
    weights = np.zeros((int(labels.max()) + 1, standard.shape[1]))
    total = np.zeros_like(weights)
    order_of = np.random.default_rng(seed)
    for _ in range(EPOCHS):
        for place in order_of.permutation(len(standard))[:MOST_ROWS]:
            row, right = standard[place], int(labels[place])
            scores = weights @ row
            rival = int(np.argmax(np.where(np.arange(len(scores)) == right, -np.inf, scores)))
            loss = 1 - scores[right] + scores[rival]
            if loss > 0 and rival != right:
                step = min(AGGRESSIVENESS, loss / (2 * float(row @ row) + 1e-9))
                weights[right] += step * row
                weights[rival] -= step * row
            total += weights
    mean: FloatArray = total / (EPOCHS * min(MOST_ROWS, len(standard)))
    return mean


def standardised_by(rows: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """Columns by their rank among those of ``rows``, from -1 to 1, NaN as 0.

    Ranks are used because runtimes of seconds and of days occur together.
    """
    columns = [np.unique(column[np.isfinite(column)]) for column in rows.T]

    def ranked(given: FloatArray) -> FloatArray:
        standard = np.zeros_like(given)
        for place, values in enumerate(columns):
            finite = np.isfinite(given[:, place])
            if values.size > 1:
                ranks = np.interp(given[finite, place], values, np.arange(values.size))
                standard[finite, place] = 2 * ranks / (values.size - 1) - 1
        return standard

    return ranked


def _correlation(standard: FloatArray, one: int, other: int) -> float:
    left = standard[:, one] - standard[:, one].mean()
    right = standard[:, other] - standard[:, other].mean()
    norm = float(np.sqrt((left @ left) * (right @ right)))
    return float(left @ right) / norm if norm > 0 else 0.0
