"""Places attempts of one key in executions, which are runs of their own.

A stored attempt keeps its run, so that placing it again changes nothing.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from plimsoll_predictor.core.record import Observation, Outcome
from plimsoll_predictor.core.shared_keys import beginning_of, execution_of
from plimsoll_predictor.store.database.schema import observations as table


def at_once(connection: sa.Connection, ended: Observation) -> str:
    """The run of an attempt whose siblings may have its key at the same time.

    The first success has the key as its run, with all that did not succeed, because nothing tells
    whose attempt that was. A later success is an execution of its own.

    ended: with the key as its run.
    """
    if (run := _stored(connection, ended)) is not None:
        return run
    if ended.outcome is not Outcome.SUCCEEDED or not _has_succeeded(connection, ended):
        return ended.run
    return execution_of(ended.run, ended.attempt_uid)


def in_turn(connection: sa.Connection, ended: Observation, ended_s: float) -> str:
    """The run of an attempt whose key other executions have before it or after it.

    An execution ends with its success; the attempt that ends next begins another one.

    ended: with the key as its run. ended_s: when it ended, or the best guess; Unix seconds.
    """
    if (run := _stored(connection, ended)) is not None:
        return run
    if not _has_succeeded(connection, ended):
        return ended.run
    before, next_success = _around(connection, ended, ended_s)
    if next_success is not None and ended.outcome is not Outcome.SUCCEEDED:
        return str(next_success.run)  # it is seen late
    own = execution_of(ended.run, ended.attempt_uid)
    if before is None or before.outcome == Outcome.SUCCEEDED.value:
        return own
    is_over = next_success is not None and next_success.run == before.run
    return own if is_over else str(before.run)


def _stored(connection: sa.Connection, ended: Observation) -> str | None:
    """The run with which the attempt is stored; None if it is not stored yet."""
    stored = sa.select(table.c.run).where(table.c.attempt_uid == ended.attempt_uid)
    return connection.execute(stored).scalar()


def _has_succeeded(connection: sa.Connection, ended: Observation) -> bool:
    """Say whether the key's first execution is over."""
    succeeded = sa.select(table.c.id).where(
        (table.c.task == str(ended.task))
        & (table.c.run == ended.run)
        & (table.c.outcome == Outcome.SUCCEEDED.value)
    )
    return connection.execute(succeeded.limit(1)).first() is not None


def _around(
    connection: sa.Connection, ended: Observation, ended_s: float
) -> tuple[sa.Row[Any] | None, sa.Row[Any] | None]:
    """The key's attempt before this one, and its next success; None if there is none.

    Of two that ended in one second, the one that is stored came first. They are found by the time:
    not every database sorts runs so that those of one key are beside each other.
    """
    column, beginning = table.c, beginning_of(ended.run)
    later = sa.func.substr(column.run, 1, len(beginning)) == beginning
    of_key = (column.task == str(ended.task)) & ((column.run == ended.run) | later)
    before = (
        sa.select(column.run, column.outcome, sa.literal(1).label("is_before"))
        .where(of_key & (column.ordered_s <= ended_s))
        .order_by(column.ordered_s.desc(), column.id.desc())
        .limit(1)
    )
    next_success = (
        sa.select(column.run, column.outcome, sa.literal(0).label("is_before"))
        .where(of_key & (column.ordered_s > ended_s) & (column.outcome == Outcome.SUCCEEDED.value))
        .order_by(column.ordered_s, column.id)
        .limit(1)
    )
    both = sa.union_all(*(sa.select(each.subquery()) for each in (before, next_success)))
    found = {bool(row.is_before): row for row in connection.execute(both)}
    return found.get(True), found.get(False)
