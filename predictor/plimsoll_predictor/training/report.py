"""The report of a training: plain data for the store and for people, and how its steps make it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from plimsoll_predictor.core.documents import to_document
from plimsoll_predictor.model.bins import BinOption
from plimsoll_predictor.model.features import FeatureSchema
from plimsoll_predictor.model.task_model import ModelMetrics
from plimsoll_predictor.training.candidates import Candidate, Chosen
from plimsoll_predictor.training.forward import ClassifierBids
from plimsoll_predictor.training.out_of_time import OutOfTimeCost, OutOfTimeCosts, ReplayedBids
from plimsoll_predictor.training.plan import TrainingPlan
from plimsoll_predictor.training.runs import RunRows
from plimsoll_predictor.training.sampling import Sampler
from plimsoll_predictor.training.search import SearchResult, Trial
from plimsoll_predictor.training.u_score import Reliability, estimated_improvement


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
class FoldScore:
    """The chosen recipe on one fold: trained on what came before, judged on validation_runs."""

    training_runs: int
    validation_runs: int
    u_score: float
    accuracy: float
    u_rate: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingReport:
    """How a training made its model.

    runs: learned from, the latest; censored_runs: of them, those whose need was only exceeded.
    first_s, last_s: Unix seconds of the oldest and newest run; None where no run has a time.
    recipe: the chosen one with its figures over all folds; None where there is one bin.
    fold_scores: of the chosen recipe, oldest fold first; none where there is one bin.
    ceilings_bytes, bin_runs: the chosen bins, and how many runs each holds.
    features: the names learned from. policy: ``Policy.to_dict()``, what people had set.
    out_of_time_costs: by expert, over the compared_runs; an expert that could not bid is missing.
    reliability: of the chances the classifier gave in the replay of the past; None if older.
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
        """Plain JSON types, but for tuples that JSON writes as lists."""
        document: dict[str, Any] = to_document(self)
        return document


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """The results of one training's steps. searched: None where one bin serves."""

    rows: RunRows
    schema: FeatureSchema
    chosen: Chosen
    searched: SearchResult | None
    classified: ClassifierBids
    boosted: ReplayedBids
    costs: OutOfTimeCosts

    @property
    def cut_by_budget(self) -> bool:
        """Whether time ran out in any step."""
        steps = (self.chosen, self.searched, self.classified.replayed, self.boosted)
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
        fold_scores=_fold_scores(searched.best) if searched else (),
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
        reliability=steps.classified.reliability,
    )


def metrics_of(option: BinOption, searched: SearchResult | None, penalty: float) -> ModelMetrics:
    """The model's figures: those of the search's best trial. One bin cannot be wrong."""
    optimal = option.time_based_optimal_improvement
    if searched is None:
        return ModelMetrics(
            u_score=0.0,
            accuracy=1.0,
            u_rate=0.0,
            optimal_improvement=optimal,
            estimated_improvement=optimal,
            confusion=((sum(option.bins.counts),),),
            classifier="none",
            sampler=Sampler.NONE.value,
            penalty=penalty,
        )
    figures, recipe = searched.best.evaluation, searched.best.recipe
    return ModelMetrics(
        u_score=figures.u_score,
        accuracy=figures.accuracy,
        u_rate=figures.u_rate,
        optimal_improvement=optimal,
        estimated_improvement=estimated_improvement(optimal, figures.accuracy, figures.u_rate),
        confusion=figures.confusion,
        classifier=recipe.classifier.value,
        sampler=recipe.sampler.value,
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


def _fold_scores(trial: Trial) -> tuple[FoldScore, ...]:
    """One trial, fold by fold, oldest first."""
    return tuple(
        FoldScore(
            training_runs=fold.training_runs,
            validation_runs=sum(map(sum, fold.evaluation.confusion)),
            u_score=fold.evaluation.u_score,
            accuracy=fold.evaluation.accuracy,
            u_rate=fold.evaluation.u_rate,
        )
        for fold in trial.folds
    )
