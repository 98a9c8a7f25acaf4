"""Splits history: a classifier is always trained on runs before those that it is judged on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

FIRST_PART: Final = 0.4
"""Share of the history that is only ever trained on."""


@dataclass(frozen=True, slots=True)
class Fold:
    """Row indices, ascending; both parts have at least one row."""

    training: NDArray[np.int64]
    validation: NDArray[np.int64]


def stratified_folds(labels: NDArray[np.int64], n_folds: int) -> list[Fold]:
    """Forward-chaining folds in which every training part has every bin.

    Strict time order and stratification contradict each other: a bin whose first member came
    last would be in no training part. So each bin's own rows are cut in time order, at the same
    shares, and a bin's earliest row is always trained on. Between bins the cuts may differ in
    time; the replay of the past (``time_folds``) is strict.

    labels: (n,), in time order. Fewer folds, or none, where no bin has a second member.
    """
    part = np.zeros(labels.size, dtype=np.int64)
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        part[rows] = _parts(rows.size, n_folds)
    return _chained(part, n_folds)


def time_folds(n_rows: int, n_folds: int) -> list[Fold]:
    """Forward-chaining folds in strict time order, (n,) rows."""
    return _chained(_parts(n_rows, n_folds), n_folds)


def _parts(size: int, n_folds: int) -> NDArray[np.int64]:
    """The part, 0 to n_folds, of each of ``size`` rows; part 0 is never empty."""
    # A row exactly on a cut begins the next part, whatever its division rounds to.
    places = np.arange(size) / max(size, 1) + 1e-9
    steps = np.floor((places - FIRST_PART) / (1 - FIRST_PART) * n_folds).astype(np.int64) + 1
    return np.clip(steps, 0, n_folds)


def _chained(part: NDArray[np.int64], n_folds: int) -> list[Fold]:
    folds = (
        Fold(np.flatnonzero(part < step), np.flatnonzero(part == step))
        for step in range(1, n_folds + 1)
    )
    return [fold for fold in folds if fold.training.size and fold.validation.size]
