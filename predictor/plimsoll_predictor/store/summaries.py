"""A task's figures, added up by the database."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from plimsoll_predictor.record import Outcome, PeakSource
from plimsoll_predictor.store.schema import observations as table
from plimsoll_predictor.task import TaskId
from plimsoll_predictor.units import GB, SECONDS_PER_HOUR


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSummary:
    """What all kept attempts of a task add up to.

    The three GB·h figures count the live attempts, not imported ones, whose request and runtime are
    known, so that they compare. requested_gb_h leaves out attempts that were OOM-killed at less
    than the request: the request would have carried them, and the retry that succeeded counts it
    already. An attempt without a limit held its request.
    """

    task: TaskId
    observations: int = 0
    """Attempts."""
    runs_known: int = 0
    """Runs with a known need: one attempt succeeded and was measured."""
    oom_kills: int = 0
    failed: int = 0
    """Attempts that failed for a reason of their own."""
    max_need_bytes: int | None = None
    """Largest need; a censored one counts as what it exceeds. None if none is known."""
    requested_gb_h: float = 0.0
    allocated_gb_h: float = 0.0
    peak_gb_h: float = 0.0
    last_finished_s: float | None = None


def summary(connection: sa.Connection, task: TaskId) -> TaskSummary:
    """One task's figures; all zero if nothing is known.

    Cost: one pass over the task's rows, which pruning bounds.
    """
    row = connection.execute(_TOTALS.where(table.c.task == str(task))).mappings().first()
    return TaskSummary(task=task) if row is None else _summary(row)


def summaries(connection: sa.Connection) -> dict[TaskId, TaskSummary]:
    """Every task's figures in one query."""
    found = [_summary(row) for row in connection.execute(_TOTALS).mappings()]
    return {each.task: each for each in found}


def _totals() -> sa.Select[Any]:
    column = table.c
    succeeded = column.outcome == Outcome.SUCCEEDED.value
    killed = column.outcome == Outcome.OOM_KILLED.value
    needs = sa.case((succeeded, column.peak_bytes), (killed, column.allocation_bytes))
    # A clock that jumped backwards leaves no runtime, as in Observation.runtime_s.
    runtime_s = sa.case(
        (column.finished_s >= column.started_s, column.finished_s - column.started_s)
    )
    held = sa.func.coalesce(column.allocation_bytes, column.request_bytes)
    spared = killed & (column.allocation_bytes < column.request_bytes)
    return sa.select(
        column.task,
        sa.func.count().label("observations"),
        sa.func.count(
            sa.distinct(sa.case((succeeded & column.peak_bytes.is_not(None), column.run)))
        ).label("runs_known"),
        _count(killed).label("oom_kills"),
        _count(column.outcome == Outcome.FAILED.value).label("failed"),
        sa.func.max(needs).label("max_need_bytes"),
        _gb_h(sa.case((sa.not_(spared), column.request_bytes)), runtime_s, "requested_gb_h"),
        _gb_h(held, runtime_s, "allocated_gb_h"),
        _gb_h(column.peak_bytes, runtime_s, "peak_gb_h"),
        sa.func.max(column.finished_s).label("last_finished_s"),
    ).group_by(column.task)


def _count(condition: sa.ColumnElement[bool]) -> sa.ColumnElement[int]:
    return sa.func.count(sa.case((condition, 1)))


def _gb_h(
    size_bytes: sa.ColumnElement[Any], runtime_s: sa.ColumnElement[Any], name: str
) -> sa.ColumnElement[Any]:
    # What was imported ran before Plimsoll had a say in it: it saved nothing and spent nothing.
    live = table.c.peak_source.is_distinct_from(PeakSource.IMPORTED.value)
    asked = table.c.request_bytes.is_not(None) & live
    memory_time = sa.case((asked, sa.cast(size_bytes, sa.Double) / GB * runtime_s))
    total = sa.func.coalesce(sa.func.sum(memory_time), 0.0) / SECONDS_PER_HOUR
    return total.label(name)


_TOTALS: Final = _totals()


def _summary(row: sa.RowMapping) -> TaskSummary:
    return TaskSummary(**{**row, "task": TaskId.parse(row["task"])})
