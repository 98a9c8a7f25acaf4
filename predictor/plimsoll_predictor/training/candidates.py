"""Chooses how many bins: more save more, and are harder to predict (thesis Table 11)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from plimsoll_predictor.model.bins import BinOption, labels_with_margin, search_bins
from plimsoll_predictor.training.classifier import Layout
from plimsoll_predictor.training.folds import stratified_folds
from plimsoll_predictor.training.plan import TrainingPlan
from plimsoll_predictor.training.recipes import quick_recipe
from plimsoll_predictor.training.runs import RunRows
from plimsoll_predictor.training.sampling import Rows
from plimsoll_predictor.training.search import Judge, Problem
from plimsoll_predictor.training.u_score import Evaluation, estimated_improvement, evaluate

AS_GOOD: Final = 0.01
"""The share of the reference's memory-time within which candidates count as equal: a few folds
cannot tell them apart more finely, and fewer bins are predicted more surely."""
MOST_TOO_SMALL: Final = 0.01
"""An option that gives too little to more than this share of runs is only taken if all options do:
every failed attempt troubles somebody, however little memory it held (thesis 6.2)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One number of bins, as a row of thesis Tables 6 and 11. Shares of one.

    u_score, accuracy, u_rate: of a quick classifier out of time, by its cheapest ceilings, without
    calibrated chances. One bin cannot be wrong.
    served_improvement: of the reference's memory-time, failed attempts counted penalty times.
    """

    ceilings_bytes: tuple[int, ...]
    optimal_improvement: float
    time_based_optimal_improvement: float
    u_score: float
    accuracy: float
    u_rate: float
    estimated_improvement: float
    served_improvement: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparing:
    """The runs that candidates are compared on, and how.

    X: (n, m) encoded rows of ``rows``. deadline_s: on the plan's clock.
    """

    rows: RunRows
    X: Rows
    layout: Layout
    plan: TrainingPlan
    deadline_s: float


@dataclass(frozen=True, slots=True)
class Chosen:
    """The best number of bins, all that were compared, and whether time ran out before the rest."""

    option: BinOption
    candidates: tuple[Candidate, ...]
    cut_by_budget: bool


def choose_bins(comparing: Comparing) -> Chosen:
    """The option that saves most as it would be served; if equally good, that with fewest bins.

    Options that give too little to more than MOST_TOO_SMALL of the runs are left out, unless none
    but the single bin would be left.

    The highest estimated improvement would always prefer the fewest bins: it counts a prediction
    one bin too large as a total loss and one too small as a cheap one, but what is served leans to
    the large side on purpose. Both figures are reported.

    Each is judged by a quick classifier over folds; one bin needs none, and without any feature
    nothing tells more bins apart. It is not calibrated: that was worse (docs/thesis.md). At the
    deadline the candidates judged so far compete; the first with more than one bin is always
    judged.
    """
    rows = comparing.rows
    limits = rows.limits(comparing.plan.policy)
    options = search_bins(rows.needs_bytes, rows.runtimes_s, limits)
    one_bin = evaluate(np.zeros((1, 1), dtype=np.int64), 1.0)
    judged = [_candidate(options[0], one_bin, options[0].time_based_optimal_improvement)]
    usable = options if comparing.X.shape[1] else options[:1]
    cut_by_budget = False
    for option in usable[1:]:
        candidate = _judged(option, comparing, first=len(judged) == 1)
        if candidate is None:
            cut_by_budget = True
            break
        judged.append(candidate)
    return Chosen(options[best_candidate(judged)], tuple(judged), cut_by_budget)


def best_candidate(judged: Sequence[Candidate]) -> int:
    """Index of the one to take; ``judged`` begins with the single bin. See ``choose_bins``."""
    safe = [place for place, candidate in enumerate(judged) if candidate.u_rate <= MOST_TOO_SMALL]
    # One bin is always safe; if only it is safe, it must not keep a task from having more.
    places = safe if len(safe) > 1 else range(len(judged))
    most = max(judged[place].served_improvement for place in places)
    return next(p for p in places if judged[p].served_improvement >= most - AS_GOOD)


def problem_of(option: BinOption, comparing: Comparing) -> Problem:
    """The rows labelled with an option's bins, and folds to judge classifiers on."""
    labels = labels_with_margin(option.bins, comparing.rows.needs_bytes)
    return Problem(
        X=comparing.X,
        y=labels,
        runtimes_s=comparing.rows.runtimes_s,
        reference_bytes=comparing.rows.reference_bytes(comparing.plan.policy.headroom),
        bins=option.bins,
        layout=comparing.layout,
        folds=stratified_folds(labels, comparing.plan.n_folds),
        penalty=comparing.plan.policy.penalty,
    )


def _judged(option: BinOption, comparing: Comparing, *, first: bool) -> Candidate | None:
    plan = comparing.plan
    judge = Judge(problem_of(option, comparing), plan)
    deadline_s = float("inf") if first else comparing.deadline_s
    trial = judge.judge_plainly(quick_recipe(plan.classifiers[0]), deadline_s)
    return None if trial is None else _candidate(option, trial.evaluation, trial.served_improvement)


def _candidate(option: BinOption, figures: Evaluation, served_improvement: float) -> Candidate:
    optimal = option.time_based_optimal_improvement
    return Candidate(
        ceilings_bytes=option.bins.ceilings_bytes,
        optimal_improvement=option.optimal_improvement,
        time_based_optimal_improvement=optimal,
        u_score=figures.u_score,
        accuracy=figures.accuracy,
        u_rate=figures.u_rate,
        estimated_improvement=estimated_improvement(optimal, figures.accuracy, figures.u_rate),
        served_improvement=served_improvement,
    )
