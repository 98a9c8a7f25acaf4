"""Which tasks were given a past from outside, so that a running controller need not look at all."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import sqlalchemy as sa

from plimsoll_predictor.core.record import PeakSource
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store.database.schema import imports as table
from plimsoll_predictor.store.database.schema import observations
from plimsoll_predictor.store.database.upsert import upsert


@dataclass(frozen=True, slots=True)
class Imported:
    """Tasks whose past changed. serial: ask again from here."""

    serial: int
    tasks: tuple[TaskId, ...]


def mark(connection: sa.Connection, tasks: Collection[TaskId]) -> None:
    """Note, in the transaction that writes it, that the tasks' past changed."""
    serial = _last(connection) + 1
    upsert(connection, table, [{"task": str(task), "serial": serial} for task in sorted(tasks)])


def since(connection: sa.Connection, after: int) -> Imported:
    """What changed after the serial ``after``; costs what changed, not what there is."""
    found = connection.execute(
        sa.select(table.c.task, table.c.serial)
        .where(table.c.serial > after)
        .order_by(table.c.serial, table.c.task)
    ).all()
    serial = max((row.serial for row in found), default=after)
    return Imported(serial, tuple(TaskId.parse(row.task) for row in found))


def _last(connection: sa.Connection) -> int:
    return int(connection.execute(sa.select(sa.func.max(table.c.serial))).scalar() or 0)


def observed_here(connection: sa.Connection, attempt_uids: Collection[str]) -> frozenset[str]:
    """Those of the attempts that Plimsoll saw itself: it knows better than a past from outside."""
    source = observations.c.peak_source
    found = sa.select(observations.c.attempt_uid).where(
        observations.c.attempt_uid.in_(list(attempt_uids))
        & (source.is_(None) | (source != PeakSource.IMPORTED.value))
    )
    return frozenset(connection.execute(found).scalars())
