"""What a training says of itself, from what its steps gave."""

from __future__ import annotations

from dataclasses import dataclass

from plimsoll_predictor.model.bins import BinOption
from plimsoll_predictor.model.features import FeatureSchema
from plimsoll_predictor.model.task_model import ModelMetrics
from plimsoll_predictor.training.boosting import BoostedBids
from plimsoll_predictor.training.candidates import Chosen
from plimsoll_predictor.training.evaluation import estimated_improvement
from plimsoll_predictor.training.forward import Replayed
from plimsoll_predictor.training.out_of_time import OutOfTimeCosts
from plimsoll_predictor.training.plan import TrainingPlan
from plimsoll_predictor.training.report import FoldScore, TrainingReport, TriedRecipe
from plimsoll_predictor.training.rows import RunRows
from plimsoll_predictor.training.sampling import Sampler
from plimsoll_predictor.training.search import SearchResult, Trial


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """What each step of one training gave. found: None where one bin serves."""

    rows: RunRows
    schema: FeatureSchema
    chosen: Chosen
    found: SearchResult | None
    classified: Replayed
    boosted: BoostedBids
    costs: OutOfTimeCosts

    @property
    def cut_by_budget(self) -> bool:
        """Whether time ran out in any of them."""
        steps = (self.chosen, self.found, self.classified, self.boosted)
        return any(step is not None and step.cut_by_budget for step in steps)


def report_of(steps: Steps, plan: TrainingPlan, *, duration_s: float) -> TrainingReport:
    """The report of a training that followed the plan."""
    found, runs = steps.found, steps.rows.runs
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
        fold_scores=_fold_scores(found.best) if found else (),
        iterations=plan.iterations,
        policy=plan.policy.to_dict(),
        features=tuple(sorted({column.feature for column in steps.schema.columns})),
        ceilings_bytes=steps.chosen.option.bins.ceilings_bytes,
        bin_runs=steps.chosen.option.bins.counts,
        candidates=steps.chosen.candidates,
        recipe=_tried(found.best) if found else None,
        confusion=found.best.evaluation.confusion if found else ((len(runs),),),
        trials=tuple(map(_tried, found.trials)) if found else (),
        compared_runs=steps.costs.runs,
        out_of_time_costs=steps.costs.by_expert,
        reliability=steps.classified.reliability,
    )


def metrics_of(option: BinOption, found: SearchResult | None, penalty: float) -> ModelMetrics:
    """The model's figures, of the search's best trial; one bin cannot be wrong."""
    optimal = option.time_based_optimal_improvement
    if found is None:
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
    figures, recipe = found.best.evaluation, found.best.recipe
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
