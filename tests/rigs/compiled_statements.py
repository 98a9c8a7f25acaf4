"""What one store has compiled serves the next one: each test opens a store of its own.

SQLAlchemy compiles a statement once for each engine, and that takes longer than running it on a
store of a few rows. A program has one engine, so it would win nothing.
"""

from __future__ import annotations

from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite

_COMPILED: Final[dict[Any, Any]] = {}
"""The dialect is a part of the keys."""


class _Alike:
    """All of a class are one key."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))


class SQLite(_Alike, SQLiteDialect_pysqlite):
    supports_statement_cache = True


class PostgreSQL(_Alike, PGDialect_psycopg):
    supports_statement_cache = True


def share_compiled_statements() -> None:
    """Do so from now on, in this process."""
    registry.register("sqlite", __name__, SQLite.__name__)
    registry.register("postgresql.psycopg", __name__, PostgreSQL.__name__)
    sa.event.listen(sa.Engine, "engine_connect", _share)


def _share(connection: sa.Connection) -> None:
    connection.execution_options(compiled_cache=_COMPILED)
