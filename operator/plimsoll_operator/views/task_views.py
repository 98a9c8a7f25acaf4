"""Gathers a report from the store. What it costs is bounded, however much the store holds."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from plimsoll_operator.profile.phases import Phase, Progress, phase_of
from plimsoll_operator.views.counting import figures_of, lifts_of, points_of
from plimsoll_operator.views.cpu_savings import cpu_figures_of
from plimsoll_operator.views.groups import gather_groups
from plimsoll_operator.views.records import (
    ExpertBar,
    Figures,
    ModelFigures,
    ReportData,
    SaidDecision,
    TaskDetail,
    TaskReport,
)
from plimsoll_operator.views.stored_standings import StoredStandings, usual_run
from plimsoll_operator.views.training_facts import facts_of, past_trainings
from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.knowledge.expert_names import MAX_SEEN, REQUEST
from plimsoll_predictor.model.task_model import Model
from plimsoll_predictor.store import SavedModel, Store, TaskSummary

__all__ = ["ReportData", "TaskReport", "gather"]

LISTED_TASKS: Final = 500
DETAILED_TASKS: Final = 50
"""The tasks with the most memory-time asked for get a section of their own."""
READ_ATTEMPTS: Final = 5_000
"""Latest attempts read of a task with its own section; fewer where many tasks have one."""
READ_IN_ALL: Final = 60_000
"""About two seconds of one core; the controller serves the page beside its work."""
LISTED_LIFTS: Final = 200
LISTED_DECISIONS: Final = 10
LISTED_TRAININGS: Final = 5


def gather(
    store: Store,
    tasks: Collection[TaskId] | None = None,
    since_s: float | None = None,
    phases: Mapping[TaskId, Phase] | None = None,
) -> ReportData:
    """Read what a report shows.

    tasks: None takes all. since_s: Unix seconds; only attempts that ended later are shown.
    phases: as the controller knows them; without, they follow from the store, which knows no
        policy (the default minimum of runs is taken) and no task that was given up.

    Raises:
        StoreError: if the store cannot be read now.

    """
    chosen = [
        summary
        for task, summary in store.totals.by_task().items()
        if (tasks is None or task in tasks) and _ended_since(summary, since_s)
    ]
    chosen.sort(key=lambda summary: (-summary.requested_gb_h, summary.task))
    room = min(READ_ATTEMPTS, READ_IN_ALL // max(1, min(len(chosen), DETAILED_TASKS)))
    reading = _Reading(store, since_s, phases or {}, room, StoredStandings(store))
    reports = [
        _detailed(reading, summary) if place < DETAILED_TASKS else _listed(reading, summary)
        for place, summary in enumerate(chosen[:LISTED_TASKS])
    ]
    return ReportData(
        tasks=tuple(reports),
        omitted=max(0, len(chosen) - LISTED_TASKS),
        since_s=since_s,
        groups=gather_groups(store, reports),
    )


def gather_task(store: Store, summary: TaskSummary, *, room: int) -> TaskReport:
    """Read what one task's page shows, of its newest ``room`` attempts at most.

    Raises:
        StoreError: if the store cannot be read now.
    """
    return _detailed(_Reading(store, None, {}, room, StoredStandings(store)), summary)


@dataclass(frozen=True, slots=True)
class _Reading:
    """What to read of each task, at most ``room`` attempts."""

    store: Store
    since_s: float | None
    phases: Mapping[TaskId, Phase]
    room: int
    standings: StoredStandings

    def phase(self, summary: TaskSummary, champion: str, saved: SavedModel | None) -> Phase:
        """As the controller knows it, else as it follows from the store."""
        progress = Progress(
            runs=summary.runs_known,
            min_runs=Policy().min_runs,
            champion=champion,
            trained=saved is not None and saved.model is not None,
        )
        return self.phases.get(summary.task) or phase_of(progress)


def _ended_since(summary: TaskSummary, since_s: float | None) -> bool:
    if since_s is None:
        return True
    return summary.last_finished_s is not None and summary.last_finished_s >= since_s


def _detailed(reading: _Reading, summary: TaskSummary) -> TaskReport:
    store, since_s, task = reading.store, reading.since_s, summary.task
    saved, training = store.models.newest(task), store.trainings.last(task)
    latest = store.observations.of_task(task, limit=reading.room)
    experts = reading.standings.facts(task, usual_run(latest), saved.model if saved else None)
    seen = [
        each
        for each in latest
        if since_s is None or (each.finished_s is not None and each.finished_s >= since_s)
    ]
    detail = TaskDetail(
        points=points_of(seen),
        lifts=lifts_of(seen, limit=LISTED_LIFTS),
        decisions=tuple(
            SaidDecision(each.at_s, each.words, each.request_bytes, each.allocation_bytes)
            for each in store.decisions.newest(task, limit=LISTED_DECISIONS)
        ),
        model=_model_figures(saved.model) if saved and saved.model else None,
        out_of_time_costs=_out_of_time_costs(saved),
        experts=experts,
        training_failure=training.failure if training else None,
        trainings=past_trainings(store.trainings.newest(task, limit=LISTED_TRAININGS)),
        # Where none of those read was too early, earlier ones may be within the time asked for.
        unread=summary.observations - len(latest) if len(seen) == len(latest) else 0,
        cpu=cpu_figures_of(seen),
    )
    champion = experts.champion if experts else _without_experts(saved)
    return TaskReport(
        task=task,
        figures=figures_of(seen),
        phase=reading.phase(summary, champion, saved),
        champion=champion,
        detail=detail,
    )


def _listed(reading: _Reading, summary: TaskSummary) -> TaskReport:
    saved, standing = (
        reading.store.models.newest(summary.task),
        reading.standings.standing(summary.task),
    )
    champion = _without_experts(saved)
    if standing is not None and standing.past.runs:
        champion = standing.champion
    figures = Figures(
        runs=summary.runs_known,
        attempts=summary.observations,
        oom_kills=summary.oom_kills,
        requested_gb_h=summary.requested_gb_h,
        allocated_gb_h=summary.allocated_gb_h,
        peak_gb_h=summary.peak_gb_h,
    )
    return TaskReport(
        task=summary.task,
        figures=figures,
        phase=reading.phase(summary, champion, saved),
        champion=champion,
    )


def _out_of_time_costs(saved: SavedModel | None) -> tuple[ExpertBar, ...]:
    if saved is None:
        return ()
    costs = facts_of(saved.report).out_of_time_costs
    return tuple(ExpertBar(expert, cost.cost_gb_h) for expert, cost in costs.items())


def _model_figures(model: Model) -> ModelFigures:
    metrics = model.metrics
    return ModelFigures(
        version=model.version,
        trained_s=model.trained_s,
        observations=model.observations,
        classifier=metrics.classifier,
        sampler=metrics.sampler,
        penalty=metrics.penalty,
        u_score=metrics.u_score,
        accuracy=metrics.accuracy,
        u_rate=metrics.u_rate,
        optimal_improvement=metrics.optimal_improvement,
        estimated_improvement=metrics.estimated_improvement,
        confusion=metrics.confusion,
        ceilings_bytes=model.bins.ceilings_bytes,
        counts=model.bins.counts,
    )


def _without_experts(saved: SavedModel | None) -> str:
    """Who sizes the tasks of a store that no controller with experts has served."""
    return MAX_SEEN if saved else REQUEST
