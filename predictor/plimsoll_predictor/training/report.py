"""The report of a training: plain data for the store and for people, and how its steps make it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from plimsoll_predictor.core.documents import to_document
from plimsoll_predictor.model.bins import BinOption
from plimsoll_predictor.model.features import FeatureSchema
from plimsoll_predictor.model.task_model import ModelMetrics
from plimsoll_predictor.training.candidates import Candidate, Chosen
from plimsoll_predictor.training.out_of_time import OutOfTimeCost, OutOfTimeCosts, ReplayedBids
from plimsoll_predictor.training.plan import TrainingPlan
from plimsoll_predictor.training.runs import RunRows
from plimsoll_predictor.training.sampling import Sampler
from plimsoll_predictor.training.search import FoldScore, SearchResult, Trial
from plimsoll_predictor.training.u_score import Reliability, estimated_improvement, evaluate


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedRecipe:
    """One trial of the search. u_score per hundred runs, accuracy and u_rate shares of one."""

    classifier: str
    sampler: str
    parameters: Mapping[str, float]
    u_score: float
    accuracy: float
    u_rate: float

    @property
    def words(self) -> str:
        """Classifier and sampler, as people read them."""
        return self.classifier if self.sampler == "none" else f"{self.classifier} + {self.sampler}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingReport:
    """How a training made its model.

    censored_runs: of the runs learned from, those whose need was only exceeded.
    first_s, last_s: Unix seconds of the oldest and newest run; None where no run has a time.
    recipe, fold_scores: the chosen one, over all folds and by fold, oldest first; None and none
        where there is one bin.
    bin_runs: how many runs each of the chosen bins holds. policy: ``Policy.to_dict()``.
    out_of_time_costs: by expert, over the compared_runs; an expert that could not bid is missing.
    reliability: of the classifier's chances in the replay; None in reports of older versions.
    """

    runs: int
    censored_runs: int
    first_s: float | None
    last_s: float | None
    reference_bytes: float
    seed: int
    budget_s: float
    duration_s: float
    cut_by_budget: bool
    folds: int
    fold_scores: tuple[FoldScore, ...]
    iterations: int
    policy: Mapping[str, Any]
    features: tuple[str, ...]
    ceilings_bytes: tuple[int, ...]
    bin_runs: tuple[int, ...]
    candidates: tuple[Candidate, ...]
    recipe: TriedRecipe | None
    confusion: tuple[tuple[int, ...], ...]
    trials: tuple[TriedRecipe, ...]
    compared_runs: int
    out_of_time_costs: Mapping[str, OutOfTimeCost]
    reliability: Reliability | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types, with tuples for lists."""
        document: dict[str, Any] = to_document(self)
        return document


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """The results of one training's steps. searched: None where one bin serves."""

    rows: RunRows
    schema: FeatureSchema
    chosen: Chosen
    searched: SearchResult | None
    classified: ReplayedBids
    reliability: Reliability
    boosted: ReplayedBids
    costs: OutOfTimeCosts

    @property
    def cut_by_budget(self) -> bool:
        """Whether time ran out in any step."""
        steps = (self.chosen, self.searched, self.classified, self.boosted)
        return any(step is not None and step.cut_by_budget for step in steps)


def report_of(steps: Steps, plan: TrainingPlan, *, duration_s: float) -> TrainingReport:
    """The report of a training that followed the plan."""
    searched, runs = steps.searched, steps.rows.runs
    times = [run.at_s for run in runs if run.at_s is not None]
    return TrainingReport(
        runs=len(runs),
        censored_runs=sum(run.censored for run in runs),
        first_s=min(times, default=None),
        last_s=max(times, default=None),
        reference_bytes=steps.rows.reference_bytes(plan.policy.headroom),
        seed=plan.seed,
        budget_s=plan.budget_s,
        duration_s=duration_s,
        cut_by_budget=steps.cut_by_budget,
        folds=plan.n_folds,
        fold_scores=searched.best.folds if searched else (),
        iterations=plan.iterations,
        policy=plan.policy.to_dict(),
        features=tuple(sorted({column.feature for column in steps.schema.columns})),
        ceilings_bytes=steps.chosen.option.bins.ceilings_bytes,
        bin_runs=steps.chosen.option.bins.counts,
        candidates=steps.chosen.candidates,
        recipe=_tried(searched.best) if searched else None,
        confusion=searched.best.evaluation.confusion if searched else ((len(runs),),),
        trials=tuple(map(_tried, searched.trials)) if searched else (),
        compared_runs=steps.costs.runs,
        out_of_time_costs=steps.costs.by_expert,
        reliability=steps.reliability,
    )


def metrics_of(option: BinOption, searched: SearchResult | None, penalty: float) -> ModelMetrics:
    """The model's figures: those of the search's best trial. One bin cannot be wrong."""
    optimal = option.time_based_optimal_improvement
    best = searched.best if searched else None
    runs = np.array([[sum(option.bins.counts)]])
    figures = best.evaluation if best else evaluate(runs, penalty)
    return ModelMetrics(
        u_score=figures.u_score,
        accuracy=figures.accuracy,
        u_rate=figures.u_rate,
        optimal_improvement=optimal,
        estimated_improvement=estimated_improvement(optimal, figures.accuracy, figures.u_rate),
        confusion=figures.confusion,
        classifier=best.recipe.classifier.value if best else "none",
        sampler=(best.recipe.sampler if best else Sampler.NONE).value,
        penalty=penalty,
    )


def _tried(trial: Trial) -> TriedRecipe:
    """One trial, with its figures over all folds."""
    return TriedRecipe(
        classifier=trial.recipe.classifier.value,
        sampler=trial.recipe.sampler.value,
        parameters=dict(trial.recipe.parameters),
        u_score=trial.evaluation.u_score,
        accuracy=trial.evaluation.accuracy,
        u_rate=trial.evaluation.u_rate,
    )
