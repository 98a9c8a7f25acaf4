"""What was needed for the items of workflows, found without reading whole observations."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from plimsoll_predictor.record import Outcome
from plimsoll_predictor.store.schema import observations as table
from plimsoll_predictor.task import TaskId


@dataclass(frozen=True, slots=True)
class ItemNeed:
    """What one attempt that succeeded needed for an item; run: the workflow's, None if unknown."""

    task: TaskId
    run: str | None
    item: str
    need_bytes: int


def newest(connection: sa.Connection, limit: int) -> list[ItemNeed]:
    """The latest ``limit`` of all tasks, oldest first by their end."""
    latest = (
        sa.select(table.c.task, table.c.workflow_run, table.c.item, table.c.peak_bytes)
        .where(
            table.c.item.is_not(None)
            & (table.c.outcome == Outcome.SUCCEEDED.value)
            & (table.c.peak_bytes > 0)
        )
        .order_by(table.c.ordered_s.desc(), table.c.id.desc())
        .limit(limit)
    )
    return [
        ItemNeed(TaskId.parse(row.task), row.workflow_run, row.item, row.peak_bytes)
        for row in reversed(connection.execute(latest).all())
    ]
