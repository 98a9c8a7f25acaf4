"""The classifiers of bins behind one small interface: XGBoost, and SVM as thesis 5.2.1 tried them.

Fitting imports xgboost or scikit-learn; nothing on the admission path imports this module.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from plimsoll_predictor.model.calibration import (
    Calibration,
    HeldOut,
    fitted_calibration,
    shares_shift,
)
from plimsoll_predictor.model.task_model import CompiledSvm, CompiledTrees
from plimsoll_predictor.training.compile import compile_booster, compile_svm
from plimsoll_predictor.training.growing import grown
from plimsoll_predictor.training.sampling import Labels, Rows, Sampled, Sampler, sample

MAX_BIN: Final = 256
"""Histogram bins per column: fewer train faster, but put the few rows of a rare heavy class into
one bin with their neighbours."""
CALIBRATION_FOLDS: Final = 3
CALIBRATION_PRIOR: Final = 0.5
"""Runs by which the SVM's calibration trusts each predicted bin before the first run."""
UNCALIBRATED: Final = Calibration()


class ClassifierName(StrEnum):
    """Which classifier."""

    XGBOOST = "xgboost"
    SVM = "svm"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """All that makes one classifier from rows: what the search chooses."""

    classifier: ClassifierName
    sampler: Sampler
    parameters: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Layout:
    """The layout of rows: which encoded columns are categories, and how codes are expanded.

    expand: (n, m) encoded -> (n, k) plain numbers.
    """

    categorical: tuple[int, ...]
    expand: Callable[[Rows], Rows]


class TrainingPart:
    """Rows to fit on. Each sampler's rows are made once and reused.

    X: (n, m) encoded, y: (n,) below n_bins, every bin present.
    """

    def __init__(self, X: Rows, y: Labels, layout: Layout, *, n_bins: int, seed: int) -> None:
        self.X, self.y, self.layout = X, y, layout
        self.n_bins, self.seed = n_bins, seed
        self._sampled: dict[Sampler, Sampled] = {}
        self._matrices: dict[Sampler, Any] = {}

    def sampled(self, sampler: Sampler) -> Sampled:
        """Balanced rows, expanded to plain numbers."""
        if sampler not in self._sampled:
            rows = sample(
                self.X, self.y, sampler, categorical=self.layout.categorical, seed=self.seed
            )
            self._sampled[sampler] = Sampled(self.layout.expand(rows.X), rows.y, rows.weights)
        return self._sampled[sampler]

    def shift(self, sampler: Sampler) -> NDArray[np.float64]:
        """The shift from the bins' sampled shares to the true ones, in margins, (n_bins,)."""
        rows = self.sampled(sampler)
        counts = np.bincount(self.y, minlength=self.n_bins).astype(np.float64)
        return shares_shift(
            counts, np.bincount(rows.y, rows.weights, minlength=self.n_bins).astype(np.float64)
        )

    def matrix(self, sampler: Sampler, threads: int) -> Any:
        """The same rows as XGBoost reads them, cut into histogram bins once."""
        import xgboost

        if sampler not in self._matrices:
            rows = self.sampled(sampler)
            self._matrices[sampler] = xgboost.QuantileDMatrix(
                rows.X,
                rows.y,
                weight=rows.weights,
                nthread=threads,
                max_bin=MAX_BIN,
                missing=np.nan,
            )
        return self._matrices[sampler]

    def only(self, places: NDArray[np.int64]) -> TrainingPart:
        """Some of the rows, by index; every bin must be among them."""
        return TrainingPart(
            self.X[places], self.y[places], self.layout, n_bins=self.n_bins, seed=self.seed
        )


class Fitted(Protocol):
    """A fitted classifier."""

    def predict_proba(self, X: Rows) -> NDArray[np.float64]:
        """Probability of each bin, (n, m) encoded rows -> (n, n_bins)."""

    def compile(self) -> CompiledTrees | CompiledSvm:
        """The same classifier as plain arrays, over expanded rows."""


def fit(
    part: TrainingPart, recipe: Recipe, *, threads: int, calibration: Calibration = UNCALIBRATED
) -> Fitted:
    """Fit one recipe. Deterministic by the part's seed. An SVM is calibrated in any case."""
    if recipe.classifier is ClassifierName.SVM:
        return _fit_svm(part, recipe)
    return _fit_trees(part, recipe, threads, calibration)


def calibration_of(recipe: Recipe, folds: Sequence[HeldOut]) -> Calibration:
    """The calibration for a recipe, by what it said of runs that it had not learned."""
    if recipe.classifier is ClassifierName.SVM:
        return UNCALIBRATED  # it is calibrated as it is fitted
    return fitted_calibration(folds)


@dataclass(frozen=True, slots=True)
class _Trees:
    booster: Any
    layout: Layout
    n_bins: int
    calibration: Calibration
    shift: NDArray[np.float64]

    def predict_proba(self, X: Rows) -> NDArray[np.float64]:
        predicted = self.booster.inplace_predict(self.layout.expand(X), missing=np.nan)
        proba = np.asarray(predicted, dtype=np.float64)
        proba = np.column_stack([1 - proba, proba]) if self.n_bins == 2 else proba
        return self.calibration.applied(proba, self.shift)

    def compile(self) -> CompiledTrees:
        trees = compile_booster(self.booster, self.n_bins)
        return self.calibration.compiled(trees, self.shift)


def _fit_trees(
    part: TrainingPart, recipe: Recipe, threads: int, calibration: Calibration
) -> _Trees:
    data = part.matrix(recipe.sampler, threads)
    values = recipe.parameters
    settings: dict[str, Any] = {
        "objective": "binary:logistic" if part.n_bins == 2 else "multi:softprob",
        "tree_method": "hist",
        "max_bin": MAX_BIN,
        "nthread": threads,
        "seed": part.seed,
        "max_depth": int(values["max_depth"]),
        **{name: float(values[name]) for name in _TREE_SHARES},
    }
    if part.n_bins > 2:
        settings["num_class"] = part.n_bins
    booster = grown(settings, data, int(values["rounds"]))
    shift = part.shift(recipe.sampler)
    return _Trees(booster, part.layout, part.n_bins, calibration, shift)


_TREE_SHARES: Final = ("eta", "min_child_weight", "subsample", "colsample_bytree", "reg_lambda")


@dataclass(frozen=True, slots=True)
class _Svm:
    """An SVC on filled, scaled rows. medians: (k,); calibration: (n_bins, n_bins)."""

    svc: Any
    scaler: Any
    medians: NDArray[np.float64]
    calibration: NDArray[np.float64]
    layout: Layout

    def predicted(self, X: Rows) -> Labels:
        rows = self.scaler.transform(_filled(self.layout.expand(X), self.medians))
        return np.asarray(self.svc.predict(rows), dtype=np.int64)

    def predict_proba(self, X: Rows) -> NDArray[np.float64]:
        return np.asarray(self.calibration[self.predicted(X)], dtype=np.float64)

    def compile(self) -> CompiledSvm:
        return compile_svm(self.svc, self.scaler, self.medians, self.calibration)


def _fit_svm(part: TrainingPart, recipe: Recipe) -> _Svm:
    """Fit, and calibrate on rows each held out once: P(true bin | predicted bin)."""
    confusion = np.zeros((part.n_bins, part.n_bins))
    place = np.zeros(part.y.size, dtype=np.int64)
    for label in np.unique(part.y):
        members = part.y == label
        place[members] = np.arange(int(members.sum()))
    for fold in range(CALIBRATION_FOLDS):
        # A bin's first row is never held out, so that every fit knows every bin.
        held_out = (place % CALIBRATION_FOLDS == fold) & (place > 0)
        if held_out.any():
            svm = _uncalibrated_svm(part.only(np.flatnonzero(~held_out)), recipe)
            np.add.at(confusion, (svm.predicted(part.X[held_out]), part.y[held_out]), 1.0)
    confusion += CALIBRATION_PRIOR * np.eye(part.n_bins)
    calibration = confusion / confusion.sum(axis=1, keepdims=True)
    return replace(_uncalibrated_svm(part, recipe), calibration=calibration)


def _uncalibrated_svm(part: TrainingPart, recipe: Recipe) -> _Svm:
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    rows = part.sampled(recipe.sampler)
    medians = _medians(part.layout.expand(part.X))
    filled = _filled(rows.X, medians)
    scaler = StandardScaler().fit(filled)
    svc = SVC(
        kernel="rbf",
        C=float(recipe.parameters["C"]),
        gamma=float(recipe.parameters["gamma"]),
        random_state=part.seed,
    )
    svc.fit(scaler.transform(filled), rows.y, sample_weight=rows.weights)
    return _Svm(svc, scaler, medians, np.eye(part.n_bins), part.layout)


def _medians(X: Rows) -> NDArray[np.float64]:
    """Median of each column's known values, (n, k) -> (k,); zero where nothing is known."""
    columns = (column[~np.isnan(column)] for column in X.T)
    return np.asarray([np.median(present) if present.size else 0.0 for present in columns])


def _filled(X: Rows, medians: NDArray[np.float64]) -> NDArray[np.float64]:
    wide = X.astype(np.float64)
    return np.where(np.isnan(wide), medians, wide)
