"""Writes that differ between SQLite and PostgreSQL: ON CONFLICT, and a log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

_INSERT: Final[Mapping[str, Callable[[sa.Table], sqlite.Insert | postgresql.Insert]]] = {
    "sqlite": sqlite.insert,
    "postgresql": postgresql.insert,
}
_STATEMENTS: Final = 128
"""More than there are tables and sets of columns that are written."""


def insert_new(
    connection: sa.Connection, table: sa.Table, key: str, rows: Sequence[Mapping[str, Any]]
) -> frozenset[str]:
    """Insert the rows whose key is not there yet; returns the keys that were new."""
    if not rows:
        return frozenset()
    statement = _inserting_new(connection.dialect.name, table, key)
    return frozenset(connection.execute(statement, [dict(row) for row in rows]).scalars())


def upsert(
    connection: sa.Connection,
    table: sa.Table,
    rows: Iterable[Mapping[str, Any]],
) -> None:
    """Insert rows; where the primary key is there already, replace all other columns."""
    values = [dict(row) for row in rows]
    if not values:
        return
    connection.execute(_upserting(connection.dialect.name, table, tuple(values[0])), values)


# Statements are kept: for a few rows, making one costs more than executing it.
@lru_cache(_STATEMENTS)
def _inserting_new(dialect: str, table: sa.Table, key: str) -> sa.Executable:
    insert = _INSERT[dialect](table).on_conflict_do_nothing(index_elements=[key])
    return insert.returning(table.c[key])


@lru_cache(_STATEMENTS)
def _upserting(dialect: str, table: sa.Table, columns: tuple[str, ...]) -> sa.Executable:
    keys = [column.name for column in table.primary_key]
    insert = _INSERT[dialect](table)
    replaced = {name: insert.excluded[name] for name in columns if name not in keys}
    return insert.on_conflict_do_update(index_elements=keys, set_=replaced)


def append_in_order(
    connection: sa.Connection, log: sa.Table, rows: Sequence[Mapping[str, Any]]
) -> None:
    """Add rows at the end of a log whose readers go on from the last serial they have read."""
    if not rows:
        return
    if connection.dialect.name == "postgresql":
        # Serials must be committed in their order: a reader that reads on from one would miss an
        # earlier one.
        connection.execute(sa.text(f"LOCK TABLE {log.name} IN EXCLUSIVE MODE"))
    connection.execute(log.insert(), [dict(row) for row in rows])
