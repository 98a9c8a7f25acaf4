"""Deletes old rows, so that a store stays within bounds whatever is sent to it."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import DAY_S
from plimsoll_predictor.runtimes.forecasting.settings import MAX_OPEN_S
from plimsoll_predictor.store.attempts import (
    decisions,
    leased_jobs,
    lessons,
    lifts,
    observation_rows,
    totals,
)
from plimsoll_predictor.store.database import schema
from plimsoll_predictor.store.database.database import Database
from plimsoll_predictor.store.database.errors import StoreError
from plimsoll_predictor.store.learned import campaigns, runtimes, standings, trainings

log: Final = logging.getLogger(__name__)

KEPT_PER_TASK: Final = 20_000
ROWS_AT_ONCE: Final = 1_000
KEPT_TASKS: Final = 10_000
"""The most tasks; in each namespace those that ended longest ago are forgotten first."""
QUIET_TASKS_KEPT_S: Final = 400 * DAY_S
"""A task that runs once a year is remembered."""
_PEAKS_KEPT_S: Final = DAY_S
"""An attempt is observed soon after its report. Those of all pods are kept, also of no task."""
_LAST_WRITES_KEPT_S: Final = DAY_S
"""Far longer than anybody asks whether a commit went through."""
_CLOSED_RETRIES_KEPT_S: Final = 90 * DAY_S
"""Longer than a finished pod is left in the cluster: its retry must not be planned again."""

_OF_A_TASK: Final = (
    schema.observations,
    schema.trainings,
    schema.due_trainings,
    schema.lifts,
    schema.decisions,
    schema.standings,
    schema.leased_tasks,
)
_OF_A_TASK_NOT_INDEXED: Final = (
    schema.bids,
    schema.lessons,
    schema.sightings,
    schema.kept_forecasts,
)
"""No index leads to a task's rows in these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The bounds of what is stored. rows: deleted in one transaction, at most."""

    per_task: int = KEPT_PER_TASK
    tasks: int = KEPT_TASKS
    rows: int = ROWS_AT_ONCE


def steps(database: Database, now_s: float, bounds: Bounds) -> Iterator[int]:
    """Delete what is over the bounds of rows per task, tasks, and age, a little at a time.

    Each step is one short transaction, so that a writer waits for one of them and not for all. It
    gives the number of rows deleted. To stop between two steps is harmless.

    If the database cannot do one kind of work now, the others are done all the same; that one is
    left to the next time. It is not tried again: a writer that does so waits while it fails.
    """
    for work in _works(_Pruning(database, bounds), now_s):
        try:
            yield from work
        except StoreError as error:
            log.warning("some of what is old is not deleted this time: %s", error)
            yield 0


def _works(prune: _Pruning, now_s: float) -> Iterator[Iterator[int]]:
    yield prune.forget_tasks(now_s)
    yield prune.forget_marks()
    yield prune.forget_pools()
    yield prune.forget_campaigns(now_s)
    yield prune.forget_attempts()
    yield prune.newest_only(schema.decisions, "at_s", decisions.KEPT_PER_TASK)
    yield prune.forget_decisions(now_s)
    yield prune.newest_only(schema.lifts, "put_s", lifts.KEPT_PER_TASK)
    yield prune.delete(schema.trainings, trainings.unknown(now_s))
    for column, kept_s in (
        (schema.lifts.c.put_s, lifts.KEPT_S),
        (schema.leased_jobs.c.put_s, leased_jobs.KEPT_S),
        (schema.peaks.c.put_s, _PEAKS_KEPT_S),
        (schema.bids.c.put_s, standings.BIDS_KEPT_S),
        (schema.kept_forecasts.c.put_s, MAX_OPEN_S),
        (schema.retries.c.closed_s, _CLOSED_RETRIES_KEPT_S),
        (schema.last_writes.c.put_s, _LAST_WRITES_KEPT_S),
    ):
        yield prune.delete(column.table, column < now_s - kept_s)


def erase(database: Database, task: TaskId) -> int:
    """Delete all rows of a task, a little at a time; return how many there were."""
    return sum(_Pruning(database, Bounds()).forget([str(task)]))


def unlearn(database: Database, task: TaskId, now_s: float, rows: int = ROWS_AT_ONCE) -> None:
    """Delete what is learned of a task; its attempts stay and teach anew. rows: as in Bounds.

    Each step is one short transaction. Its mark stays until all is done. So after an interruption
    all of it is done again; also if an import, or people, have marked the task once more meanwhile.
    """
    name, mark = str(task), schema.imports
    marked = sa.select(mark.c.serial).where(mark.c.task == name)
    for _ in _Pruning(database, Bounds(rows=rows)).delete(
        schema.lessons, schema.lessons.c.task == name
    ):
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


def quiet_tasks(database: Database, now_s: float) -> list[str]:
    """Tasks that have been quiet for so long that the next pruning forgets them."""
    # An index leads to each task's newest row; a pass over all rows would take too long.
    return database.values(sa.select(_TASK).where(_last_s() < now_s - QUIET_TASKS_KEPT_S))


_TASK: Final = schema.totals.c.task


def _last_s() -> sa.ScalarSelect[float]:
    """When the newest attempt of a task ended."""
    column = schema.observations.c
    last_s = sa.select(sa.func.max(column.ordered_s)).where(column.task == _TASK)
    return last_s.scalar_subquery()


@dataclass(frozen=True, slots=True)
class _Pruning:
    database: Database
    bounds: Bounds

    def delete(
        self, table: sa.Table, condition: sa.ColumnElement[bool], *, adds_up: str | None = None
    ) -> Iterator[int]:
        """Delete rows until none is left. adds_up: the task whose totals they are part of."""
        keys = list(table.primary_key)
        some = sa.select(*keys).where(condition).limit(self.bounds.rows)
        deleted = self.bounds.rows
        while deleted >= self.bounds.rows:
            with self.database.write() as connection:
                result = connection.execute(table.delete().where(sa.tuple_(*keys).in_(some)))
                deleted = result.rowcount
                if deleted and adds_up is not None:
                    totals.add_up(connection, [adds_up])
            if deleted:
                yield deleted

    def forget_tasks(self, now_s: float) -> Iterator[int]:
        old = self._old_tasks(now_s)
        for start in range(0, len(old), self.bounds.rows):
            some = old[start : start + self.bounds.rows]
            yield from self.forget(some)
            yield from self.delete(schema.imports, schema.imports.c.task.in_(some))

    def forget(self, names: Sequence[str]) -> Iterator[int]:
        """Delete all rows of these tasks."""
        for table in _OF_A_TASK_NOT_INDEXED:
            # One pass over the table, however many tasks they are.
            yield from self.delete(table, table.c.task.in_(names))
        for name in names:
            yield from self._forget_indexed(name)

    def _forget_indexed(self, name: str) -> Iterator[int]:
        for table in _OF_A_TASK:
            adds_up = name if table is schema.observations else None
            yield from self.delete(table, table.c.task == name, adds_up=adds_up)
        key = f"{runtimes.TASK}{name}"
        yield from self.delete(schema.forecaster, schema.forecaster.c.key == key)

    def forget_marks(self) -> Iterator[int]:
        """Delete the marks of tasks that are gone, except for the newest: serials go on."""
        column = schema.imports.c
        newest = sa.select(sa.func.max(column.serial)).scalar_subquery()
        known = sa.select(schema.totals.c.task)
        yield from self.delete(schema.imports, column.task.not_in(known) & (column.serial < newest))

    def forget_pools(self) -> Iterator[int]:
        """Delete what the tasks of a namespace shared, once the namespace has none."""
        standing, forecast = schema.standings.c.task, schema.forecaster.c.key
        # They are read before the tasks: whatever is seen here had its task before.
        shared = [
            (column, key, key.removeprefix(runtimes.OWNER).removesuffix("/"))
            for column, condition in (
                (standing, standing.endswith("/")),
                (forecast, forecast.startswith(runtimes.OWNER)),
            )
            for key in self.database.values(sa.select(column).where(condition))
        ]
        tasks = self.database.values(sa.select(schema.totals.c.task))
        living = {task.partition("/")[0] for task in tasks}
        for column, key, namespace in shared:
            if namespace not in living:
                yield from self.delete(column.table, column == key)

    def forget_campaigns(self, now_s: float) -> Iterator[int]:
        """Delete campaigns that ended long ago: their runs first, found by their campaign."""
        column, run = schema.campaigns.c, schema.campaign_runs
        old = column.ended_s < now_s - campaigns.KEPT_S
        uids = sa.select(column.uid).where(old)
        yield from self.delete(run, run.c.campaign.in_(uids))
        yield from self.delete(schema.campaigns, old)

    def forget_decisions(self, now_s: float) -> Iterator[int]:
        """Delete old decisions of tasks of which no attempt was ever observed.

        Such a task's pods went before they started. Nothing else would forget it.
        """
        column = schema.decisions.c
        old = column.at_s < now_s - decisions.UNKNOWN_TASKS_KEPT_S
        unknown = column.task.not_in(sa.select(schema.totals.c.task))
        # An index has both columns, and no writer waits for a read.
        some = sa.select(column.task).distinct().where(old & unknown).limit(self.bounds.rows)
        while tasks := self.database.values(some):
            yield from self.delete(schema.decisions, column.task.in_(tasks) & old)

    def forget_attempts(self) -> Iterator[int]:
        column, keep = schema.observations.c, self.bounds.per_task
        over = sa.select(schema.totals.c.task).where(schema.totals.c.observations > keep)
        for task in self.database.values(over):
            old = self._older(schema.observations, "ordered_s", task, keep)
            if old is not None:
                yield from self.delete(
                    schema.observations, (column.task == task) & old, adds_up=task
                )

    def newest_only(self, table: sa.Table, order: str, keep: int) -> Iterator[int]:
        over = sa.select(table.c.task).group_by(table.c.task).having(sa.func.count() > keep)
        for task in self.database.values(over):
            old = self._older(table, order, task, keep)
            if old is not None:
                yield from self.delete(table, (table.c.task == task) & old)

    def _older(
        self, table: sa.Table, order: str, task: str, keep: int
    ) -> sa.ColumnElement[bool] | None:
        """The condition for rows older than a task's newest ``keep``; None if there are none."""
        key, when = list(table.primary_key)[-1], table.c[order]
        newest = sa.select(when, key).where(table.c.task == task)
        newest_first = newest.order_by(when.desc(), key.desc())
        first: Any = self.database.row(newest_first.offset(keep).limit(1))
        if first is None:
            return None
        at, last = first
        return sa.or_(when < at, sa.and_(when == at, key <= last))

    def _old_tasks(self, now_s: float) -> list[str]:
        """Tasks that have been quiet for long, and those that are too many.

        The latter are first those of the namespaces with the most: a namespace that makes task
        after task must not push out the tasks of others.
        """
        quiet = quiet_tasks(self.database, now_s)
        count = sa.select(sa.func.count()).select_from(schema.totals)
        if self.database.value(count) - len(quiet) <= self.bounds.tasks:
            return quiet
        by_end = sa.select(_TASK).order_by(_last_s().desc().nulls_last(), _TASK)
        latest_first = self.database.values(by_end)
        return [*quiet, *_beyond(latest_first, self.bounds.tasks, frozenset(quiet))]


def _beyond(latest_first: Sequence[str], keep: int, forgotten: frozenset[str]) -> list[str]:
    """Tasks that are over ``keep``; the latest of each namespace stay, in turn."""
    places: Counter[str] = Counter()
    ranked: list[tuple[int, str]] = []
    for task in latest_first:
        if task not in forgotten:
            namespace = task.partition("/")[0]
            ranked.append((places[namespace], task))
            places[namespace] += 1
    ranked.sort(key=lambda each: each[0])  # stable: at one place, the latest first
    return [task for _, task in ranked[keep:]]
