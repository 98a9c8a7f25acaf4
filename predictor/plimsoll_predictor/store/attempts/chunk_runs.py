"""Pods that each did one chunk of a Job, which splitting learns from."""

from __future__ import annotations

import logging
from typing import Any, Final

import orjson
import sqlalchemy as sa

from plimsoll_predictor.core.record import Outcome
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.splitting.chunk_runs import KEPT, ChunkRun
from plimsoll_predictor.store.database.database import Records
from plimsoll_predictor.store.database.schema import observations as table

log: Final = logging.getLogger(__name__)

LOOKED_AT: Final = 50_000
"""The newest observations, in which tasks are looked for."""
LOOKED_AT_OF_TASK: Final = 4
"""So many attempts of a task are looked at for each chunk that is asked for."""
MOST_TASKS: Final = 1_000
_READ: Final = tuple(
    table.c[name]
    for name in (
        *("attempt_uid", "run", "features", "outcome", "submitted_s", "started_s", "finished_s"),
        *("peak_bytes", "allocation_bytes", "written_limit_bytes", "ordered_s", "id"),
    )
)


class ChunkRunRecords(Records):
    """The part of the store that splitting learns from; errors as in ``Store``."""

    def tasks(self, feature: str) -> list[TaskId]:
        """Return the tasks that did chunks lately. feature: the one with an attempt's items.

        Cost: a pass over the newest ``LOOKED_AT`` observations.
        """
        # Apart from the groups: for their sake, SQLite would read the whole index of tasks.
        lately = sa.select(table.c.id, table.c.task, table.c.features).order_by(table.c.id.desc())
        column = lately.limit(LOOKED_AT).subquery().c
        found = sa.select(column.task, sa.func.max(column.id).label("newest"))
        found = found.where(_has(feature, column.features)).group_by(column.task)
        found = found.order_by(sa.text("newest DESC")).limit(MOST_TASKS)
        return [task for row in self._database.rows(found) if (task := _task(row.task)) is not None]

    def of_task(self, task: TaskId, feature: str, limit: int = KEPT) -> list[ChunkRun]:
        """Return the task's newest chunks, oldest first, however they ended.

        Cost: a pass over ``LOOKED_AT_OF_TASK`` × limit attempts of the task at most.
        """
        newest = sa.select(*_READ).where(table.c.task == str(task))
        newest = newest.order_by(table.c.ordered_s.desc(), table.c.id.desc())
        lately = newest.limit(LOOKED_AT_OF_TASK * limit).subquery()
        mine = sa.select(lately).where(_has(feature, lately.c.features))
        mine = mine.order_by(lately.c.ordered_s.desc(), lately.c.id.desc()).limit(limit)
        found = [_chunk_run(row, feature) for row in self._database.rows(mine)]
        return [each for each in reversed(found) if each is not None]


def _task(name: str) -> TaskId | None:
    try:
        return TaskId.parse(name)
    except ValueError as error:
        log.error("a task with chunks cannot be read: %s", error)
        return None


def _has(feature: str, features: sa.ColumnElement[str]) -> sa.ColumnElement[bool]:
    return features.contains(f'"{feature}":', autoescape=True)


def _chunk_run(row: sa.Row[Any], feature: str) -> ChunkRun | None:
    """Return what a row says; None if it says nothing, or cannot be read."""
    try:
        items = int(orjson.loads(row.features)[feature])
        limit = row.written_limit_bytes or row.allocation_bytes
        told = {"run": row.run, "ended_s": row.finished_s, "limit_bytes": limit}
        if row.outcome == Outcome.OOM_KILLED.value and row.allocation_bytes:
            return ChunkRun(items, killed_bytes=row.allocation_bytes, **told)
        if row.outcome != Outcome.SUCCEEDED.value:
            return ChunkRun(items, failed=True, **told)
        started_s, finished_s = row.started_s, row.finished_s
        if started_s is None or finished_s is None or finished_s < started_s:
            return None
        waited_s = None if row.submitted_s is None else max(0.0, started_s - row.submitted_s)
        return ChunkRun(items, finished_s - started_s, waited_s, row.peak_bytes, **told)
    except (KeyError, OverflowError, TypeError, ValueError) as error:
        log.error("the chunk of %s cannot be read: %s", row.attempt_uid, error)
        return None
