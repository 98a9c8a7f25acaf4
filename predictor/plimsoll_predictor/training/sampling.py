"""Samplers against imbalance (thesis 5.2.2). For the training part of a fold only, never beyond.

Original rows always come first and unchanged, missing values included; made rows follow.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float32]
Labels = NDArray[np.int64]

NEIGHBOURS: Final = 5
"""SMOTE's own number; a class with fewer members uses all of them."""
MAX_ROWS: Final = 20_000
"""Rows after sampling, at most (or as many as there were): bounds time and memory."""


class Sampler(StrEnum):
    """The ways to balance the training part."""

    NONE = "none"
    RANDOM = "random"
    """Rare classes' rows are repeated."""
    SMOTE = "smote"
    """Rows are made between neighbours of a rare class; SMOTENC where there are categories."""
    WEIGHTS = "weights"
    """Rare classes' rows count more."""


@dataclass(frozen=True, slots=True)
class Sampled:
    """Rows to fit on. X: (n, m), y: (n,), weights: (n,) or None if all rows count alike."""

    X: Rows
    y: Labels
    weights: NDArray[np.float64] | None = None


def sample(
    X: Rows, y: Labels, sampler: Sampler, *, categorical: tuple[int, ...], seed: int
) -> Sampled:
    """Balance the classes of one training part.

    X: (n, m) encoded rows: NaN where missing, codes in the ``categorical`` columns. y: (n,).
    A class of one member cannot be interpolated and is repeated; one class alone stays as it is;
    rows of categories only are repeated, as there is nothing to interpolate. Deterministic by seed.
    """
    classes, counts = np.unique(y, return_counts=True)
    if sampler is Sampler.NONE or classes.size < 2:
        return Sampled(X, y)
    if sampler is Sampler.WEIGHTS:
        share = dict(
            zip(classes.tolist(), (y.size / (classes.size * counts)).tolist(), strict=True)
        )
        return Sampled(X, y, np.asarray([share[label] for label in y.tolist()]))
    target = min(int(counts.max()), max(MAX_ROWS // classes.size, 1))
    random = np.random.default_rng(seed)
    made: list[Rows] = []
    labels: list[Labels] = []
    space = _Space.of(X, categorical) if sampler is Sampler.SMOTE else None
    for label, count in zip(classes.tolist(), counts.tolist(), strict=True):
        missing = target - count
        if missing <= 0:
            continue
        rows = None
        # Rows of categories only cannot be interpolated.
        if space is not None and len(categorical) < X.shape[1] and count > 1:
            rows = space.interpolated(y, label, target, seed=seed)
        if rows is None:
            rows = X[random.choice(np.flatnonzero(y == label), size=missing)]
        made.append(np.asarray(rows, dtype=np.float32))
        labels.append(np.full(missing, label, dtype=np.int64))
    return Sampled(np.concatenate([X, *made]), np.concatenate([y, *labels]))


@dataclass(frozen=True, slots=True)
class _Space:
    """The rows as SMOTE can take them: complete, and scaled so that every column counts.

    filled: (n, m) float64. A missing number is its column's median; a missing category is a code
    of its own, ``absent``. centre, scale: (m,).
    """

    filled: NDArray[np.float64]
    centre: NDArray[np.float64]
    scale: NDArray[np.float64]
    categorical: tuple[int, ...]
    absent: float

    @classmethod
    def of(cls, X: Rows, categorical: tuple[int, ...]) -> _Space:
        wide = np.where(np.isfinite(X), X, np.nan).astype(np.float64)
        numeric = np.setdiff1d(np.arange(X.shape[1]), categorical)
        absent = 1.0 + max((_largest(wide[:, column]) for column in categorical), default=0.0)
        centre, scale = np.zeros(X.shape[1]), np.ones(X.shape[1])
        for column in numeric:
            present = wide[~np.isnan(wide[:, column]), column]
            if present.size:
                centre[column] = np.median(present)
                # float32 values squared fit float64, so this never overflows.
                scale[column] = float(np.std(present)) or 1.0
            else:
                centre[column] = np.nan  # It is unknown in the made rows too.
        filled = (wide - centre) / scale
        filled[:, numeric] = np.nan_to_num(filled[:, numeric], nan=0.0)
        for column in categorical:
            filled[np.isnan(filled[:, column]), column] = absent
        return cls(filled, centre, scale, categorical, absent)

    def interpolated(self, y: Labels, label: int, target: int, *, seed: int) -> Rows:
        """New rows of one class until it has ``target`` members; it has at least two."""
        from imblearn.over_sampling import SMOTE, SMOTENC  # slow to import, training only

        members = int((y == label).sum())
        chosen: dict[str, Any] = {
            "sampling_strategy": {label: target},
            "k_neighbors": min(NEIGHBOURS, members - 1),
            "random_state": seed,
        }
        if self.categorical:
            smote = SMOTENC(categorical_features=list(self.categorical), **chosen)
        else:
            smote = SMOTE(**chosen)
        resampled: NDArray[np.float64] = smote.fit_resample(self.filled, y)[0]
        rows = resampled[y.size :] * self.scale + self.centre
        for column in self.categorical:
            rows[rows[:, column] == self.absent, column] = np.nan
        largest = float(np.finfo(np.float32).max)
        return np.asarray(np.clip(rows, -largest, largest), dtype=np.float32)


def _largest(column: NDArray[np.float64]) -> float:
    present = column[~np.isnan(column)]
    return float(present.max()) if present.size else 0.0
