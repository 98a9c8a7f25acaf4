"""What tasks asked for and used, CPU and memory, read back from their observations."""

from __future__ import annotations

from typing import Any, Final

import sqlalchemy as sa

from plimsoll_predictor.cpu import MIN_RUNTIME_S, WINDOW_RUNS, RunCpu
from plimsoll_predictor.record import Outcome
from plimsoll_predictor.store.schema import observations as table
from plimsoll_predictor.task import TaskId
from plimsoll_predictor.task_groups import TaskUse

_RUNTIME_S: Final = table.c.finished_s - table.c.started_s
_TIMED: Final = (table.c.outcome == Outcome.SUCCEEDED.value) & (_RUNTIME_S >= MIN_RUNTIME_S)


def run_cpus(connection: sa.Connection, task: TaskId) -> list[RunCpu]:
    """CPU of the newest runs that succeeded and were measured, WINDOW_RUNS at most.

    Cost: an index leads to the task's newest rows; those without a figure are passed over.
    """
    newest = (
        sa.select((table.c.cpu_s / _RUNTIME_S).label("mean_cores"), table.c.peak_cores)
        .where((table.c.task == str(task)) & _TIMED & table.c.cpu_s.is_not(None))
        .order_by(table.c.ordered_s.desc(), table.c.id.desc())
        .limit(WINDOW_RUNS)
    )
    return [RunCpu(row.mean_cores, row.peak_cores) for row in connection.execute(newest)]


def task_uses(connection: sa.Connection) -> list[TaskUse]:
    """Each task's requests and use, over all its runs that succeeded and were measured.

    Cost: one pass over the observations, which pruning bounds.
    """
    rows = connection.execute(_USES).mappings()
    return [TaskUse(**{**row, "task": str(row["task"])}) for row in rows]


def _uses() -> sa.Select[Any]:
    column = table.c
    cores = column.cpu_s / _RUNTIME_S
    highest = sa.func.coalesce(column.peak_cores, cores)
    return (
        sa.select(
            column.task,
            sa.func.count().label("runs"),
            sa.cast(sa.func.avg(_RUNTIME_S), sa.Double).label("runtime_s"),
            _mean(column.request_bytes).label("request_bytes"),
            _mean(column.peak_bytes).label("used_bytes"),
            sa.func.max(column.peak_bytes).label("most_bytes"),
            _mean(column.request_cores).label("request_cores"),
            _mean(cores).label("used_cores"),
            sa.func.max(highest).label("most_cores"),
        )
        .where(_TIMED & column.peak_bytes.is_not(None))
        .group_by(column.task)
        .order_by(column.task)
    )


def _mean(value: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
    return sa.func.avg(sa.cast(value, sa.Double))


_USES: Final = _uses()
