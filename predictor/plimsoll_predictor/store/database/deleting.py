"""Deletes rows a little at a time, so that other writes come in between."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import sqlalchemy as sa

from plimsoll_predictor.store.database.database import Database

ROWS_AT_ONCE: Final = 1_000


def delete_some(
    connection: sa.Connection, table: sa.Table, condition: sa.ColumnElement[bool], rows: int
) -> int:
    """Delete at most ``rows`` rows; return how many. If there are fewer, none is left."""
    keys = list(table.primary_key)
    some = sa.select(*keys).where(condition).limit(rows)
    return connection.execute(table.delete().where(sa.tuple_(*keys).in_(some))).rowcount


def delete_all(
    database: Database, table: sa.Table, condition: sa.ColumnElement[bool], rows: int
) -> Iterator[int]:
    """Delete rows until none is left, ``rows`` in a transaction; each step gives their number."""
    deleted = rows
    while deleted >= rows:
        with database.write() as connection:
            deleted = delete_some(connection, table, condition, rows)
        if deleted:
            yield deleted
