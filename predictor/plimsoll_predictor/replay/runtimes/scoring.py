"""How good forecasts of runtimes were.

Pin is the mean pinball loss on ln(runtime) over SHARES; it is 0 for a perfect forecast. Skill is
1 - the forecasts' log loss / that of the base rate, which is how often the event happened.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from plimsoll_predictor.replay.runtimes.method import SHARES, FloatArray

TIMES: Final = (2.0, 10.0)
"""Multiples of the usual runtime: the probability to last longer than each is scored."""
_LEAST_PROBABILITY: Final = 1e-6
_LEVELS: Final = {"p90": 0.90, "p95": 0.95, "p99": 0.99}
_PLACES: Final = {name: int(np.argmin(np.abs(SHARES - at))) for name, at in _LEVELS.items()}
IntArray = npt.NDArray[np.int64]
FEW_RUNS: Final = (1, 5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """The forecasts of the runs that were tested, a row per run.

    quantiles_ln: (runs, 21), logarithms of s. runtimes_ln: (runs,).
    tasks: (runs,), a number of each task, from 0. known: (runs,), finished runs of the task at
    submission.
    probabilities: (runs, 2), to last longer than TIMES the task's median so far; NaN if the task
    has no finished run. happened: (runs, 2), whether it did.
    """

    quantiles_ln: FloatArray
    runtimes_ln: FloatArray
    tasks: IntArray
    known: IntArray
    probabilities: FloatArray
    happened: npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """How good the forecasts of a log's runs were.

    pin_runs, pin_tasks: the mean over runs; over tasks, of each task's mean.
    pin_few_runs: the mean over runs of a task with 1 to 5 known runs; None if there is none.
    p90_coverage...: the share of runs within the forecast's quantile.
    skill_2x, skill_10x: None if it never or always happened.
    """

    runs: int
    tasks: int
    pin_runs: float
    pin_tasks: float
    pin_few_runs: float | None
    p90_coverage: float
    p95_coverage: float
    p99_coverage: float
    skill_2x: float | None
    skill_10x: float | None


def pins(quantiles_ln: FloatArray, runtimes_ln: FloatArray) -> FloatArray:
    """The pin of each run: (runs, 21) and (runs,) to (runs,)."""
    missed = runtimes_ln[:, None] - quantiles_ln
    losses: FloatArray = np.maximum(SHARES * missed, (SHARES - 1) * missed).mean(axis=1)
    return losses


def score(scored: Scored) -> Score:
    """The figures of at least one tested run."""
    pin = pins(scored.quantiles_ln, scored.runtimes_ln)
    few = (scored.known >= FEW_RUNS[0]) & (scored.known <= FEW_RUNS[1])
    covered = {
        name: float(np.mean(scored.runtimes_ln <= scored.quantiles_ln[:, place]))
        for name, place in _PLACES.items()
    }
    skills = [
        skill(scored.probabilities[:, at], scored.happened[:, at]) for at in range(len(TIMES))
    ]
    return Score(
        runs=len(pin),
        tasks=len(np.unique(scored.tasks)),
        pin_runs=float(pin.mean()),
        pin_tasks=float(task_means(pin, scored.tasks).mean()),
        pin_few_runs=float(pin[few].mean()) if few.any() else None,
        p90_coverage=covered["p90"],
        p95_coverage=covered["p95"],
        p99_coverage=covered["p99"],
        skill_2x=skills[0],
        skill_10x=skills[1],
    )


def task_means(values: FloatArray, tasks: IntArray) -> FloatArray:
    """The mean of each task's values: (runs,) to (tasks,)."""
    _, numbers = np.unique(tasks, return_inverse=True)
    means: FloatArray = np.bincount(numbers, weights=values) / np.bincount(numbers)
    return means


def skill(probabilities: FloatArray, happened: npt.NDArray[np.bool_]) -> float | None:
    """1 - log loss / the base rate's, over the runs with a probability.

    None if it always or never happened: no base rate can be beaten then.
    """
    given = np.isfinite(probabilities)
    rate = float(happened[given].mean()) if given.any() else 0.0
    if not 0 < rate < 1:
        return None
    said = np.clip(probabilities[given], _LEAST_PROBABILITY, 1 - _LEAST_PROBABILITY)
    loss = -float(np.where(happened[given], np.log(said), np.log1p(-said)).mean())
    base = -(rate * np.log(rate) + (1 - rate) * np.log1p(-rate))
    return float(1 - loss / base)
