"""Deletes old rows, so that a store stays within bounds whatever is sent to it."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from plimsoll_predictor.core.task import TaskId, namespace_of
from plimsoll_predictor.core.units import DAY_S
from plimsoll_predictor.runtimes.forecasting.settings import MAX_OPEN_S
from plimsoll_predictor.store.attempts import (
    decisions,
    leased_jobs,
    lifts,
    observations,
    totals,
)
from plimsoll_predictor.store.database import schema
from plimsoll_predictor.store.database.database import Database
from plimsoll_predictor.store.database.deleting import ROWS_AT_ONCE, delete_all
from plimsoll_predictor.store.database.errors import StoreError
from plimsoll_predictor.store.forgetting import ENDS, KEPT_PER_TASK, Forgetting, last_s
from plimsoll_predictor.store.learned import campaigns, runtimes, standings, trainings

log: Final = logging.getLogger(__name__)

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The bounds of what is stored. rows: deleted in one transaction, at most."""

    per_task: int = KEPT_PER_TASK
    tasks: int = KEPT_TASKS
    rows: int = ROWS_AT_ONCE


def steps(
    database: Database, now_s: float, bounds: Bounds, noticed: int, halves: set[str]
) -> Iterator[int]:
    """Delete what is over the bounds of rows per task, tasks, and age, a little at a time.

    Each step is one short transaction, so that a writer waits for one of them and not for all. It
    gives the number of rows deleted. To stop between two steps is harmless.

    noticed: the serial of the last mark that the controller has noticed; later ones stay.
    halves: tasks that may be half forgotten; they are added up anew, and the set is kept up to
    date. It is for the next pruning.

    If the database cannot do one kind of work now, the others are done all the same; that one is
    left to the next time. It is not tried again: a writer that does so waits while it fails.
    """
    for work in _works(_Pruning(database, bounds, halves), now_s, noticed):
        try:
            yield from work
        except StoreError as error:
            log.warning("some of what is old is not deleted this time: %s", error)
            yield 0


def _works(prune: _Pruning, now_s: float, noticed: int) -> Iterator[Iterator[int]]:
    yield prune.forget_tasks(now_s)
    yield prune.forget_marks(noticed)
    yield prune.forget_pools()
    yield prune.forget_campaigns(now_s)
    yield prune.forget_attempts()
    yield prune.newest_only(schema.decisions, "at_s", decisions.DECISIONS_KEPT)
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


def quiet_tasks(database: Database, now_s: float) -> list[str]:
    """Tasks that have been quiet for so long that the next pruning forgets them."""
    return list(_quiet(database, now_s))


def _quiet(database: Database, now_s: float) -> dict[str, float | None]:
    return _ends(database, ENDS.where(last_s() < now_s - QUIET_TASKS_KEPT_S))


def _ends(database: Database, select: sa.Select[Any]) -> dict[str, float | None]:
    """When the newest attempt of each of these tasks ended; None if it has none."""
    return {row.task: row.last_s for row in database.rows(select)}


@dataclass(frozen=True, slots=True)
class _Pruning:
    database: Database
    bounds: Bounds
    halves: set[str]

    def delete(self, table: sa.Table, condition: sa.ColumnElement[bool]) -> Iterator[int]:
        """Delete rows until none is left."""
        return delete_all(self.database, table, condition, self.bounds.rows)

    def forget_tasks(self, now_s: float) -> Iterator[int]:
        ends, rows = self._old_tasks(now_s), self.bounds.rows
        names = list(ends)
        for start in range(0, len(names), rows):
            forgetting = Forgetting(self.database, rows, ends_s=ends, halves=self.halves)
            yield from forgetting.steps(names[start : start + rows])

    def forget_marks(self, noticed: int) -> Iterator[int]:
        """Delete the noticed marks of tasks that are gone, except for the newest: serials go on.

        By a mark that it has not noticed yet, the controller is still to forget the task.
        """
        column = schema.imports.c
        newest = sa.select(sa.func.max(column.serial)).scalar_subquery()
        known = sa.select(schema.totals.c.task)
        done = (column.serial <= noticed) & (column.serial < newest)
        yield from self.delete(schema.imports, column.task.not_in(known) & done)

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
        living = {namespace_of(task) for task in tasks}
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
        """Delete the oldest attempts of tasks with too many, then add up what is left.

        Adding up is a pass over all that is left, so it is done once. Until then the totals count
        too many, so that after an interruption the next pruning finds the task again. What is left
        of tasks that are half forgotten is added up likewise, within the same bounds; a controller
        that has learned from too many is told by a mark.
        """
        table, keep, column = schema.observations, self.bounds.per_task, schema.totals.c
        known = self.database.rows(sa.select(column.task, column.observations))
        # A task without totals has no attempts either: its forgetting came to its end.
        self.halves.intersection_update([row.task for row in known])
        over = [row.task for row in known if row.observations > keep or row.task in self.halves]
        for task in over:
            old = self._older(table, "ordered_s", task, keep)
            if old is not None:
                yield from self.delete(table, (table.c.task == task) & old)
            with self.database.write() as connection:
                totals.add_up(connection, [task])
                if task in self.halves:
                    observations.mark(connection, [TaskId.parse(task)])
            self.halves.discard(task)
            yield 0

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

    def _old_tasks(self, now_s: float) -> dict[str, float | None]:
        """Tasks that have been quiet for long, and those that are too many.

        The latter are first those of the namespaces with the most: a namespace that makes task
        after task must not push out the tasks of others.
        """
        quiet = _quiet(self.database, now_s)
        count = sa.select(sa.func.count()).select_from(schema.totals)
        if self.database.value(count) - len(quiet) <= self.bounds.tasks:
            return quiet
        by_end = ENDS.order_by(sa.desc("last_s").nulls_last(), schema.totals.c.task)
        latest_first = _ends(self.database, by_end)
        beyond = _beyond(list(latest_first), self.bounds.tasks, frozenset(quiet))
        return {**quiet, **{task: latest_first[task] for task in beyond}}


def _beyond(latest_first: Sequence[str], keep: int, forgotten: frozenset[str]) -> list[str]:
    """Tasks that are over ``keep``; the latest of each namespace stay, in turn."""
    places: Counter[str] = Counter()
    ranked: list[tuple[int, str]] = []
    for task in latest_first:
        if task not in forgotten:
            namespace = namespace_of(task)
            ranked.append((places[namespace], task))
            places[namespace] += 1
    ranked.sort(key=lambda each: each[0])  # stable: at one place, the latest first
    return [task for _, task in ranked[keep:]]
