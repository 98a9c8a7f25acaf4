"""The difference between two sides of matched runs: estimates with intervals.

The interval is a delete-a-group jackknife's: each of up to twenty stretches of time is held out in
turn, and the moves of the estimate give its uncertainty (Busing, Meijer and van der Leeden 1999,
for groups of unequal weight), with Student's distribution over the stretches. So runs of one
stretch may be as alike as they please; no stretch of time counts for more than one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from plimsoll_predictor.runtimes.what_if.measures import (
    MEASURES,
    FloatArray,
    Measure,
    effective_runs,
    levels,
    student,
)
from plimsoll_predictor.runtimes.what_if.time_blocks import FEWEST_BLOCKS, Matched

FEWEST_RUNS: Final = {
    Measure.P50: 5.0,
    Measure.P95: 40.0,
    Measure.SPREAD: 10.0,
    Measure.OUTLIERS: 10.0,
}
"""How many effective runs of the smaller side a measure needs."""
FOLDS: Final = 2
_OUTLIERS: Final = MEASURES.index(Measure.OUTLIERS)
_P95: Final = MEASURES.index(Measure.P95)
_LEAST_ERROR: Final = 1e-9
_HIGH: Final = 0.95


@dataclass(frozen=True, slots=True)
class Effect:
    """One measure's difference, as asked minus otherwise, and its certainty.

    Differences of ln(seconds), but of shares for outliers. otherwise: the level it is added to,
    None if unknown. df: degrees of freedom.
    """

    measure: Measure
    otherwise: float | None
    difference: float
    standard_error: float
    df: float

    @property
    def half_width(self) -> float:
        """How far the 95% interval reaches to either side."""
        return student(self.df) * self.standard_error


@dataclass(frozen=True, slots=True)
class HeldOut:
    """How often an interval from part of the time agreed with the part that was left out.

    checked: comparisons, one per measure and stretch left out. within: those that agreed.
    """

    checked: int
    within: int


def contrast(runs: Matched, log_outlier: float) -> dict[Measure, Effect]:
    """The effect on each measure; a measure with too few runs is absent.

    log_outlier: ln of the runtime beyond which a run is an outlier.
    """
    if runs.n_groups < FEWEST_BLOCKS:
        return {}
    effective = runs.effective_runs
    answered = [measure for measure in MEASURES if effective >= FEWEST_RUNS[measure]]
    if not answered:
        return {}
    otherwise, differences, errors = _jackknifed(runs, log_outlier)
    return {
        measure: Effect(
            measure,
            float(otherwise[place]),
            float(differences[place]),
            max(float(errors[place]), _LEAST_ERROR),
            runs.n_groups - 1,
        )
        for place, measure in enumerate(MEASURES)
        if measure in answered
    }


def held_out(runs: Matched, log_outlier: float) -> HeldOut:
    """Leave out each of FOLDS stretches of time, and compare it with the interval of the rest.

    The interval of the rest is widened by the stretch's own error.
    """
    checked = within = 0
    cuts = [round(runs.n_groups * fold / FOLDS) for fold in range(FOLDS + 1)]
    for first, last in itertools.pairwise(cuts):
        rest = contrast(runs.without(first, last), log_outlier)
        shown = contrast(runs.between(first, last), log_outlier)
        for measure in rest.keys() & shown.keys():
            checked += 1
            within += _agree(rest[measure], shown[measure])
    return HeldOut(checked, within)


def pooled(effects: Sequence[Effect]) -> Effect:
    """Several tasks' effects as one: the expected effect of a further task.

    Random effects (DerSimonian and Laird 1986): tasks truly differ, by a variance that is estimated
    too. The interval is that of a further task (Higgins et al. 2009): it includes the tasks' own
    differences, not only the uncertainty of their mean.

    effects: five or more of one measure.
    """
    differences = np.array([effect.difference for effect in effects])
    variances = np.array([effect.standard_error**2 for effect in effects])
    between = _variance_between(differences, variances)
    weights = 1.0 / (variances + between)
    mean = float(weights @ differences / weights.sum())
    df = len(effects) - 1
    # Hartung and Knapp: the mean's error comes from the tasks' scatter, and is never below theirs.
    scatter = float(weights @ (differences - mean) ** 2) / df
    error_of_mean = max(1.0, scatter) / float(weights.sum())
    error = float(np.sqrt(error_of_mean + between))
    return Effect(effects[0].measure, None, mean, error, df)


def combined(own: Effect, others: Effect) -> Effect:
    """The mean of a task's own effect and the one expected from others, weighted by certainty."""
    weights = np.array([own.standard_error, others.standard_error]) ** -2.0
    difference = float(weights @ [own.difference, others.difference] / weights.sum())
    error = float(weights.sum() ** -0.5)
    df = min(own.df, others.df)
    return Effect(own.measure, own.otherwise, difference, error, df)


def _variance_between(differences: FloatArray, variances: FloatArray) -> float:
    weights = 1.0 / variances
    mean = weights @ differences / weights.sum()
    excess = float(weights @ (differences - mean) ** 2) - (len(differences) - 1)
    scale = float(weights.sum() - (weights @ weights) / weights.sum())
    return max(0.0, excess / scale) if scale > 0 else 0.0


def _agree(rest: Effect, shown: Effect) -> bool:
    error = float(np.hypot(rest.standard_error, shown.standard_error))
    df = min(rest.df, shown.df)
    return abs(rest.difference - shown.difference) <= student(df) * error


def _jackknifed(runs: Matched, log_outlier: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The other side's level, the difference, and its standard error, (4,) each."""
    otherwise = levels(runs.log_runtimes[~runs.as_asked], runs.weights[~runs.as_asked], log_outlier)
    difference = _difference(runs, runs.weights, log_outlier)
    total = float(runs.weights.sum())
    pseudo, worth = [], []
    for group in range(runs.n_groups):
        in_group = runs.groups == group
        without = _difference(runs, np.where(in_group, 0.0, runs.weights), log_outlier)
        times = total / float(runs.weights[in_group].sum())
        pseudo.append(times * difference - (times - 1) * without)
        worth.append(times - 1)
    values, worths = np.array(pseudo), np.array(worth)[:, None]
    variance = ((values - values.mean(axis=0)) ** 2 / worths).mean(axis=0)
    variance[_OUTLIERS] = max(variance[_OUTLIERS], _binomial_variance(runs, log_outlier))
    variance[_P95] = max(variance[_P95], _rank_variance(runs))
    return otherwise, difference, np.sqrt(variance)


def _difference(runs: Matched, weights: FloatArray, log_outlier: float) -> FloatArray:
    asked, otherwise = (
        _side(runs.log_runtimes[side], weights[side], log_outlier)
        for side in (runs.as_asked, ~runs.as_asked)
    )
    return asked - otherwise


def _side(log_runtimes: FloatArray, weights: FloatArray, log_outlier: float) -> FloatArray:
    side = levels(log_runtimes, weights, log_outlier)
    side[_OUTLIERS] = _shrunk(side[_OUTLIERS], effective_runs(weights))
    return side


def _shrunk(share: float, runs: float) -> float:
    """A share with one more run of either kind (Agresti and Caffo 2000): never quite 0 or 1."""
    return (share * runs + 1) / (runs + 2)


def _binomial_variance(runs: Matched, log_outlier: float) -> float:
    """The variance of two shares by chance alone: a stretch without outliers is not certain."""
    variance = 0.0
    for side in (runs.as_asked, ~runs.as_asked):
        weights = runs.weights[side]
        n = effective_runs(weights)
        beyond = float(weights[runs.log_runtimes[side] > log_outlier].sum() / weights.sum())
        share = _shrunk(beyond, n)
        variance += share * (1 - share) / (n + 2)
    return variance


def _rank_variance(runs: Matched) -> float:
    """The variance of two high quantiles by chance alone, by how many runs lie below them.

    Of few runs only one or two lie above: leaving some out hardly shows how far up others could
    lie.
    """
    variance = 0.0
    for side in (runs.as_asked, ~runs.as_asked):
        weights = runs.weights[side]
        reach = math.sqrt(_HIGH * (1 - _HIGH) / effective_runs(weights))
        shares = (np.cumsum(weights) - weights / 2) / weights.sum()
        low, high = np.interp([_HIGH - reach, _HIGH + reach], shares, runs.log_runtimes[side])
        variance += ((high - low) / 2) ** 2
    return variance
