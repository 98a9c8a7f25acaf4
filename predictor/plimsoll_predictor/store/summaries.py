"""A task's figures, as they are added up (totals.py)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa

from plimsoll_predictor.store.schema import totals as table
from plimsoll_predictor.task import TaskId


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
    """One task's figures; all zero if nothing is known."""
    row = connection.execute(_SUMMARIES.where(table.c.task == str(task))).mappings().first()
    return TaskSummary(task=task) if row is None else _summary(row)


def summaries(connection: sa.Connection) -> dict[TaskId, TaskSummary]:
    """Every task's figures. Cost: a row a task, whatever the number of observations."""
    found = [_summary(row) for row in connection.execute(_SUMMARIES).mappings()]
    return {each.task: each for each in found}


_SUMMARIES: Final = sa.select(*(table.c[name] for name in TaskSummary.__dataclass_fields__))


def _summary(row: sa.RowMapping) -> TaskSummary:
    return TaskSummary(**{**row, "task": TaskId.parse(row["task"])})
