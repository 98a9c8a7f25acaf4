"""Kinds of columns, for the schema and for the steps that lead to it.

They are those that SQLite and PostgreSQL share: bytes are 64-bit integers, times are Unix seconds
as doubles, documents are JSON text. Tasks are written as ``namespace/name``. The steps of the past
use these kinds too: add a kind, but never change one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import sqlalchemy as sa

_RowId: Final = sa.BigInteger().with_variant(sa.Integer, "sqlite")
"""SQLite numbers rows by itself only in a column declared INTEGER."""


def required(kind: type[sa.types.TypeEngine[Any]], *names: str) -> Iterator[sa.Column[Any]]:
    """Columns that no row may leave empty."""
    return (sa.Column(name, kind, nullable=False) for name in names)


def optional(kind: type[sa.types.TypeEngine[Any]], *names: str) -> Iterator[sa.Column[Any]]:
    """Columns that a row may leave empty."""
    return (sa.Column(name, kind) for name in names)


def key(name: str) -> sa.Column[str]:
    """A text that is the primary key, or a part of it."""
    return sa.Column(name, sa.Text, primary_key=True)


def serial(name: str) -> sa.Column[int]:
    """A primary key that the database counts up."""
    return sa.Column(name, _RowId, primary_key=True, autoincrement=True)


def written_at() -> sa.Column[float]:
    """The time when the row was written, Unix seconds; old rows are found by it and deleted."""
    return sa.Column("put_s", sa.Double, nullable=False, index=True)


def index_where(name: str, condition: str, *columns: str) -> sa.Index:
    """An index of those rows that meet a condition."""
    where = sa.text(condition)
    return sa.Index(name, *columns, sqlite_where=where, postgresql_where=where)
