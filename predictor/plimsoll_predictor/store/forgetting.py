"""Forgets whole tasks, and what was learned of them, a little at a time.

A task's attempts go last, and its totals with the last of them: by the totals tasks are found. So
after an interruption the task is found again, and the rest goes the next time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import sqlalchemy as sa

from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store.attempts import lessons, observation_rows, observations
from plimsoll_predictor.store.database import schema
from plimsoll_predictor.store.database.database import Database
from plimsoll_predictor.store.database.deleting import ROWS_AT_ONCE, delete_all, delete_some
from plimsoll_predictor.store.learned import runtimes

KEPT_PER_TASK: Final = 20_000

_NOT_INDEXED: Final = (
    schema.bids,
    schema.lessons,
    schema.sightings,
    schema.kept_forecasts,
)
"""No index leads to a task's rows in these."""
_INDEXED: Final = (
    schema.trainings,
    schema.due_trainings,
    schema.lifts,
    schema.decisions,
    schema.standings,
    schema.leased_tasks,
)


def erase(database: Database, task: TaskId) -> int:
    """Delete all rows of a task, a little at a time; return how many there were."""
    return sum(Forgetting(database, ROWS_AT_ONCE).steps([str(task)]))


def forget(database: Database, task: TaskId) -> int:
    """Erase a task and leave the mark by which a controller forgets it; return as ``erase``.

    The mark is written first: a controller is told also if this is interrupted. It is written again
    with the last rows: a controller may have learned from what was left until then.
    """

    def mark(connection: sa.Connection) -> None:
        observations.mark(connection, [task], forgotten=1)

    with database.write() as connection:
        mark(connection)
    return sum(Forgetting(database, ROWS_AT_ONCE, at_last=mark).steps([str(task)]))


def unlearn(database: Database, task: TaskId, now_s: float, rows: int = ROWS_AT_ONCE) -> None:
    """Delete what is learned of a task; its attempts stay and teach anew. rows: in a transaction.

    Each step is one short transaction. Its mark stays until all is done. So after an interruption
    all of it is done again; also if an import, or people, have marked the task once more meanwhile.
    """
    name, mark = str(task), schema.imports
    marked = sa.select(mark.c.serial).where(mark.c.task == name)
    for _ in delete_all(database, schema.lessons, schema.lessons.c.task == name, rows):
        continue
    with database.write() as connection:
        serial = connection.execute(marked).scalar()
        for table in (schema.trainings, schema.standings, schema.lessons):
            connection.execute(table.delete().where(table.c.task == name))
        forecaster = schema.forecaster
        connection.execute(forecaster.delete().where(forecaster.c.key == f"{runtimes.TASK}{name}"))
    with database.read() as connection:
        taught = observation_rows.lessons_anew(connection, task, KEPT_PER_TASK, now_s)
    for at in range(0, len(taught), rows):
        with database.write() as connection:
            if connection.execute(marked).scalar() != serial:
                return
            lessons.append(connection, taught[at : at + rows])
    noticed = mark.update().where((mark.c.task == name) & (mark.c.serial == serial))
    database.execute(noticed.values(forgotten=None))


def last_s() -> sa.ScalarSelect[float]:
    """When the newest attempt of a task with totals ended; an index leads there."""
    column, task = schema.observations.c, schema.totals.c.task
    return sa.select(sa.func.max(column.ordered_s)).where(column.task == task).scalar_subquery()


ENDS: Final = sa.select(schema.totals.c.task, last_s().label("last_s"))
"""Tasks, with when the newest attempt of each ended; None if it has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """What one transaction deletes of some tasks. prefix: before their names in the column."""

    column: sa.Column[str]
    names: Sequence[str]
    prefix: str = ""


@dataclass(frozen=True, slots=True)
class Forgetting:
    """Deletes all rows of tasks. rows: as in ``delete_all``.

    ends_s: when the newest attempt of each task ended, None if it has none; a task of which a later
    attempt ends is left alone from then on. None to delete whatever comes. at_last: done in the
    transaction of each task's last rows. halves: tasks of which some attempts are deleted, and not
    all; it is kept up to date. Their totals count too many.
    """

    database: Database
    rows: int
    ends_s: Mapping[str, float | None] | None = None
    at_last: Callable[[sa.Connection], None] | None = None
    halves: set[str] = field(default_factory=set)

    def steps(self, names: Sequence[str]) -> Iterator[int]:
        """Go through the steps; each is one short transaction, and gives its number of rows."""
        for table in _NOT_INDEXED:
            # One pass over the table, however many tasks they are.
            yield from self._delete(_Step(column=table.c.task, names=names))
        key = schema.forecaster.c.key
        for name in names:
            for table in _INDEXED:
                yield from self._delete(_Step(column=table.c.task, names=[name]))
            yield from self._delete(_Step(column=key, names=[name], prefix=runtimes.TASK))
            yield from self._delete_attempts(name)

    def _delete(self, step: _Step) -> Iterator[int]:
        deleted = self.rows
        while deleted >= self.rows:
            with self.database.write() as connection:
                going = self._going(connection, step.names)
                mine = step.column.in_([f"{step.prefix}{name}" for name in going])
                deleted = delete_some(connection, step.column.table, mine, self.rows)
            if deleted:
                yield deleted

    def _delete_attempts(self, name: str) -> Iterator[int]:
        table = schema.observations
        deleted = self.rows
        while deleted >= self.rows:
            with self.database.write() as connection:
                if not self._going(connection, [name]):
                    return
                # Noted first: a transaction that fails may have been kept all the same.
                self.halves.add(name)
                deleted = delete_some(connection, table, table.c.task == name, self.rows)
                if deleted < self.rows:
                    self._finish(connection, name)
            if deleted < self.rows:
                self.halves.discard(name)
            if deleted:
                yield deleted

    def _finish(self, connection: sa.Connection, name: str) -> None:
        table = schema.totals
        connection.execute(table.delete().where(table.c.task == name))
        if self.at_last is not None:
            self.at_last(connection)

    def _going(self, connection: sa.Connection, names: Sequence[str]) -> Collection[str]:
        """Those of the tasks that are still to be forgotten, as far as this transaction sees."""
        if self.ends_s is None:
            return names
        ends = connection.execute(ENDS.where(schema.totals.c.task.in_(names)))
        return [row.task for row in ends if not self._ran_again(row.task, row.last_s)]

    def _ran_again(self, name: str, last_s: float | None) -> bool:
        known_s = (self.ends_s or {})[name]
        return last_s is not None and (known_s is None or last_s > known_s)
