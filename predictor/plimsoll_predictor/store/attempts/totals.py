"""The sums of each task's observations, stored beside them as they come.

Each task has a row. The transactions that change observations change it by the sums of the written
rows before and after. So neither a start nor a page adds up a million rows. If those rows alone are
not enough (a maximum fell, rows were pruned), the sums are added up anew, for that task only; once
it is pruned, not after each step of it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import orjson
import sqlalchemy as sa

from plimsoll_predictor.core.cpu import MIN_RUNTIME_S, MOST_CORES, WINDOW_RUNS, RunCpu, use_of
from plimsoll_predictor.core.documents import to_document
from plimsoll_predictor.core.record import Outcome, PeakSource
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import GB, HOUR_S
from plimsoll_predictor.store.database.schema import observations as observed
from plimsoll_predictor.store.database.schema import totals as table
from plimsoll_predictor.store.database.upsert import upsert

Totals = Mapping[str, Any]
"""One task's row, by column; without its CPU."""

RUNTIME_S: Final = observed.c.finished_s - observed.c.started_s
TIMED: Final = (observed.c.outcome == Outcome.SUCCEEDED.value) & (RUNTIME_S >= MIN_RUNTIME_S)
CPU_LOOKED_FOR: Final = 8 * WINDOW_RUNS
"""In so many of a task's newest attempts, runs are looked for whose CPU was measured. In a task of
which none is, each write would else pass over all attempts."""
_AT_ONCE: Final = 500
MAXIMA: Final = ("max_need_bytes", "last_finished_s", "most_bytes", "most_cores")
"""Columns that hold the largest value; None if there is none. The others hold sums."""
SUMS: Final = tuple(
    column.name for column in table.c if column.name not in (*MAXIMA, "task", "cpu")
)


def _totals() -> sa.Select[Any]:
    column = observed.c
    succeeded = column.outcome == Outcome.SUCCEEDED.value
    killed = column.outcome == Outcome.OOM_KILLED.value
    needs = sa.case((succeeded, column.peak_bytes), (killed, column.allocation_bytes))
    # A clock that jumped backwards leaves no runtime, as in Observation.runtime_s.
    runtime_s = sa.case(
        (column.finished_s >= column.started_s, column.finished_s - column.started_s)
    )
    # As in Observation.reserved_bytes.
    reserved = sa.func.coalesce(
        column.request_memory_ran_bytes, column.allocation_bytes, column.request_bytes
    )
    below_request = column.allocation_bytes < column.request_bytes
    spared = killed & sa.func.coalesce(below_request, sa.false())
    return sa.select(
        column.task,
        sa.func.count().label("observations"),
        _count(killed).label("oom_kills"),
        _count(column.outcome == Outcome.FAILED.value).label("failed"),
        sa.func.max(needs).label("max_need_bytes"),
        _gb_h(sa.case((sa.not_(spared), column.request_bytes)), runtime_s, "requested_gb_h"),
        _gb_h(reserved, runtime_s, "allocated_gb_h"),
        _gb_h(column.peak_bytes, runtime_s, "peak_gb_h"),
        sa.func.max(column.finished_s).label("last_finished_s"),
        *_uses(),
    ).group_by(column.task)


def _uses() -> list[sa.ColumnElement[Any]]:
    """Sums over runs that succeeded, were timed and measured; means are made of them."""
    column = observed.c
    used = TIMED & column.peak_bytes.is_not(None)
    # As in RunCpu.is_possible.
    cores = sa.case((column.cpu_s <= MOST_CORES * RUNTIME_S, column.cpu_s / RUNTIME_S))
    highest = sa.func.coalesce(column.peak_cores, cores)

    def of_used(value: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
        return sa.case((used, value))

    return [
        _count(used).label("used_runs"),
        _sum(of_used(RUNTIME_S), "used_runtime_s"),
        _sum(of_used(column.request_bytes), "request_bytes_sum"),
        _count(used & column.request_bytes.is_not(None)).label("request_bytes_count"),
        _sum(of_used(column.peak_bytes), "used_bytes_sum"),
        _sum(of_used(column.request_cores), "request_cores_sum"),
        _count(used & column.request_cores.is_not(None)).label("request_cores_count"),
        _sum(of_used(cores), "used_cores_sum"),
        _count(used & cores.is_not(None)).label("used_cores_count"),
        sa.func.max(of_used(column.peak_bytes)).label("most_bytes"),
        sa.func.max(of_used(highest)).label("most_cores"),
    ]


def _count(condition: sa.ColumnElement[bool]) -> sa.ColumnElement[int]:
    return sa.func.count(sa.case((condition, 1)))


def _sum(value: sa.ColumnElement[Any], name: str) -> sa.ColumnElement[Any]:
    return sa.func.coalesce(sa.func.sum(sa.cast(value, sa.Double)), 0.0).label(name)


def _gb_h(
    size_bytes: sa.ColumnElement[Any], runtime_s: sa.ColumnElement[Any], name: str
) -> sa.ColumnElement[Any]:
    # Imported attempts ran without Plimsoll: they saved nothing and spent nothing.
    live = observed.c.peak_source.is_distinct_from(PeakSource.IMPORTED.value)
    asked = observed.c.request_bytes.is_not(None) & live
    memory_time = sa.case((asked, sa.cast(size_bytes, sa.Double) / GB * runtime_s))
    total = sa.func.coalesce(sa.func.sum(memory_time), 0.0) / HOUR_S
    return total.label(name)


_TOTALS: Final = _totals()
_RUNS_KNOWN: Final = sa.func.count(sa.distinct(observed.c.run)).label("runs_known")
_KNOWN: Final = (observed.c.outcome == Outcome.SUCCEEDED.value) & observed.c.peak_bytes.is_not(None)
_KNOWN_RUNS: Final = sa.select(observed.c.task, _RUNS_KNOWN).where(_KNOWN).group_by(observed.c.task)
# Made once: each runs with every write, and making it costs more than running it.
_OF_ATTEMPTS: Final = _TOTALS.where(
    observed.c.attempt_uid.in_(sa.bindparam("of_uids", expanding=True))
)
_STORED: Final = table.select().where(table.c.task.in_(sa.bindparam("of_tasks", expanding=True)))


def _newest_cpus() -> sa.Select[Any]:
    column = observed.c
    newest = (
        sa.select(
            *(column.cpu_s, column.peak_cores, column.ordered_s, column.id),
            RUNTIME_S.label("runtime_s"),
            (TIMED & column.cpu_s.is_not(None)).label("tells"),
        )
        .where(column.task == sa.bindparam("of_task"))
        .order_by(column.ordered_s.desc(), column.id.desc())
        .limit(CPU_LOOKED_FOR)
        .subquery("newest")
    )
    return (
        sa.select((newest.c.cpu_s / newest.c.runtime_s).label("mean_cores"), newest.c.peak_cores)
        .where(newest.c.tells)
        .order_by(newest.c.ordered_s.desc(), newest.c.id.desc())
        .limit(WINDOW_RUNS)
    )


_NEWEST_CPUS: Final = _newest_cpus()


def of_attempts(connection: sa.Connection, uids: Collection[str]) -> dict[str, dict[str, Any]]:
    """The sums of those attempts alone, by task; for ``move``, before and after they change."""
    sums = connection.execute(_OF_ATTEMPTS, {"of_uids": list(uids)})
    return {row["task"]: dict(row) for row in sums.mappings()}


def move(
    connection: sa.Connection,
    before: Mapping[str, Totals],
    after: Mapping[str, Totals],
    new_runs: Mapping[str, int],
) -> None:
    """Bring the totals of the tasks in ``after`` up to date.

    before, after: the sums of the written attempts, then and now. new_runs: by task, runs whose
    need became known.
    """
    rows = connection.execute(_STORED, {"of_tasks": list(after)})
    stored = {row["task"]: dict(row) for row in rows.mappings()}
    moved: list[dict[str, Any]] = []
    anew: list[str] = []
    for task, now in after.items():
        row = moved_row(stored.get(task), before.get(task), now)
        if row is None:
            anew.append(task)
            continue
        row["runs_known"] += new_runs.get(task, 0)
        moved.append({**row, "cpu": _cpu(connection, task)})
    upsert(connection, table, moved)
    add_up(connection, anew)


def moved_row(stored: Totals | None, before: Totals | None, after: Totals) -> dict[str, Any] | None:
    """The totals after attempts changed; None if a maximum must be added up anew.

    before: None if all those attempts are new. The runs known are left as they were.
    """
    row: dict[str, Any] = {"task": after["task"]}
    for name in SUMS:
        there = (after.get(name) or 0) - ((before or {}).get(name) or 0)
        row[name] = ((stored or {}).get(name) or 0) + there
    for name in MAXIMA:
        then, now, most = (each.get(name) for each in (before or {}, after, stored or {}))
        if then is not None and then == most and (now is None or now < then):
            return None
        row[name] = max((each for each in (now, most) if each is not None), default=None)
    return row


def add_up(connection: sa.Connection, tasks: Sequence[str]) -> None:
    """Add up tasks anew, by a pass over their rows; one without observations has no totals."""
    for start in range(0, len(tasks), _AT_ONCE):
        some = list(tasks[start : start + _AT_ONCE])
        mine = observed.c.task.in_(some)
        _replace(connection, some, (_TOTALS.where(mine), _KNOWN_RUNS.where(mine)))


def runs_since(connection: sa.Connection, task: TaskId, after_s: float) -> int:
    """Of a task's runs with a known need, how many ended after that time."""
    later = (observed.c.task == str(task)) & (observed.c.ordered_s > after_s)
    runs: int = connection.execute(sa.select(_RUNS_KNOWN).where(_KNOWN & later)).scalar_one()
    return runs


def differing(connection: sa.Connection) -> list[str]:
    """Tasks whose totals differ from their attempts.

    An older Plimsoll wrote some, or a forgetting was interrupted.

    Cost: a pass over the index of all observations.
    """
    there = (
        sa.select(observed.c.task, sa.func.count().label("attempts"))
        .group_by(observed.c.task)
        .subquery()
    )
    both = there.join(table, table.c.task == there.c.task, full=True)
    counted = sa.func.coalesce(there.c.attempts, 0) != sa.func.coalesce(table.c.observations, 0)
    name = sa.func.coalesce(there.c.task, table.c.task)
    return list(connection.execute(sa.select(name).select_from(both).where(counted)).scalars())


def add_up_all(connection: sa.Connection) -> None:
    """Add up all tasks anew, as a new step of the schema needs it. Cost: two passes over all."""
    names = connection.execute(sa.select(observed.c.task).distinct()).scalars().all()
    connection.execute(table.delete())
    _replace(connection, names, (_TOTALS, _KNOWN_RUNS))


def _replace(
    connection: sa.Connection,
    tasks: Sequence[str],
    selects: tuple[sa.Select[Any], sa.Select[Any]],
) -> None:
    rows = {row["task"]: dict(row) for row in connection.execute(selects[0]).mappings()}
    runs_known = {row.task: row.runs_known for row in connection.execute(selects[1])}
    gone = [task for task in tasks if task not in rows]
    if gone:
        connection.execute(table.delete().where(table.c.task.in_(gone)))
    upsert(
        connection,
        table,
        [
            {**row, "runs_known": runs_known.get(task, 0), "cpu": _cpu(connection, task)}
            for task, row in rows.items()
        ],
    )


def _cpu(connection: sa.Connection, task: str) -> str | None:
    use = use_of(run_cpus(connection, TaskId.parse(task)))
    return None if use is None else orjson.dumps(to_document(use)).decode()


def run_cpus(connection: sa.Connection, task: TaskId) -> list[RunCpu]:
    """CPU of the newest runs that succeeded and were measured, WINDOW_RUNS at most.

    Cost: an index leads to the task's newest rows, and CPU_LOOKED_FOR of them are read at most.
    """
    rows = connection.execute(_NEWEST_CPUS, {"of_task": str(task)})
    return [RunCpu(row.mean_cores, row.peak_cores) for row in rows]
