"""A task's figures, as they are added up (totals.py)."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any, Final

import orjson
import sqlalchemy as sa

from plimsoll_predictor.core.cpu import CpuUse
from plimsoll_predictor.core.documents import from_document
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.task_groups import TaskUse
from plimsoll_predictor.store.attempts import totals
from plimsoll_predictor.store.database.database import Records
from plimsoll_predictor.store.database.schema import totals as table

log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSummary:
    """The sums over all stored attempts of a task.

    The three GB·h figures count the live attempts, not imported ones, whose request and runtime are
    known, so that they compare. requested_gb_h leaves out attempts that were OOM-killed at less
    than the request: the request would have carried them, and the retry that succeeded counts it
    already. allocated_gb_h counts what nodes kept free (``Observation.reserved_bytes``).
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


class TotalRecords(Records):
    """The part of the store that tells tasks' figures; errors as in ``Store``.

    Each reads one row per task, whatever the number of observations.
    """

    def tasks(self) -> list[TaskId]:
        """Tasks with observations, in alphabetical order."""
        names = self._database.values(sa.select(table.c.task).order_by(table.c.task))
        return [TaskId.parse(name) for name in names]

    def of(self, task: TaskId) -> TaskSummary:
        """A task's figures; all zero if nothing is known."""
        with self._database.read() as connection:
            return summary(connection, task)

    def runs_since(self, task: TaskId, after_s: float) -> int:
        """Of the task's runs with a known need, how many ended after that time."""
        with self._database.read() as connection:
            return totals.runs_since(connection, task, after_s)

    def by_task(self) -> dict[TaskId, TaskSummary]:
        """Every task's figures, in one query."""
        summaries = [_summary(row._mapping) for row in self._database.rows(_SUMMARIES)]
        return {each.task: each for each in summaries}

    def cpu_uses(self) -> dict[TaskId, CpuUse]:
        """The CPU that each task's newest runs used; without the tasks that nobody measured.

        One that cannot be read is left out, and logged: the task's next run replaces it.
        """
        measured = sa.select(table.c.task, table.c.cpu).where(table.c.cpu.is_not(None))
        uses = {row.task: _cpu_use(row) for row in self._database.rows(measured)}
        return {TaskId.parse(task): use for task, use in uses.items() if use is not None}

    def task_uses(self) -> list[TaskUse]:
        """Each task's requests and use, over all its runs that succeeded and were measured."""
        used = table.select().where(table.c.used_runs > 0).order_by(table.c.task)
        return [_use(row) for row in self._database.rows(used)]

    def mend(self) -> int:
        """Add up anew what an older Plimsoll wrote beside this one, and what is half forgotten.

        Returns how many tasks that were.
        """
        with self._database.read() as connection:
            tasks = totals.differing(connection)
        if tasks:
            with self._database.write() as connection:
                totals.add_up(connection, tasks)
        return len(tasks)


def summary(connection: sa.Connection, task: TaskId) -> TaskSummary:
    """One task's figures; all zero if nothing is known."""
    row = connection.execute(_SUMMARIES.where(table.c.task == str(task))).mappings().first()
    return TaskSummary(task=task) if row is None else _summary(row)


_SUMMARIES: Final = sa.select(*(table.c[name] for name in TaskSummary.__dataclass_fields__))


def _summary(row: sa.RowMapping) -> TaskSummary:
    return TaskSummary(**{**row, "task": TaskId.parse(row["task"])})


def _cpu_use(row: sa.Row[Any]) -> CpuUse | None:
    try:
        return from_document(CpuUse, orjson.loads(row.cpu), "its CPU use")
    except ValueError as error:
        log.error("task %s: what it used of the CPU cannot be read: %s", row.task, error)
        return None


def _use(row: sa.Row[Any]) -> TaskUse:
    return TaskUse(
        task=row.task,
        runs=row.used_runs,
        runtime_s=row.used_runtime_s / row.used_runs,
        request_bytes=_mean(row.request_bytes_sum, row.request_bytes_count),
        used_bytes=row.used_bytes_sum / row.used_runs,
        most_bytes=row.most_bytes,
        request_cores=_mean(row.request_cores_sum, row.request_cores_count),
        used_cores=_mean(row.used_cores_sum, row.used_cores_count),
        most_cores=row.most_cores,
    )


def _mean(total: float, count: int) -> float | None:
    return total / count if count else None
