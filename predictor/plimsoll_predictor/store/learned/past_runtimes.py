"""A task's past runtimes, read from its observations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from plimsoll_predictor.core.record import Cause, Observation, Outcome
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store.attempts import observation_rows
from plimsoll_predictor.store.attempts.totals import RUNTIME_S
from plimsoll_predictor.store.database.database import Records
from plimsoll_predictor.store.database.schema import observations as table
from plimsoll_predictor.store.database.schema import totals


@dataclass(frozen=True, slots=True, kw_only=True)
class PastRuntime:
    """One attempt's time. Times are Unix seconds, None if not recorded.

    ran_s: seconds from start to finish; a runtime only if it succeeded.
    cause: why it did not succeed; None if it did, or if nobody looked.
    forecast_share: the share of its own forecast below its runtime: near 1 it took unusually
        long, near 0 unusually short; None if it had no forecast or did not succeed.
    """

    attempt_uid: str
    run: str
    attempt: int
    outcome: Outcome
    cause: Cause | None
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


class PastRuntimeRecords(Records):
    """The part of the store that past runtimes are read from; errors as in ``Store``."""

    def history(self, task: TaskId, *, limit: int = 500) -> list[PastRuntime]:
        """The newest attempts of a task that were timed, of any outcome, oldest first."""
        rows = self._database.rows(_newest(sa.select(*_COLUMNS), task).limit(limit))
        return [_past(row) for row in reversed(rows)]

    def newest(self, task: TaskId, *, limit: int) -> list[float]:
        """Runtimes in seconds of the newest attempts that succeeded, oldest first."""
        timed = _newest(sa.select(RUNTIME_S), task)
        succeeded = timed.where(table.c.outcome == Outcome.SUCCEEDED.value).limit(limit)
        return self._database.values(succeeded)[::-1]

    def others(
        self, task: TaskId, *, tasks: int = 20, limit: int = 500
    ) -> dict[TaskId, list[Observation]]:
        """The newest observations of the owner's other tasks, of those with the most of them.

        tasks: at most so many. limit: of each.
        """
        column = totals.c.task
        mine = column.startswith(f"{task.namespace}/", autoescape=True)
        names = (
            sa.select(column)
            .where(mine & (column != str(task)))
            .order_by(totals.c.observations.desc(), column)
            .limit(tasks)
        )
        with self._database.read() as connection:
            others = [TaskId.parse(name) for name in connection.execute(names).scalars()]
            return {other: observation_rows.read(connection, other, limit) for other in others}


def _newest(select: sa.Select[Any], task: TaskId) -> sa.Select[Any]:
    timed = (table.c.task == str(task)) & (table.c.finished_s >= table.c.started_s)
    return select.where(timed).order_by(table.c.ordered_s.desc(), table.c.id.desc())


def _past(row: sa.Row[Any]) -> PastRuntime:
    values = dict(row._mapping)
    return PastRuntime(
        outcome=Outcome(values.pop("outcome")),
        cause=observation_rows.read_cause(values.pop("cause")),
        ran_s=row.finished_s - row.started_s,
        **values,
    )
