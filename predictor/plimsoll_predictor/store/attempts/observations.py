"""Observations, as others read and write them; observation_rows.py has the statements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import sqlalchemy as sa

from plimsoll_predictor.core.bounded_text import MOST_RUN_BYTES, bounded
from plimsoll_predictor.core.cpu import RunCpu
from plimsoll_predictor.core.item_needs import MOST_EARLIER
from plimsoll_predictor.core.record import Cause, Observation, Outcome, PeakSource
from plimsoll_predictor.core.task import TaskId, namespace_of
from plimsoll_predictor.store.attempts import executions, observation_rows, totals
from plimsoll_predictor.store.attempts.observation_rows import Recorded
from plimsoll_predictor.store.database.database import Records
from plimsoll_predictor.store.database.schema import imports
from plimsoll_predictor.store.database.schema import observations as table
from plimsoll_predictor.store.database.upsert import upsert

_MOST_CROWDING: Final = 20
"""The most namespaces that one query leaves out: a statement may not be arbitrarily long."""

_LOOKED_AT: Final = 8
"""So many observations with an item are looked at for each need that is asked for: if all are of
one namespace, or nobody measures, the needs would else be looked for in all that is stored."""


@dataclass(frozen=True, slots=True)
class Imported:
    """Tasks whose past changed. serial: ask again from here.

    forgotten: those of them that people forgot, though they may have a new past already.
    """

    serial: int
    tasks: tuple[TaskId, ...]
    forgotten: tuple[TaskId, ...] = ()


@dataclass(frozen=True, slots=True)
class ItemNeed:
    """The need of an attempt that succeeded, for an item. run: the workflow's; None if unknown."""

    task: TaskId
    run: str | None
    item: str
    need_bytes: int


class ObservationRecords(Records):
    """The part of the store that holds observations; errors as in ``Store``."""

    def record(self, new: Sequence[Observation]) -> Recorded:
        """Keep observations; returns what that changed.

        A repeated uid doubles nothing and amends its row: known values replace what is there, None
        replaces nothing. Task, run and attempt stay, and so do outcome and cause; but DELETED
        gives way to any end, and KILLED from outside to a kill at the limit.
        """
        with self._database.write() as connection:
            return observation_rows.record(connection, new, self._clock())

    def record_history(self, past: Sequence[Observation]) -> Counter[TaskId]:
        """As ``record``; returns how many attempts of each task were new.

        A running controller learns of it through ``imported``. Attempts that Plimsoll observed
        itself stay as they are. Runs that are much older than what is stored teach the experts
        nothing (outdated.py).
        """
        with self._database.write() as connection:
            theirs = _told_apart(connection, past)
            recorded = observation_rows.record(connection, theirs, self._clock(), history=True)
            mark(connection, {each.task for each in theirs})
        tasks = {each.attempt_uid: each.task for each in theirs}
        return Counter(tasks[uid] for uid in recorded.new)

    def observed_runs(self, past: Sequence[Observation]) -> frozenset[tuple[TaskId, str]]:
        """Those of the runs with an attempt that Plimsoll observed itself, with their tasks."""
        column = table.c
        ours = (
            sa.select(column.task, column.run)
            .where(column.task.in_({str(each.task) for each in past}))
            .where(column.run.in_({each.run for each in past}))
            .where(column.peak_source.is_distinct_from(PeakSource.IMPORTED.value))
        )
        rows = self._database.rows(ours.distinct())
        return frozenset((TaskId.parse(row.task), row.run) for row in rows)

    def imported(self, after: int) -> Imported:
        """Tasks given a past from outside, or forgotten, since ``after``: an earlier serial, or 0.

        A running controller asks for them, so that it need not look at all tasks.
        """
        later = sa.select(imports).where(imports.c.serial > after)
        rows = self._database.rows(later.order_by(imports.c.serial, imports.c.task))
        serial = max((row.serial for row in rows), default=after)
        forgotten = tuple(TaskId.parse(row.task) for row in rows if row.forgotten)
        return Imported(serial, tuple(TaskId.parse(row.task) for row in rows), forgotten)

    def of_task(self, task: TaskId, *, limit: int = 20_000) -> list[Observation]:
        """The latest ``limit`` attempts of a task, oldest first by their end."""
        with self._database.read() as connection:
            return observation_rows.read(connection, task, limit)

    def item_needs(self, *, limit: int = MOST_EARLIER) -> list[ItemNeed]:
        """The latest ``limit`` needs that are known for items of workflows, oldest first.

        They are found without reading whole observations. If namespaces with very many items leave
        no room, the items of the others are looked for once more.

        Cost: two passes over the newest ``_LOOKED_AT`` × limit observations with an item, at most.
        """
        with self._database.read() as connection:
            rows = _item_rows(connection, limit)
        return [
            ItemNeed(TaskId.parse(row.task), row.workflow_run, row.item, row.peak_bytes)
            for row in reversed(rows)
        ]

    def run_at_once(self, ended: Observation) -> str:
        """The run of an attempt whose siblings have its key, too; see ``executions``."""
        with self._database.read() as connection:
            return executions.at_once(connection, ended)

    def run_in_turn(self, ended: Observation) -> str:
        """The run of an attempt whose key other executions have later; see ``executions``."""
        ended_s = observation_rows.ordered_s(ended, self._clock())
        with self._database.read() as connection:
            return executions.in_turn(connection, ended, ended_s)

    def got_through(self, killed: Observation) -> bool:
        """Whether the run of a killed attempt succeeded after it.

        The success was a pod made after the kill, or a later attempt that was made and ended later:
        a node's clock and the API server's differ. A sibling's success (pods of one Job may share a
        run) says nothing about this attempt's work; neither does one before the run was cleared.
        """
        later = table.c.attempt > killed.attempt
        if killed.submitted_s is not None:
            made_s = table.c.submitted_s
            later &= made_s.is_(None) | (made_s >= killed.submitted_s)
        if killed.finished_s is not None:
            ended_s = table.c.finished_s
            later &= ended_s.is_(None) | (ended_s >= killed.finished_s)
            later |= table.c.submitted_s >= killed.finished_s
        success = sa.select(table.c.id).where(
            (table.c.task == str(killed.task))
            & (table.c.run == killed.run)
            & (table.c.outcome == Outcome.SUCCEEDED.value)
            & later
        )
        return self._database.row(success.limit(1)) is not None

    def never_tried(self, killed: Observation) -> int:
        """How many attempts of a killed one's run came before it and tried nothing.

        Their nodes refused them before a container started. Pods of one run may have the same
        number. It counts unless one of them was tried and came to nothing.
        """
        column = table.c
        of_run = (column.task == str(killed.task)) & (column.run == killed.run)
        never_started = column.cause == Cause.NEVER_STARTED.value
        if self._database.row(sa.select(column.id).where(of_run & never_started).limit(1)) is None:
            return 0  # thousands of a Job's pods may share a run; mostly, none was refused
        before = sa.select(column.attempt, column.cause, column.exit_code).where(
            of_run & (column.attempt < killed.attempt) & (column.outcome != Outcome.SUCCEEDED.value)
        )
        refused, tried = set[int](), set[int]()
        for row in self._database.rows(before.distinct()):
            if row.cause == Cause.NEVER_STARTED.value and row.exit_code is None:
                refused.add(row.attempt)
            else:
                tried.add(row.attempt)
        return len(refused - tried)

    def run_cpus(self, tasks: Sequence[TaskId]) -> dict[TaskId, list[RunCpu]]:
        """CPU of each task's newest runs that succeeded and were measured; at most WINDOW_RUNS."""
        with self._database.read() as connection:
            return {task: totals.run_cpus(connection, task) for task in tasks}


def mark(connection: sa.Connection, tasks: Iterable[TaskId], **more: int) -> None:
    """Tell a running controller that the tasks' past changed; more: columns of their marks."""
    last = connection.execute(sa.select(sa.func.max(imports.c.serial))).scalar() or 0
    names = sorted(map(str, tasks))
    upsert(connection, imports, [{"task": name, "serial": last + 1, **more} for name in names])


def _told_apart(connection: sa.Connection, past: Sequence[Observation]) -> list[Observation]:
    """The attempts without those that Plimsoll observed itself, no two tasks' with one uid.

    A file may number its attempts, and the next file, of another task, begins at 1 again. Such an
    attempt gets a uid of its own, and keeps it once it is stored, also if the other one goes.
    """
    uids = {uid for each in past for uid in (each.attempt_uid, _own_uid(each))}
    columns = (table.c.attempt_uid, table.c.task, table.c.peak_source)
    stored = {
        row.attempt_uid: row
        for row in connection.execute(sa.select(*columns).where(table.c.attempt_uid.in_(uids)))
    }
    observed = {uid for uid, row in stored.items() if row.peak_source != PeakSource.IMPORTED.value}
    owners = {uid: row.task for uid, row in stored.items()}
    apart: list[Observation] = []
    for each in past:
        if each.attempt_uid in observed:
            continue
        owner = owners.setdefault(each.attempt_uid, str(each.task))
        mine = owner == str(each.task) and _own_uid(each) not in stored
        apart.append(each if mine else replace(each, attempt_uid=_own_uid(each)))
    return apart


def _own_uid(past: Observation) -> str:
    return bounded(f"{past.attempt_uid}@{past.task}", MOST_RUN_BYTES)


def _item_rows(connection: sa.Connection, limit: int) -> list[sa.Row[Any]]:
    """What ``item_needs`` is made of, newest first."""
    column = table.c
    order, has_item = (column.ordered_s, column.id), column.item.is_not(None)
    newest_first = (column.ordered_s.desc(), column.id.desc())
    # It is asked for by itself: so the database knows how few rows it leaves.
    oldest = sa.select(*order).where(has_item).order_by(*newest_first)
    first = connection.execute(oldest.offset(_LOOKED_AT * limit - 1).limit(1)).first()
    recent = has_item if first is None else has_item & (sa.tuple_(*order) >= sa.tuple_(*first))
    has_need = (column.outcome == Outcome.SUCCEEDED.value) & (column.peak_bytes > 0)
    latest: sa.Select[Any] = (
        sa.select(column.task, column.workflow_run, column.item, column.peak_bytes, *order)
        .where(recent & has_need)
        .order_by(*newest_first)
        .limit(limit)
    )
    rows = list(connection.execute(latest))
    if len(rows) < limit:
        return rows
    of_others = [
        ~column.task.startswith(f"{namespace}/", autoescape=True)
        for namespace in _crowding(row.task for row in rows)
    ]
    more = connection.execute(latest.where(*of_others))
    return sorted({*rows, *more}, key=lambda row: (row.ordered_s, row.id), reverse=True)


def _crowding(tasks: Iterable[str]) -> list[str]:
    """The namespaces with most rows, as far as each has at least an equal share of all."""
    counts = Counter(namespace_of(task) for task in tasks)
    most = counts.most_common(_MOST_CROWDING)
    return [name for name, count in most if count * len(counts) >= counts.total()]
