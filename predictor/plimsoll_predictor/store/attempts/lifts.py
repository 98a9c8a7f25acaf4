"""Lifts that wait for their run's next attempt.

``put_s`` is the time of the run's latest kill: a pod made before it cannot have used the lift.
"""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

from plimsoll_predictor.core.bounded_text import MOST_RUN_BYTES, bounded
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import DAY_S
from plimsoll_predictor.knowledge.knowledge import Lift
from plimsoll_predictor.store.database.database import Records
from plimsoll_predictor.store.database.schema import lifts as table
from plimsoll_predictor.store.database.upsert import upsert

KEPT_S: Final = 7 * DAY_S
"""A run whose next attempt did not come for so long counts as given up."""
KEPT_PER_TASK: Final = 1000
"""The most per task, the newest; the feed carries them all."""
KEPT_IN_ALL: Final = 10_000
"""The most of all tasks: the feed carries them, and every replica of admission holds them."""


class LiftRecords(Records):
    """The part of the store that lifts wait in; errors as in ``Store``."""

    def put(self, task: TaskId, run: str, lift: Lift) -> None:
        """Set what a run's next attempt gets, replacing an earlier lift.

        If the kill has no time, or a future one, it counts as of now.
        """
        now_s = self._clock()
        row = {
            "task": str(task),
            "run": run,
            "put_s": now_s if lift.killed_s is None else min(now_s, lift.killed_s),
            "allocation_bytes": lift.allocation_bytes,
            "attempt": lift.attempt,
            "after_bytes": lift.after_bytes,
            "as_written": lift.written,
        }
        with self._database.write() as connection:
            upsert(connection, table, [row])

    def close(self, task: TaskId, run: str, killed_s: float | None = None) -> None:
        """Forget a run's lift: the run succeeded, or was given up.

        killed_s: the kill that it was made for; a lift of a later one stays. None forgets any.
        """
        mine = (table.c.task == str(task)) & (table.c.run == run)
        if killed_s is not None:
            mine &= table.c.put_s <= killed_s
        self._database.execute(table.delete().where(mine))

    def forget(self, task: TaskId, run: str, lift: Lift) -> None:
        """Forget this lift of a run, but not a later one."""
        column = table.c
        same = (column.attempt == lift.attempt) & (column.allocation_bytes == lift.allocation_bytes)
        mine = (column.task == str(task)) & (column.run == run) & same
        self._database.execute(table.delete().where(mine))

    def waiting(self) -> dict[TaskId, dict[str, Lift]]:
        """The lifts of the last seven days, by task and run, oldest first; bounded per task."""
        return self._waiting(sa.true())

    def of_task(self, task: TaskId) -> dict[str, Lift]:
        """The same for one task; empty if none waits."""
        return self._waiting(table.c.task == str(task)).get(task, {})

    def _waiting(self, which: sa.ColumnElement[bool]) -> dict[TaskId, dict[str, Lift]]:
        by_task: dict[TaskId, dict[str, Lift]] = {}
        order = (table.c.put_s, table.c.task, table.c.run)
        young = sa.select(table).where(which, table.c.put_s >= self._clock() - KEPT_S)
        for row in self._database.rows(young.order_by(*order)):
            lifts = by_task.setdefault(TaskId.parse(row.task), {})
            # An older version stored keys of any length.
            lifts[bounded(row.run, MOST_RUN_BYTES)] = Lift(
                row.allocation_bytes,
                row.attempt,
                row.after_bytes,
                killed_s=row.put_s,
            ).with_written(row.as_written or 0)
            if len(lifts) > KEPT_PER_TASK:
                del lifts[next(iter(lifts))]
        return by_task
