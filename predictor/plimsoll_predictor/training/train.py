"""A task's training: from its observations to a model, and a report of how it came to be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from plimsoll_predictor.core.record import Observation
from plimsoll_predictor.model.bins import search_bins
from plimsoll_predictor.model.calibration import Calibration
from plimsoll_predictor.model.features import FeatureSchema
from plimsoll_predictor.model.task_model import Model, Predictor
from plimsoll_predictor.training.boosting import boosted_bids, fit_boosted
from plimsoll_predictor.training.candidates import Chosen, Comparing, choose_bins, problem_of
from plimsoll_predictor.training.classifier import (
    UNCALIBRATED,
    Layout,
    TrainingPart,
    calibration_of,
    fit,
)
from plimsoll_predictor.training.forward import ClassifierBids, ForwardPlan, forward_bids
from plimsoll_predictor.training.out_of_time import ReplayPlan, out_of_time_costs
from plimsoll_predictor.training.plan import TrainingPlan
from plimsoll_predictor.training.report import Steps, TrainingReport, metrics_of, report_of
from plimsoll_predictor.training.runs import RunRows, runs_of
from plimsoll_predictor.training.search import Problem, SearchPlan, SearchResult, Trial, search

__all__ = ["TrainingError", "TrainingPlan", "TrainingResult", "train"]

CANDIDATES_SHARE: Final = 0.3
SEARCH_SHARE: Final = 0.8
"""The shares of the budget after which choosing bins, and searching a recipe, must end. The rest is
for the final fit and for replaying the past."""

REPLAYED_PARTS: Final = 8
"""Trainings in the replay of the past: in service a task is trained much more often."""


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
    observations: in any order; of other tasks there must be none.
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
        return _Training(task, RunRows.of(runs), plan).result()


class _Training:
    """One training; holds what its steps share."""

    def __init__(self, task: str, rows: RunRows, plan: TrainingPlan) -> None:
        self.task, self.rows, self.plan = task, rows, plan
        self.started_s = plan.clock()
        self.schema = FeatureSchema.fit(rows.features)
        self.X = self.schema.encode_rows(rows.features)
        self.layout = Layout(self.schema.categorical_columns, self.schema.expand)

    def result(self) -> TrainingResult:
        comparing = Comparing(
            rows=self.rows,
            X=self.X,
            layout=self.layout,
            plan=self.plan,
            deadline_s=self._deadline_s(CANDIDATES_SHARE),
        )
        chosen = self._chosen(comparing)
        searched = None
        predictor: Predictor | None = None
        calibration = UNCALIBRATED
        if len(chosen.option.bins) > 1:
            problem = problem_of(chosen.option, comparing)
            searched = self._search(problem)
            calibration = self._calibration(problem, searched.best)
            predictor = self._fitted(problem, searched.best, calibration)
        model = self._model(chosen, searched, predictor)
        classified = self._classified(chosen, searched, calibration)
        boosted = boosted_bids(self.rows, self._replay())
        steps = Steps(
            rows=self.rows,
            schema=self.schema,
            chosen=chosen,
            searched=searched,
            classified=classified,
            boosted=boosted,
            costs=out_of_time_costs(
                self.rows, classified.replayed.bids, boosted.bids, self.plan.policy
            ),
        )
        report = report_of(steps, self.plan, duration_s=self.plan.clock() - self.started_s)
        return TrainingResult(model, report)

    def _model(
        self, chosen: Chosen, searched: SearchResult | None, predictor: Predictor | None
    ) -> Model:
        plan = self.plan
        return Model(
            task=self.task,
            schema=self.schema,
            bins=chosen.option.bins,
            predictor=predictor,
            boosted=fit_boosted(
                self.schema.expand(self.X),
                self.rows.needs_bytes,
                seed=plan.seed,
                threads=plan.threads,
            ),
            trained_s=plan.now_s,
            observations=len(self.rows.runs),
            metrics=metrics_of(chosen.option, searched, plan.policy.penalty),
        )

    def _deadline_s(self, share: float) -> float:
        return self.started_s + self.plan.budget_s * share

    def _chosen(self, comparing: Comparing) -> Chosen:
        limits = self.rows.limits(self.plan.policy)
        options = search_bins(self.rows.needs_bytes, self.rows.runtimes_s, limits)
        return choose_bins(options, comparing)

    def _search(self, problem: Problem) -> SearchResult:
        plan = self.plan
        return search(
            problem,
            SearchPlan(
                seed=plan.seed,
                iterations=plan.iterations,
                deadline_s=self._deadline_s(SEARCH_SHARE),
                clock=plan.clock,
                classifiers=plan.classifiers,
                samplers=plan.samplers,
                threads=plan.threads,
            ),
        )

    def _calibration(self, problem: Problem, best: Trial) -> Calibration:
        part = self._part(problem)
        folds = [
            (part.only(fold.training), problem.X[fold.validation], problem.y[fold.validation])
            for fold in problem.folds
        ]
        return calibration_of(folds, best.recipe, threads=self.plan.threads)

    def _fitted(self, problem: Problem, best: Trial, calibration: Calibration) -> Predictor:
        threads = self.plan.threads
        fitted = fit(self._part(problem), best.recipe, threads=threads, calibration=calibration)
        return fitted.compile()

    def _part(self, problem: Problem) -> TrainingPart:
        return TrainingPart(
            problem.X, problem.y, self.layout, n_bins=len(problem.bins), seed=self.plan.seed
        )

    def _classified(
        self, chosen: Chosen, searched: SearchResult | None, calibration: Calibration
    ) -> ClassifierBids:
        return forward_bids(
            self.rows,
            ForwardPlan(
                recipe=searched.best.recipe if searched else None,
                calibration=calibration,
                n_bins=len(chosen.option.bins),
                policy=self.plan.policy,
                replay=self._replay(),
            ),
        )

    def _replay(self) -> ReplayPlan:
        return ReplayPlan(
            n_folds=REPLAYED_PARTS,
            seed=self.plan.seed,
            threads=self.plan.threads,
            clock=self.plan.clock,
            deadline_s=self._deadline_s(1.0),
        )
