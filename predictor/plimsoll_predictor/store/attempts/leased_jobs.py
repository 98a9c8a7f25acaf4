"""Leased Jobs: the record of each while it runs, and what it taught about its task."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final

import orjson
import sqlalchemy as sa

from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import DAY_S
from plimsoll_predictor.store.database.database import Records
from plimsoll_predictor.store.database.schema import leased_jobs, leased_tasks
from plimsoll_predictor.store.database.upsert import upsert

log: Final = logging.getLogger(__name__)

KEPT_S: Final = 400 * DAY_S
"""A record that nobody wrote for so long belongs to a Job whose end was never seen."""
MOST_TASKS: Final = 1_000
"""The most tasks whose lessons are read at once: the newest."""

Document = Mapping[str, Any]


class LeasedJobRecords(Records):
    """The part of the store for leased Jobs; errors as in ``Store``.

    job: its namespace, name and uid, with slashes between them.
    """

    def put(self, job: str, document: Document) -> None:
        """Keep a Job's record in place of the one before."""
        row = {"job": job, "document": orjson.dumps(document).decode(), "put_s": self._clock()}
        with self._database.write() as connection:
            upsert(connection, leased_jobs, [row])

    def get(self, job: str) -> object | None:
        """Return a Job's record; None if there is none."""
        return self._read(sa.select(leased_jobs.c.document).where(leased_jobs.c.job == job))

    def open(self) -> list[str]:
        """Return the Jobs that have a record."""
        rows = self._database.rows(sa.select(leased_jobs.c.job).order_by(leased_jobs.c.job))
        return [row.job for row in rows]

    def close(self, job: str, task: TaskId, taught: Document | None) -> None:
        """Forget a Job's record, and keep what it taught; None where it taught nothing."""
        with self._database.write() as connection:
            connection.execute(leased_jobs.delete().where(leased_jobs.c.job == job))
            if taught is not None:
                text = orjson.dumps(taught).decode()
                row = {"task": str(task), "document": text, "put_s": self._clock()}
                upsert(connection, leased_tasks, [row])

    def close_with(
        self, job: str, task: TaskId, taught: Callable[[object | None], Document]
    ) -> object | None:
        """Forget a Job's record, and add what it taught; return what is kept of its task.

        taught: returns what is to be kept; it gets what is kept now, None if nothing is. A Job that
        has no record was closed before, and adds nothing.
        """
        of_task = sa.select(leased_tasks.c.document).where(leased_tasks.c.task == str(task))
        with self._database.write() as connection:
            gone = connection.execute(leased_jobs.delete().where(leased_jobs.c.job == job))
            text = connection.execute(of_task).scalar()
            known = None if text is None else _document(text)
            if not gone.rowcount:
                return known
            document = taught(known)
            row = {
                "task": str(task),
                "document": orjson.dumps(document).decode(),
                "put_s": self._clock(),
            }
            upsert(connection, leased_tasks, [row])
        return document

    def taught(self, task: TaskId) -> object | None:
        """Return what the task's last leased Job taught; None if there was none."""
        return self._read(
            sa.select(leased_tasks.c.document).where(leased_tasks.c.task == str(task))
        )

    def newest_taught(self) -> list[tuple[TaskId, object]]:
        """Return what the newest ``MOST_TASKS`` tasks were taught, the oldest first."""
        newest = sa.select(leased_tasks).order_by(leased_tasks.c.put_s.desc()).limit(MOST_TASKS)
        rows = reversed(self._database.rows(newest))
        return [(TaskId.parse(row.task), _document(row.document)) for row in rows]

    def _read(self, asked: sa.Select[tuple[str]]) -> object | None:
        """Return a document; None if there is none, or nobody can read it."""
        for row in self._database.rows(asked):
            return _document(row.document)
        return None


def _document(text: str) -> object | None:
    """Return a document; None if nobody can read it."""
    try:
        found: object = orjson.loads(text)
    except ValueError as error:
        log.error("the record of a leased Job cannot be read: %s", error)
        return None
    return found
