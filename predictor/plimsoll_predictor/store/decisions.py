"""The last decisions of each task, in words, for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final

import sqlalchemy as sa

from plimsoll_predictor.store.schema import decisions as table
from plimsoll_predictor.store.upsert import upsert
from plimsoll_predictor.task import TaskId

KEPT_PER_TASK: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRecord:
    """What one attempt got, and why. allocation_bytes: None if it was left as it was."""

    task: TaskId
    attempt_uid: str
    at_s: float
    words: str
    allocation_bytes: int | None
    request_bytes: int | None
    reason: str


def put(connection: sa.Connection, decided: Sequence[DecisionRecord]) -> None:
    """Keep decisions; a later one for the same attempt replaces it."""
    upsert(connection, table, [asdict(each) | {"task": str(each.task)} for each in decided])


def read(connection: sa.Connection, task: TaskId, limit: int) -> list[DecisionRecord]:
    """A task's last decisions, newest first."""
    rows = connection.execute(
        sa.select(table)
        .where(table.c.task == str(task))
        .order_by(table.c.at_s.desc(), table.c.attempt_uid)
        .limit(limit)
    )
    return [DecisionRecord(**{**row, "task": task}) for row in rows.mappings()]
