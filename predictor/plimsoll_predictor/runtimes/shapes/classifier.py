"""Forecasts the shape of a task's next runs from what is known at submission (section 5.2).

This is the paper's full method: passive-aggressive feature selection, a sweep of parameters,
boosted trees, and a soft vote of four kinds of classifier. It needs xgboost and scikit-learn, so
only trainer, CLI and benchmarks use it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import xgboost
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.naive_bayes import GaussianNB

from plimsoll_predictor.runtimes.shapes.feature_selection import select, standardised_by
from plimsoll_predictor.runtimes.shapes.normalising import FloatArray, IntArray

SWEEP: Final = (
    {"max_depth": 2, "learning_rate": 0.1, "n_rounds": 60},
    {"max_depth": 3, "learning_rate": 0.1, "n_rounds": 120},
    {"max_depth": 6, "learning_rate": 0.1, "n_rounds": 60},
    {"max_depth": 6, "learning_rate": 0.3, "n_rounds": 120},
)
HELD_OUT: Final = 0.25
"""The share of the rows, the last ones, on which parameters are chosen."""
LEAST_ROWS: Final = 20
TREES: Final = 200
"""Trees of the random forest."""
STAGES: Final = 30
"""Stages of scikit-learn's gradient boosting, the slowest of the four: each adds a tree per
shape."""
MOST_STAGED_ROWS: Final = 4000


class NotLearnable(ValueError):
    """Too few rows, or all of one shape: there is nothing to tell apart."""


@dataclass(frozen=True, slots=True, eq=False)
class ShapeClassifier:
    """Boosted trees over the chosen features, and the ensemble's other voters.

    names, columns: of the chosen features. shapes: the label of each class, as given. swept: the
    accuracy of each setting of SWEEP on the held-out rows.
    """

    names: tuple[str, ...]
    columns: IntArray
    shapes: IntArray
    swept: tuple[float, ...]
    booster: xgboost.Booster
    voters: Mapping[str, Callable[[FloatArray], FloatArray]]

    def probabilities(self, rows: FloatArray) -> FloatArray:
        """Those of the boosted trees alone: (n_rows, n_features) -> (n_rows, n_classes)."""
        return self.voters["boosted trees"](rows)

    def voted(self, rows: FloatArray) -> FloatArray:
        """The mean over all voters, in the same shape."""
        mean: FloatArray = np.mean([vote(rows) for vote in self.voters.values()], axis=0)
        return mean

    def labels(self, probabilities: FloatArray) -> IntArray:
        """The likeliest shape of each row."""
        likeliest: IntArray = self.shapes[np.argmax(probabilities, axis=1)]
        return likeliest


def fit_classifier(
    rows: FloatArray, labels: IntArray, names: Sequence[str], *, seed: int
) -> ShapeClassifier:
    """Learn which shape rows have.

    rows: (n_rows, n_features) in the order of time, NaN if not recorded.
    labels: (n_rows,).

    Raises:
        NotLearnable: with fewer than ``LEAST_ROWS`` rows, or all of one label.
    """
    if len(rows) < LEAST_ROWS:
        raise NotLearnable(f"{len(rows)} rows to learn shapes from; {LEAST_ROWS} are needed")
    shapes, classes = np.unique(labels, return_inverse=True)
    if shapes.size < 2:
        raise NotLearnable(f"all {len(rows)} rows have one shape; there is nothing to tell apart")
    columns = select(rows, classes, seed=seed)
    chosen = rows[:, columns]
    swept = _sweep(chosen, classes, seed)
    best = SWEEP[swept.index(max(swept))]
    booster = _boosted(chosen, classes, (shapes.size, best, seed))
    return ShapeClassifier(
        names=tuple(names[column] for column in columns),
        columns=columns,
        shapes=shapes.astype(np.intp),
        swept=swept,
        booster=booster,
        voters=_voters(chosen, classes, columns, booster, seed),
    )


def _sweep(rows: FloatArray, classes: IntArray, seed: int) -> tuple[float, ...]:
    """Each setting's accuracy on the last rows, learned from the first."""
    cut = max(1, round(len(rows) * (1 - HELD_OUT)))
    n_classes = int(classes.max()) + 1
    accuracies = []
    for setting in SWEEP:
        booster = _boosted(rows[:cut], classes[:cut], (n_classes, setting, seed))
        predicted = np.argmax(booster.predict(_matrix(rows[cut:])), axis=1)
        accuracies.append(float((predicted == classes[cut:]).mean()))
    return tuple(accuracies)


def _boosted(
    rows: FloatArray, classes: IntArray, how: tuple[int, Mapping[str, float], int]
) -> xgboost.Booster:
    n_classes, setting, seed = how
    parameters: dict[str, Any] = {
        "objective": "multi:softprob",
        "num_class": n_classes,
        "max_depth": int(setting["max_depth"]),
        "learning_rate": setting["learning_rate"],
        "subsample": 0.8,
        "colsample_bytree": 0.8,
        "tree_method": "hist",
        "nthread": 1,
        "seed": seed,
        "verbosity": 0,
    }
    return xgboost.train(parameters, _matrix(rows, classes), int(setting["n_rounds"]))


def _matrix(rows: FloatArray, classes: IntArray | None = None) -> xgboost.DMatrix:
    return xgboost.DMatrix(rows, label=classes, missing=np.nan, nthread=1)


def _voters(
    rows: FloatArray, classes: IntArray, columns: IntArray, booster: xgboost.Booster, seed: int
) -> dict[str, Callable[[FloatArray], FloatArray]]:
    """Each voter takes all features and gives probabilities of all classes."""
    # These three accept neither missing values nor values of many magnitudes.
    ranked = standardised_by(rows)
    few = np.random.default_rng(seed).permutation(len(rows))[:MOST_STAGED_ROWS]
    # Every class must be among the few: a vote has one column per class.
    few = np.union1d(few, np.unique(classes, return_index=True)[1])
    forest = RandomForestClassifier(TREES, min_samples_leaf=2, random_state=seed, n_jobs=1)
    staged = GradientBoostingClassifier(
        n_estimators=STAGES, subsample=0.5, max_features="sqrt", random_state=seed
    )
    forest.fit(ranked(rows), classes)
    staged.fit(ranked(rows[few]), classes[few])
    naive = GaussianNB().fit(ranked(rows), classes)

    def voter(model: Any) -> Callable[[FloatArray], FloatArray]:
        return lambda given: np.asarray(model.predict_proba(ranked(given[:, columns])))

    return {
        "boosted trees": lambda given: np.asarray(
            booster.predict(_matrix(given[:, columns])), dtype=np.float64
        ),
        "random forest": voter(forest),
        "gradient boosting": voter(staged),
        "naive Bayes": voter(naive),
    }
