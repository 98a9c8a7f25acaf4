"""What is forgotten, so that a store stays within bounds whatever is sent to it."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

from plimsoll_predictor.store import decisions, lifts, standings, trainings
from plimsoll_predictor.store.schema import bids as bid_table
from plimsoll_predictor.store.schema import decisions as decision_table
from plimsoll_predictor.store.schema import imports as import_table
from plimsoll_predictor.store.schema import lessons as lesson_table
from plimsoll_predictor.store.schema import lifts as lift_table
from plimsoll_predictor.store.schema import observations as observation_table
from plimsoll_predictor.store.schema import peaks as peak_table
from plimsoll_predictor.store.schema import retries as retry_table
from plimsoll_predictor.store.schema import standings as standing_table
from plimsoll_predictor.store.schema import trainings as training_table

KEPT_TASKS: Final = 10_000
"""Tasks; the ones that ended longest ago are forgotten first."""
_DAY_S: Final = 24 * 3600.0
_PEAKS_KEPT_S: Final = 7 * _DAY_S
_CLOSED_RETRIES_KEPT_S: Final = 90 * _DAY_S
"""Longer than a finished pod is left lying about: its retry must not be planned again."""

_OF_A_TASK: Final = (
    observation_table,
    training_table,
    lift_table,
    decision_table,
    import_table,
    bid_table,
    lesson_table,
    standing_table,
)


def prune(
    connection: sa.Connection, now_s: float, keep_per_task: int, keep_tasks: int = KEPT_TASKS
) -> None:
    """Delete what is over the bounds of rows per task, tasks, and age."""
    _forget_tasks(connection, keep_tasks)
    _newest_only(connection, observation_table, "ordered_s", keep_per_task)
    _newest_only(connection, decision_table, "at_s", decisions.KEPT_PER_TASK)
    lifts.keep_newest(connection)
    trainings.forget_unknown(connection, now_s)
    for column, kept_s in (
        (lift_table.c.put_s, lifts.KEPT_S),
        (peak_table.c.put_s, _PEAKS_KEPT_S),
        (bid_table.c.put_s, standings.BIDS_KEPT_S),
        (retry_table.c.closed_s, _CLOSED_RETRIES_KEPT_S),
    ):
        connection.execute(column.table.delete().where(column < now_s - kept_s))


def _forget_tasks(connection: sa.Connection, keep_tasks: int) -> None:
    column = observation_table.c
    oldest_first = (
        sa.select(column.task)
        .group_by(column.task)
        .order_by(sa.func.max(column.ordered_s).desc(), column.task)
        .offset(keep_tasks)
    )
    names = list(connection.execute(oldest_first).scalars())
    for name in names:
        for table in _OF_A_TASK:
            connection.execute(table.delete().where(table.c.task == name))


def _newest_only(connection: sa.Connection, table: sa.Table, order: str, keep: int) -> None:
    key = next(iter(table.primary_key))
    over = sa.select(table.c.task).group_by(table.c.task).having(sa.func.count() > keep)
    for task in list(connection.execute(over).scalars()):
        mine = table.c.task == task
        kept = sa.select(key).where(mine).order_by(table.c[order].desc(), key.desc()).limit(keep)
        connection.execute(table.delete().where(mine & key.not_in(kept)))
