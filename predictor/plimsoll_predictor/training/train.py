"""A task's training: from its observations to a model, and a report of how it came to be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from plimsoll_predictor.core.record import Observation
from plimsoll_predictor.model.features import FeatureSchema
from plimsoll_predictor.model.task_model import Model, Predictor
from plimsoll_predictor.training.boosting import boosted_bids, fit_boosted
from plimsoll_predictor.training.candidates import Comparing, choose_bins, problem_of
from plimsoll_predictor.training.classifier import UNCALIBRATED, Layout, fit
from plimsoll_predictor.training.forward import ChosenClassifier, forward_bids
from plimsoll_predictor.training.out_of_time import out_of_time_costs
from plimsoll_predictor.training.plan import TrainingPlan
from plimsoll_predictor.training.report import Steps, TrainingReport, metrics_of, report_of
from plimsoll_predictor.training.runs import RunRows, runs_of
from plimsoll_predictor.training.search import SearchResult, search

__all__ = ["TrainingError", "TrainingPlan", "TrainingResult", "train"]

CANDIDATES_SHARE: Final = 0.3
SEARCH_SHARE: Final = 0.8
"""The shares of the budget after which choosing bins, and searching a recipe, must end. The rest is
for the final fit and for replaying the past."""


class TrainingError(ValueError):
    """There is nothing to train on; more runs must end first."""


@dataclass(frozen=True, slots=True)
class TrainingResult:
    """A model, and how it came to be."""

    model: Model
    report: TrainingReport


def train(task: str, observations: Sequence[Observation], plan: TrainingPlan) -> TrainingResult:
    """Train one task's model, and measure what it would have cost on the task's own past.

    task: ``namespace/name``.
    observations: in any order, all of this task.
    The same observations and plan give the same model version, unless the budget cuts the search.

    Raises:
        TrainingError: if no run's need is known or bounded.
        ModelError: if the needs are beyond what a model can hold.
    """
    runs = runs_of(observations, latest=plan.latest_runs)
    if not runs:
        raise TrainingError(
            f"task {task}: none of {len(observations)} observations tells a need; train when runs "
            "have ended with a measured peak"
        )
    # It comes with scikit-learn, ships no types, and only training needs it.
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    # Linear algebra's own threads would fight the node's workload, and each other, for nothing.
    with threadpool_limits(limits=plan.threads):
        return _trained(task, RunRows.of(runs), plan)


def _trained(task: str, rows: RunRows, plan: TrainingPlan) -> TrainingResult:
    started_s = plan.clock()
    schema = FeatureSchema.fit(rows.features)
    comparing = Comparing(
        rows=rows,
        X=schema.encode_rows(rows.features),
        layout=Layout(schema.categorical_columns, schema.expand),
        plan=plan,
        deadline_s=started_s + plan.budget_s * CANDIDATES_SHARE,
    )
    chosen = choose_bins(comparing)
    searched: SearchResult | None = None
    predictor: Predictor | None = None
    classifier = ChosenClassifier(None, UNCALIBRATED, len(chosen.option.bins))
    if len(chosen.option.bins) > 1:
        problem = problem_of(chosen.option, comparing)
        searched = search(problem, plan, started_s + plan.budget_s * SEARCH_SHARE)
        recipe, calibration = searched.best.recipe, searched.best.calibration
        classifier = replace(classifier, recipe=recipe, calibration=calibration)
        part = problem.part(plan.seed)
        predictor = fit(part, recipe, threads=plan.threads, calibration=calibration).compile()
    model = Model(
        task=task,
        schema=schema,
        bins=chosen.option.bins,
        predictor=predictor,
        boosted=fit_boosted(
            schema.expand(comparing.X), rows.needs_bytes, seed=plan.seed, threads=plan.threads
        ),
        trained_s=plan.now_s,
        observations=len(rows.runs),
        metrics=metrics_of(chosen.option, searched, plan.policy.penalty),
    )
    deadline_s = started_s + plan.budget_s
    classified, reliability = forward_bids(rows, plan, deadline_s, classifier)
    boosted = boosted_bids(rows, plan, deadline_s)
    steps = Steps(
        rows=rows,
        schema=schema,
        chosen=chosen,
        searched=searched,
        classified=classified,
        reliability=reliability,
        boosted=boosted,
        costs=out_of_time_costs(rows, classified.bids, boosted.bids, plan.policy),
    )
    return TrainingResult(model, report_of(steps, plan, duration_s=plan.clock() - started_s))
