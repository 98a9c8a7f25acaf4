"""Retries, planned here before they are made: a restart in between finds and finishes them."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import sqlalchemy as sa

from plimsoll_predictor.store.schema import retries as table
from plimsoll_predictor.store.upsert import insert_new


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryIntent:
    """A retry to be made of one attempt; at most one for each.

    attempt_uid: the attempt that was killed.
    pod, new_pod: its name, and the name of the pod that follows it.
    manifest: the new pod, as JSON.
    """

    attempt_uid: str
    namespace: str
    pod: str
    new_pod: str
    manifest: str
    planned_s: float


def plan(connection: sa.Connection, intent: RetryIntent) -> bool:
    """Keep the intent; False if this attempt's retry was planned before, open or closed."""
    return bool(insert_new(connection, table, "attempt_uid", [asdict(intent)]))


def read_open(connection: sa.Connection) -> list[RetryIntent]:
    """Planned, not known to be made; oldest first."""
    columns = [table.c[name] for name in RetryIntent.__dataclass_fields__]
    rows = connection.execute(
        sa.select(*columns)
        .where(table.c.closed_s.is_(None))
        .order_by(table.c.planned_s, table.c.attempt_uid)
    )
    return [RetryIntent(**row) for row in rows.mappings()]


def close(connection: sa.Connection, attempt_uid: str, result: str, now_s: float) -> None:
    """Note what came of it. The row stays, without the manifest, so that none is planned again."""
    connection.execute(
        table.update()
        .where((table.c.attempt_uid == attempt_uid) & table.c.closed_s.is_(None))
        .values(result=result, closed_s=now_s, manifest="")
    )
