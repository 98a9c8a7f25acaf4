"""What tasks asked for and used, CPU and memory, read back from their observations."""

from __future__ import annotations

from typing import Any, Final

import sqlalchemy as sa

from plimsoll_predictor.core.cpu import MIN_RUNTIME_S, WINDOW_RUNS, RunCpu
from plimsoll_predictor.core.record import Outcome
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.task_groups import TaskUse
from plimsoll_predictor.store.database.schema import observations as table
from plimsoll_predictor.store.database.schema import totals

RUNTIME_S: Final = table.c.finished_s - table.c.started_s
TIMED: Final = (table.c.outcome == Outcome.SUCCEEDED.value) & (RUNTIME_S >= MIN_RUNTIME_S)


def run_cpus(connection: sa.Connection, task: TaskId) -> list[RunCpu]:
    """CPU of the newest runs that succeeded and were measured, WINDOW_RUNS at most.

    Cost: an index leads to the task's newest rows; those without a figure are passed over.
    """
    newest = (
        sa.select((table.c.cpu_s / RUNTIME_S).label("mean_cores"), table.c.peak_cores)
        .where((table.c.task == str(task)) & TIMED & table.c.cpu_s.is_not(None))
        .order_by(table.c.ordered_s.desc(), table.c.id.desc())
        .limit(WINDOW_RUNS)
    )
    return [RunCpu(row.mean_cores, row.peak_cores) for row in connection.execute(newest)]


def task_uses(connection: sa.Connection) -> list[TaskUse]:
    """Each task's requests and use, over all its runs that succeeded and were measured.

    Cost: a row a task, whatever the number of observations.
    """
    used = totals.select().where(totals.c.used_runs > 0).order_by(totals.c.task)
    return [_use(row) for row in connection.execute(used)]


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
