"""Lifts that wait for their run's next attempt."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

from plimsoll_predictor.knowledge import Lift
from plimsoll_predictor.store.schema import lifts as table
from plimsoll_predictor.store.upsert import upsert
from plimsoll_predictor.task import TaskId

KEPT_S: Final = 7 * 24 * 3600.0
"""A run whose next attempt did not come for so long is taken for given up."""
KEPT_PER_TASK: Final = 1000
"""The newest; the feed carries them all."""


def put(connection: sa.Connection, task: TaskId, run: str, lift: Lift, now_s: float) -> None:
    """Set a run's lift, replacing an earlier one."""
    row = {
        "task": str(task),
        "run": run,
        "allocation_bytes": lift.allocation_bytes,
        "attempt": lift.attempt,
        "after_bytes": lift.after_bytes,
        "put_s": now_s,
    }
    upsert(connection, table, [row])


def close(connection: sa.Connection, task: TaskId, run: str) -> None:
    """Forget a run's lift: the run succeeded, or was given up."""
    connection.execute(table.delete().where((table.c.task == str(task)) & (table.c.run == run)))


def read(connection: sa.Connection, now_s: float) -> dict[TaskId, dict[str, Lift]]:
    """The newest lifts that have not expired, by task and run, oldest first."""
    found: dict[TaskId, dict[str, Lift]] = {}
    order = (table.c.put_s, table.c.task, table.c.run)
    young = sa.select(table).where(table.c.put_s >= now_s - KEPT_S).order_by(*order)
    for row in connection.execute(young):
        lifts = found.setdefault(TaskId.parse(row.task), {})
        lifts[row.run] = Lift(row.allocation_bytes, row.attempt, row.after_bytes)
        if len(lifts) > KEPT_PER_TASK:
            del lifts[next(iter(lifts))]
    return found
