"""A task's past runtimes, read from its observations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from plimsoll_predictor.core.record import Outcome
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store.attempts.usage import RUNTIME_S
from plimsoll_predictor.store.database.schema import observations as table
from plimsoll_predictor.store.database.schema import totals


@dataclass(frozen=True, slots=True, kw_only=True)
class PastRuntime:
    """One attempt's time. Times are Unix seconds, None where nobody recorded them.

    ran_s: seconds from start to finish; a runtime only if it succeeded.
    forecast_share: the share of its own forecast below its runtime: near 1 it took unusually
        long, near 0 unusually short; None if nothing was forecast of it or it did not succeed.
    """

    attempt_uid: str
    run: str
    attempt: int
    outcome: Outcome
    submitted_s: float | None
    started_s: float
    finished_s: float
    ran_s: float
    node: str | None
    node_type: str | None
    forecast_share: float | None


_COLUMNS: Final = tuple(
    table.c[name] for name in PastRuntime.__dataclass_fields__ if name != "ran_s"
)


def of_task(connection: sa.Connection, task: TaskId, limit: int) -> list[PastRuntime]:
    """The newest attempts that were timed, of any outcome, oldest first."""
    rows = connection.execute(_newest(sa.select(*_COLUMNS), task).limit(limit)).all()
    return [_past(row) for row in reversed(rows)]


def newest(connection: sa.Connection, task: TaskId, limit: int) -> list[float]:
    """Runtimes in seconds of the newest attempts that succeeded, oldest first."""
    found = _newest(sa.select(RUNTIME_S.label("runtime_s")), task)
    succeeded = found.where(table.c.outcome == Outcome.SUCCEEDED.value).limit(limit)
    return list(reversed(connection.execute(succeeded).scalars().all()))


def beside(connection: sa.Connection, task: TaskId, most: int) -> list[TaskId]:
    """Other tasks of the namespace, those with the most observations first."""
    column = totals.c.task
    mine = column.startswith(f"{task.namespace}/", autoescape=True)
    found = (
        sa.select(column)
        .where(mine & (column != str(task)))
        .order_by(totals.c.observations.desc(), column)
        .limit(most)
    )
    return [TaskId.parse(name) for name in connection.execute(found).scalars()]


def _newest(select: sa.Select[Any], task: TaskId) -> sa.Select[Any]:
    timed = (table.c.task == str(task)) & (table.c.finished_s >= table.c.started_s)
    return select.where(timed).order_by(table.c.ordered_s.desc(), table.c.id.desc())


def _past(row: sa.Row[Any]) -> PastRuntime:
    values = dict(row._mapping)
    return PastRuntime(
        outcome=Outcome(values.pop("outcome")),
        ran_s=row.finished_s - row.started_s,
        **values,
    )
