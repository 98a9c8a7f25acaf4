"""Gathers a report from the store, at a bounded cost, however much the store holds."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from plimsoll_operator.profile.phases import Phase, Progress, phase_of
from plimsoll_operator.profile.status import SHOWN_DECISIONS
from plimsoll_operator.views.kill_costs import kill_costs_of
from plimsoll_operator.views.report.counting import (
    cpu_figures_of,
    figures_of,
    lifts_of,
    needs_used,
    points_of,
)
from plimsoll_operator.views.report.records import (
    Figures,
    ModelFigures,
    ReportData,
    TaskDetail,
    TaskReport,
    total,
)
from plimsoll_operator.views.report.saving_by_group import gather_groups
from plimsoll_operator.views.stored_standings import StoredStandings, usual_run
from plimsoll_operator.views.training_facts import facts_of, past_trainings
from plimsoll_operator.wording.asking_words import asks_words, too_little
from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.experts.charging import Would
from plimsoll_predictor.knowledge.expert_names import MAX_SEEN, REQUEST
from plimsoll_predictor.model.task_model import Model
from plimsoll_predictor.store import SavedModel, Store, TaskSummary
from plimsoll_predictor.store.attempts.decisions import DECISIONS_KEPT

__all__ = ["ReportData", "TaskReport", "gather"]

LISTED_TASKS: Final = 500
DETAILED_TASKS: Final = 50
"""The tasks with the most memory-time asked for get a section of their own."""
READ_ATTEMPTS: Final = 5_000
"""Latest attempts read of a task with its own section; fewer where many tasks have one."""
READ_IN_ALL: Final = 60_000
"""This takes about two seconds of one core, of a controller that also does its other work."""
LISTED_LIFTS: Final = 200
LISTED_TRAININGS: Final = 5


def gather(store: Store, tasks: Collection[TaskId] | None = None) -> ReportData:
    """Read a report of some tasks; None takes all.

    Raises:
        StoreError: if the store cannot be read now.
    """
    chosen = [
        summary
        for task, summary in store.totals.by_task().items()
        if tasks is None or task in tasks
    ]
    chosen.sort(key=lambda summary: (-summary.requested_gb_h, summary.task))
    room = min(READ_ATTEMPTS, READ_IN_ALL // max(1, min(len(chosen), DETAILED_TASKS)))
    standings = StoredStandings(store)
    reports = [
        *(_detailed(store, standings, each, room) for each in chosen[:DETAILED_TASKS]),
        *(_listed(store, standings, each) for each in chosen[DETAILED_TASKS:LISTED_TASKS]),
    ]
    return ReportData(
        tasks=tuple(reports),
        omitted=max(0, len(chosen) - LISTED_TASKS),
        unlisted=total(Figures, [_kept(each) for each in chosen[LISTED_TASKS:]]),
        groups=gather_groups(store, reports),
    )


def gather_task(
    store: Store, summary: TaskSummary, *, room: int, policy: Policy | None = None
) -> TaskReport:
    """Read the page of one task, with its newest ``room`` attempts at most.

    policy: the one in force; None if unknown.

    Raises:
        StoreError: if the store cannot be read now.
    """
    return _detailed(store, StoredStandings(store), summary, room, policy)


def _detailed(
    store: Store,
    standings: StoredStandings,
    summary: TaskSummary,
    room: int,
    policy: Policy | None = None,
) -> TaskReport:
    task = summary.task
    saved, training = store.models.newest(task), store.trainings.last(task)
    latest = store.observations.of_task(task, limit=room)
    model = saved.model if saved else None
    experts = standings.facts(task, usual_run(latest), model, policy)
    points = points_of(latest)
    decisions = store.decisions.newest(task, limit=DECISIONS_KEPT)
    detail = TaskDetail(
        points=points,
        lifts=lifts_of(points, limit=LISTED_LIFTS),
        decisions=tuple(decisions[:SHOWN_DECISIONS]),
        model=_model_figures(model) if model else None,
        out_of_time_costs=facts_of(saved.report).out_of_time_costs if saved else {},
        experts=experts,
        training_failure=training.failure if training else None,
        trainings=past_trainings(store.trainings.newest(task, limit=LISTED_TRAININGS)),
        needs_bytes=needs_used(latest),
        unread=summary.observations - len(latest),
        cpu=cpu_figures_of(latest),
        costs=kill_costs_of(latest, decisions),
    )
    champion = experts.champion if experts else _without_experts(summary, saved)
    return TaskReport(
        task=task,
        figures=figures_of(latest),
        kept=_kept(summary),
        phase=_phase(summary, champion, saved),
        champion=champion,
        asks=asks_words(too_little(latest)),
        detail=detail,
        would=experts.would if experts else Would(),
    )


def _listed(store: Store, standings: StoredStandings, summary: TaskSummary) -> TaskReport:
    saved, standing = store.models.newest(summary.task), standings.standing(summary.task)
    champion, would = _without_experts(summary, saved), Would()
    if standing is not None and standing.past.runs:
        champion, would = standing.champion, standing.would
    kept = _kept(summary)
    return TaskReport(
        task=summary.task,
        figures=kept,
        kept=kept,
        phase=_phase(summary, champion, saved),
        champion=champion,
        would=would,
    )


def _kept(summary: TaskSummary) -> Figures:
    return Figures(
        runs=summary.runs_known,
        attempts=summary.observations,
        oom_kills=summary.oom_kills,
        requested_gb_h=summary.requested_gb_h,
        allocated_gb_h=summary.allocated_gb_h,
        peak_gb_h=summary.peak_gb_h,
    )


def _phase(summary: TaskSummary, champion: str, saved: SavedModel | None) -> Phase:
    """The phase as far as the store knows it: it has no policies and no leaking tasks."""
    progress = Progress(
        runs=summary.runs_known,
        min_runs=Policy().min_runs,
        champion=champion,
        trained=saved is not None and saved.model is not None,
    )
    return phase_of(progress)


def _model_figures(model: Model) -> ModelFigures:
    return ModelFigures(
        version=model.version,
        trained_s=model.trained_s,
        observations=model.observations,
        metrics=model.metrics,
        bins=model.bins,
    )


def _without_experts(summary: TaskSummary, saved: SavedModel | None) -> str:
    """The expert that sizes a task if no controller with experts has served its store."""
    return MAX_SEEN if saved or summary.runs_known else REQUEST
