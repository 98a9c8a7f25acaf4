"""Shapley values of the feature expert, computed off the serving path.

xgboost has no exact ones for trees whose leaves hold vectors, so they are sampled. A row drawn from
all rows is changed into the explained row, feature by feature in a random order; each feature is
credited with the change of the answer (Štrumbelj and Kononenko 2014). The samples add up exactly to
the row's answer minus the mean answer of the drawn rows. A seed fixes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from plimsoll_predictor.runtimes.features.explanation import (
    MOST_EFFECTS,
    MOST_REASONS,
    MOST_TASKS,
    FeatureEffect,
    FeatureExplanation,
    FeatureReason,
    TaskReasons,
)
from plimsoll_predictor.runtimes.features.feature_expert import SHARES, FeatureExpert
from plimsoll_predictor.runtimes.features.row import N_FEATURES, NAMES

ORDERS: Final = 24
"""Orders drawn for each row: the deviation of a value falls with their root."""
_MIDDLES: Final = (SHARES[:-1] + SHARES[1:]) / 2
_LETTERS: Final = 300

Rows = NDArray[np.float32]


def explain(
    expert: FeatureExpert, rows: Rows, tasks: Sequence[str], *, seed: int, orders: int = ORDERS
) -> FeatureExplanation:
    """Contributions in the newest row of each of the last MOST_TASKS tasks, and over those rows.

    rows: (n, N_FEATURES), oldest first, at least one. tasks: the task of each row.
    """
    newest = {task: place for place, task in enumerate(tasks)}
    places = sorted(newest.values())[-MOST_TASKS:]
    values = shapley_values(expert, rows[places], rows, seed=seed, orders=orders)
    importance = np.abs(values).mean(axis=0)
    strongest = np.argsort(-importance, kind="stable")[:MOST_EFFECTS]
    return FeatureExplanation(
        rows=len(places),
        effects=tuple(
            FeatureEffect(NAMES[at], round(float(importance[at]), 5)) for at in strongest
        ),
        tasks=tuple(
            TaskReasons(tasks[place][:_LETTERS], _reasons(of_task))
            for place, of_task in zip(places, values, strict=True)
        ),
    )


def shapley_values(
    expert: FeatureExpert, rows: Rows, beside: Rows, *, seed: int, orders: int = ORDERS
) -> NDArray[np.float64]:
    """(n, N_FEATURES) contributions to the mean share that the expert answers.

    beside: rows from which the random ones are drawn.
    """
    random = np.random.default_rng(seed)
    values = np.zeros((len(rows), N_FEATURES))
    steps = np.arange(N_FEATURES + 1)[:, None]
    for at, row in enumerate(rows):
        ranks = random.permuted(np.tile(np.arange(N_FEATURES), (orders, 1)), axis=1)
        others = beside[random.integers(len(beside), size=orders)]
        # All steps at once: (orders, steps, features); a feature is the row's own once it is
        # changed.
        mixed = np.where(ranks[:, None, :] < steps[None], row, others[:, None, :])
        answers = answer(expert, mixed.reshape(-1, N_FEATURES)).reshape(orders, -1)
        moves = np.diff(answers, axis=1)
        values[at] = np.take_along_axis(moves, ranks, axis=1).mean(axis=0)
    return values


def answer(expert: FeatureExpert, rows: Rows) -> NDArray[np.float64]:
    """(n,) the mean share of the mixture's forecast at which runs end, .5 if it agrees."""
    found: NDArray[np.float64] = expert.masses_of_rows(rows) @ _MIDDLES
    return found


def _reasons(values: NDArray[np.float64]) -> tuple[FeatureReason, ...]:
    strongest = np.argsort(-np.abs(values), kind="stable")[:MOST_REASONS]
    return tuple(
        FeatureReason(NAMES[at], round(float(values[at]), 4)) for at in strongest if values[at]
    )
