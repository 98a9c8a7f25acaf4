"""Shapley values of the shape classifier (the paper's section 6), computed off the serving path.

Exact for trees (TreeSHAP, as xgboost computes it): per row and shape they add up, with a bias, to
the log odds of the boosted trees. They say what the classifier used, not what would change the
runs: ``what_if`` says that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import xgboost
from scipy.stats import rankdata

from plimsoll_predictor.runtimes.shapes.classifier import ShapeClassifier
from plimsoll_predictor.runtimes.shapes.explanation import (
    MOST_LETTERS,
    MOST_TASKS,
    Effect,
    Explanation,
    Reason,
    TaskExplanation,
)
from plimsoll_predictor.runtimes.shapes.normalising import FloatArray
from plimsoll_predictor.runtimes.shapes.submission_features import FeatureRows, words_for_value

EFFECTS: Final = 12
REASONS: Final = 5
POINTS: Final = 120
CLEAR: Final = 0.3
"""The rank correlation of value and Shapley value from which a direction is given."""
LEAST_PAIRS: Final = 8
"""With fewer rows that have a value, no direction is given."""


@dataclass(frozen=True, slots=True, eq=False)
class Named:
    """Names of shapes, by label, and the task of each row; a task's last row is explained."""

    shapes: Mapping[int, str]
    tasks: Sequence[str]


def explain(model: ShapeClassifier, rows: FeatureRows, named: Named) -> Explanation:
    """Shapley values overall, and of the newest row of up to MOST_TASKS tasks (the last ones).

    Raises:
        ValueError: if there are no rows, or the number of tasks differs from that of rows.
    """
    if not len(rows.values) or len(named.tasks) != len(rows.values):
        raise ValueError(
            f"{len(rows.values)} rows of {len(named.tasks)} tasks; explaining needs one row or "
            "more, and the task of each"
        )
    chosen = rows.values[:, model.columns]
    values = shapley_values(model, rows.values)
    importance = np.abs(values).mean(axis=(0, 1))
    effects = [
        _effect((model, named), chosen[:, place], values[:, :, place], place)
        for place in np.argsort(-importance, kind="stable")[:EFFECTS]
        if importance[place] > 0
    ]
    return Explanation(
        rows=len(chosen), effects=tuple(effects), tasks=_tasks(model, rows, named, values)
    )


def shapley_values(model: ShapeClassifier, rows: FloatArray) -> FloatArray:
    """(n_rows, n_features) -> (n_rows, n_classes, n_kept), in log odds; the bias left out."""
    matrix = xgboost.DMatrix(rows[:, model.columns], missing=np.nan, nthread=1)
    contributions = model.booster.predict(matrix, pred_contribs=True)
    values: FloatArray = np.asarray(contributions, dtype=np.float64)[:, :, :-1]
    return values


def _effect(
    about: tuple[ShapeClassifier, Named],
    given: FloatArray,
    shapley: FloatArray,
    place: int,
) -> Effect:
    """One feature: given (n_rows,), shapley (n_rows, n_classes)."""
    model, named = about
    name = model.names[place]
    at = int(np.argmax(np.abs(shapley).mean(axis=0)))
    shape = named.shapes[int(model.shapes[at])]
    rises = _direction(given, shapley[:, at])
    step = max(1, -(-len(given) // POINTS))
    return Effect(
        feature=name,
        importance=round(float(np.abs(shapley).mean()), 6),
        shape=shape,
        rises=rises,
        words=_effect_words(name, shape, rises),
        points=tuple(
            (_value(value), round(float(contribution), 4))
            for value, contribution in zip(given[::step], shapley[::step, at], strict=True)
        ),
    )


def _effect_words(name: str, shape: str, rises: bool | None) -> str:
    if rises is None:
        return f"{name}: matters for {shape}, with no one direction"[:MOST_LETTERS]
    return f"higher {name}: {'more' if rises else 'less'} often {shape}"[:MOST_LETTERS]


def _direction(given: FloatArray, contributions: FloatArray) -> bool | None:
    """Whether higher values come with higher contributions; None if there is no clear order."""
    finite = np.isfinite(given)
    if finite.sum() < LEAST_PAIRS:
        return None
    ranks = [rankdata(given[finite]), rankdata(contributions[finite])]
    if any(not rank.std() for rank in ranks):
        return None
    correlation = float(np.corrcoef(ranks[0], ranks[1])[0, 1])
    return None if abs(correlation) < CLEAR else correlation > 0


def _tasks(
    model: ShapeClassifier, rows: FeatureRows, named: Named, shapley: FloatArray
) -> tuple[TaskExplanation, ...]:
    newest = {task: place for place, task in enumerate(named.tasks)}
    places = sorted(newest.values())[-MOST_TASKS:]
    probabilities = model.probabilities(rows.values[places])
    explained = []
    for place, shares in zip(places, probabilities, strict=True):
        at = int(np.argmax(shares))
        shape = named.shapes[int(model.shapes[at])]
        strongest = np.argsort(-np.abs(shapley[place, at]), kind="stable")[:REASONS]
        reasons = []
        for column in strongest:
            if contribution := float(shapley[place, at, column]):
                name = model.names[column]
                value = _value(rows.values[place, model.columns[column]])
                often = "more" if contribution > 0 else "less"
                words = f"{name} {words_for_value(value, rows.kinds[name])}: {often} often {shape}"
                reasons.append(Reason(name, value, round(contribution, 4), words[:MOST_LETTERS]))
        task = named.tasks[place][:MOST_LETTERS]
        explained.append(TaskExplanation(task, shape, round(float(shares[at]), 4), tuple(reasons)))
    return tuple(explained)


def _value(value: float) -> float | None:
    return float(f"{value:.6g}") if np.isfinite(value) else None
