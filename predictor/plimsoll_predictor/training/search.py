"""Search for the recipe whose classifier has the lowest u-score (thesis 5.2.3).

Bayesian, by scikit-optimize: each trial is one recipe, judged on folds that are stratified and in
time order. It is judged by what it would serve: not the likeliest bin but the cheapest ceiling, by
chances that are calibrated as those that serve.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plimsoll_predictor.deciding.choosing import cheapest_bins
from plimsoll_predictor.model.bins import Bins
from plimsoll_predictor.model.calibration import Calibration, HeldOut
from plimsoll_predictor.training.classifier import (
    UNCALIBRATED,
    Layout,
    Recipe,
    TrainingPart,
    calibration_of,
    fit,
)
from plimsoll_predictor.training.folds import Fold
from plimsoll_predictor.training.plan import TrainingPlan
from plimsoll_predictor.training.recipes import RecipeAsker
from plimsoll_predictor.training.sampling import Labels, Rows
from plimsoll_predictor.training.u_score import Evaluation, confusion_matrix, evaluate


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Labelled rows to find a classifier for, in time order.

    X: (n, m) encoded. y: (n,). runtimes_s: (n,), above zero. reference_bytes: the user's request.
    """

    X: Rows
    y: Labels
    runtimes_s: NDArray[np.float64]
    reference_bytes: float
    bins: Bins
    layout: Layout
    folds: Sequence[Fold]
    penalty: float

    def part(self, seed: int) -> TrainingPart:
        """All rows, to fit on."""
        return TrainingPart(self.X, self.y, self.layout, n_bins=len(self.bins), seed=seed)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldScore:
    """One recipe on one fold: trained on what came before, judged on validation_runs."""

    training_runs: int
    validation_runs: int
    u_score: float
    accuracy: float
    u_rate: float


@dataclass(frozen=True, slots=True)
class Trial:
    """One recipe and its figures over all folds' validation parts together.

    served_improvement: share of the reference's memory-time saved, with failed attempts counted
    penalty times. folds: oldest first.
    calibration: for what serves, by all folds.
    """

    recipe: Recipe
    calibration: Calibration
    evaluation: Evaluation
    served_improvement: float
    folds: tuple[FoldScore, ...]


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The best trial (the earliest of equals), all trials in order, and whether time ran out."""

    best: Trial
    trials: tuple[Trial, ...]
    cut_by_budget: bool


class Judge:
    """Judges recipes on one problem. Keeps each fold's sampled rows between trials."""

    def __init__(self, problem: Problem, plan: TrainingPlan) -> None:
        self._problem, self._plan = problem, plan
        self._parts = [problem.part(plan.seed).only(fold.training) for fold in problem.folds]

    def judge(self, recipe: Recipe, deadline_s: float) -> Trial | None:
        """The recipe's figures as it would serve; None if the deadline came before the folds' end.

        Each fold is calibrated by the others: by itself it would look better than what serves.
        """
        held_out = self._held_out(recipe, deadline_s)
        if held_out is None:
            return None
        by_others = [
            calibration_of(recipe, [*held_out[:place], *held_out[place + 1 :]])
            for place in range(len(held_out))
        ]
        return self._trial(recipe, held_out, by_others)

    def judge_plainly(self, recipe: Recipe, deadline_s: float) -> Trial | None:
        """As ``judge``, by chances that are not calibrated."""
        held_out = self._held_out(recipe, deadline_s)
        if held_out is None:
            return None
        return self._trial(recipe, held_out, [UNCALIBRATED] * len(held_out))

    def _held_out(self, recipe: Recipe, deadline_s: float) -> list[HeldOut] | None:
        problem = self._problem
        held_out: list[HeldOut] = []
        for part, fold in zip(self._parts, problem.folds, strict=True):
            if self._plan.clock() >= deadline_s:
                return None
            fitted = fit(part, recipe, threads=self._plan.threads)
            proba = fitted.predict_proba(problem.X[fold.validation])
            true_bins, shift = problem.y[fold.validation], part.shift(recipe.sampler)
            held_out.append(HeldOut(proba, true_bins, shift))
        return held_out

    def _trial(
        self, recipe: Recipe, held_out: Sequence[HeldOut], calibrations: Sequence[Calibration]
    ) -> Trial:
        problem = self._problem
        n_bins = len(problem.bins)
        confusion = np.zeros((n_bins, n_bins), dtype=np.int64)
        folds: list[FoldScore] = []
        spent = asked = 0.0
        for said, fold, calibration in zip(held_out, problem.folds, calibrations, strict=True):
            proba = calibration.applied(said.proba, said.shift)
            rows, true_bins = fold.validation, said.y
            served = cheapest_bins(proba, problem.bins, problem.penalty)
            of_fold = confusion_matrix(true_bins, served, n_bins)
            figures = evaluate(of_fold, problem.penalty)
            folds.append(
                FoldScore(
                    training_runs=fold.training.size,
                    validation_runs=rows.size,
                    u_score=figures.u_score,
                    accuracy=figures.accuracy,
                    u_rate=figures.u_rate,
                )
            )
            confusion += of_fold
            spent += float(self._spent_bytes(true_bins, served) @ problem.runtimes_s[rows])
            asked += problem.reference_bytes * float(problem.runtimes_s[rows].sum())
        return Trial(
            recipe,
            calibration_of(recipe, held_out),
            evaluate(confusion, problem.penalty),
            1 - spent / asked,
            tuple(folds),
        )

    def _spent_bytes(self, true_bins: Labels, served: Labels) -> NDArray[np.float64]:
        """The memory allocated per run, a retry at the true bin's ceiling included, (n,)."""
        ceilings = np.asarray(self._problem.bins.ceilings_bytes, dtype=np.float64)
        failed = self._problem.penalty * ceilings[served] + ceilings[true_bins]
        return np.where(served >= true_bins, ceilings[served], failed)


def search(problem: Problem, plan: TrainingPlan, deadline_s: float) -> SearchResult:
    """Find the recipe with the lowest u-score.

    At the deadline the search stops and keeps its best, but the first trial is always finished.
    The search ends early at a u-score of 0, below which nothing is. Same plan, same result, unless
    the deadline cuts it.
    """
    judge = Judge(problem, plan)
    askers = [RecipeAsker(name, plan) for name in plan.classifiers]
    trials: list[Trial] = []
    for index in range(max(plan.iterations, 1)):
        asker = askers[index % len(askers)]
        trial = judge.judge(asker.ask(), deadline_s if trials else float("inf"))
        if trial is None:
            return SearchResult(_best(trials), tuple(trials), cut_by_budget=True)
        trials.append(trial)
        asker.tell(trial.evaluation.u_score)
        if trial.evaluation.u_score == 0:
            break
    return SearchResult(_best(trials), tuple(trials), cut_by_budget=False)


def _best(trials: Sequence[Trial]) -> Trial:
    return min(trials, key=lambda trial: trial.evaluation.u_score)
