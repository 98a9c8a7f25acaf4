"""A task's training: from its observations to a model, a champion, and a report of both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from plimsoll_predictor.bins import BinOption, search_bins
from plimsoll_predictor.candidates import Chosen, Comparing, choose_bins, problem_of
from plimsoll_predictor.champion import Comparison, compare
from plimsoll_predictor.classifier import ClassifierName, Layout, TrainingPart, fit
from plimsoll_predictor.evaluation import estimated_improvement
from plimsoll_predictor.features import FeatureSchema
from plimsoll_predictor.forward import ForwardPlan, Replayed, forward_bids, past_runs
from plimsoll_predictor.knowledge import Expert
from plimsoll_predictor.model import Model, ModelMetrics, Predictor
from plimsoll_predictor.policy import Policy
from plimsoll_predictor.record import Observation
from plimsoll_predictor.report import ExpertFigures, TrainingReport
from plimsoll_predictor.rows import RunRows
from plimsoll_predictor.runs import runs_of
from plimsoll_predictor.sampling import Sampler
from plimsoll_predictor.search import Clock, Problem, SearchPlan, SearchResult, Trial, search
from plimsoll_predictor.trial_figures import fold_scores, tried

CANDIDATES_SHARE: Final = 0.3
SEARCH_SHARE: Final = 0.8
"""Of the budget: when choosing bins, and searching a recipe, must end. The rest is for the final
fit and for replaying the past."""

REPLAYED_PARTS: Final = 8
"""Trainings in the replay of the past: in service a task is trained much more often."""

Stage = Literal["bins", "search", "model", "champion"]


class TrainingError(ValueError):
    """There is nothing to train on; more runs must end first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a training is. best_u_score: None before the search."""

    stage: Stage
    done: int
    planned: int
    best_u_score: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingPlan:
    """How to train.

    clock: seconds that only rise, for the budget. now_s: Unix seconds, written into the model.
    budget_s: the search stops when most of it is spent and the best so far is taken; the last
        fit may run a little over.
    latest_runs: older ones are not learned from, which bounds time and memory.
    """

    policy: Policy
    seed: int
    clock: Clock
    now_s: float
    budget_s: float = 60.0
    iterations: int = 32
    classifiers: tuple[ClassifierName, ...] = (ClassifierName.XGBOOST,)
    samplers: tuple[Sampler, ...] = tuple(Sampler)
    n_folds: int = 3
    latest_runs: int = 10_000
    threads: int = 1
    progress: Callable[[Progress], None] | None = field(default=None, compare=False)

    def tell(self, progress: Progress) -> None:
        """Report progress to whoever wants it."""
        if self.progress is not None:
            self.progress(progress)


@dataclass(frozen=True, slots=True)
class TrainingResult:
    """A model, who serves, and how both came to be."""

    model: Model
    champion: Expert
    report: TrainingReport


def train(task: str, observations: Sequence[Observation], plan: TrainingPlan) -> TrainingResult:
    """Train one task's model and compare it with the simpler experts on the task's own history.

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
        comparing = self._comparing()
        chosen = self._chosen(comparing)
        found = None
        predictor: Predictor | None = None
        if len(chosen.option.bins) > 1:
            problem = problem_of(chosen.option, comparing)
            found = self._search(problem)
            predictor = self._fitted(problem, found.best)
        self.plan.tell(Progress(stage="model", done=1, planned=1))
        model = Model(
            task=self.task,
            schema=self.schema,
            bins=chosen.option.bins,
            predictor=predictor,
            trained_s=self.plan.now_s,
            observations=len(self.rows.runs),
            metrics=_metrics(chosen.option, found, self.plan.policy.penalty),
        )
        comparison, replayed = self._compared(chosen, found)
        self.plan.tell(Progress(stage="champion", done=1, planned=1))
        cut_by_budget = replayed.cut_by_budget or chosen.cut_by_budget
        cut_by_budget |= found is not None and found.cut_by_budget
        report = self._report(chosen, found, comparison, cut_by_budget=cut_by_budget)
        report = replace(report, reliability=replayed.reliability)
        return TrainingResult(model, comparison.champion, report)

    def _deadline_s(self, share: float) -> float:
        return self.started_s + self.plan.budget_s * share

    def _comparing(self) -> Comparing:
        return Comparing(
            rows=self.rows,
            X=self.X,
            layout=self.layout,
            reference_bytes=self.rows.reference_bytes(self.plan.policy.headroom),
            penalty=self.plan.policy.penalty,
            n_folds=self.plan.n_folds,
            classifier=self.plan.classifiers[0],
            seed=self.plan.seed,
            threads=self.plan.threads,
            clock=self.plan.clock,
            deadline_s=self._deadline_s(CANDIDATES_SHARE),
        )

    def _chosen(self, comparing: Comparing) -> Chosen:
        limits = self.rows.limits(self.plan.policy)
        options = search_bins(self.rows.needs_bytes, self.rows.runtimes_s, limits).options
        chosen = choose_bins(options, comparing)
        judged = len(chosen.candidates)
        self.plan.tell(Progress(stage="bins", done=judged, planned=len(options)))
        return chosen

    def _search(self, problem: Problem) -> SearchResult:
        plan = self.plan

        def tell(done: int, planned: int, best_u_score: float) -> None:
            plan.tell(
                Progress(stage="search", done=done, planned=planned, best_u_score=best_u_score)
            )

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
                progress=tell,
            ),
        )

    def _fitted(self, problem: Problem, best: Trial) -> Predictor:
        part = TrainingPart(
            problem.X,
            problem.y,
            self.layout,
            n_bins=len(problem.bins),
            seed=self.plan.seed,
        )
        return fit(part, best.recipe, threads=self.plan.threads).compile()

    def _compared(self, chosen: Chosen, found: SearchResult | None) -> tuple[Comparison, Replayed]:
        plan = self.plan
        replayed = forward_bids(
            self.rows,
            ForwardPlan(
                recipe=found.best.recipe if found else None,
                n_bins=len(chosen.option.bins),
                policy=plan.policy,
                n_folds=REPLAYED_PARTS,
                seed=plan.seed,
                threads=plan.threads,
                clock=plan.clock,
                deadline_s=self._deadline_s(1.0),
            ),
        )
        comparison = compare(past_runs(self.rows), replayed.bids, plan.policy)
        return comparison, replayed

    def _report(
        self,
        chosen: Chosen,
        found: SearchResult | None,
        comparison: Comparison,
        *,
        cut_by_budget: bool,
    ) -> TrainingReport:
        plan, runs = self.plan, self.rows.runs
        times = [run.at_s for run in runs if run.at_s is not None]
        return TrainingReport(
            runs=len(runs),
            censored_runs=sum(run.censored for run in runs),
            first_s=min(times, default=None),
            last_s=max(times, default=None),
            reference_bytes=self.rows.reference_bytes(plan.policy.headroom),
            seed=plan.seed,
            budget_s=plan.budget_s,
            duration_s=plan.clock() - self.started_s,
            cut_by_budget=cut_by_budget,
            folds=plan.n_folds,
            fold_scores=fold_scores(found.best) if found else (),
            iterations=plan.iterations,
            policy=plan.policy.to_dict(),
            features=tuple(sorted({column.feature for column in self.schema.columns})),
            ceilings_bytes=chosen.option.bins.ceilings_bytes,
            bin_runs=chosen.option.bins.counts,
            candidates=chosen.candidates,
            recipe=tried(found.best) if found else None,
            confusion=found.best.evaluation.confusion if found else ((len(runs),),),
            trials=tuple(map(tried, found.trials)) if found else (),
            champion=comparison.champion.value,
            compared_runs=comparison.runs,
            experts={
                expert.value: ExpertFigures(
                    cost_gb_h=cost.cost_gb_h, failed_attempts=cost.failed_attempts
                )
                for expert, cost in comparison.costs.items()
            },
        )


def _metrics(option: BinOption, found: SearchResult | None, penalty: float) -> ModelMetrics:
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
