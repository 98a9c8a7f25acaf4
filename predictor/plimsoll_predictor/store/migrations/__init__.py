"""The store's schema, step by step.

A new step: add a module to ``versions``, point ``HEAD`` at it, change ``schema.py`` alike, and name
its new tables in ``LATER_TABLES``. After any step all totals are added up anew, so a change of what
they count is a step, too. An empty database gets the tables of ``schema.py`` at once; the
tests compare them with what the steps make.

In: a database of any version. Out: one of the newest. May import: ``store.database``,
``store.attempts``.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import exc

from plimsoll_predictor.store.attempts import totals
from plimsoll_predictor.store.database.database import Database
from plimsoll_predictor.store.database.errors import BadRecordError, StoreError, in_one_line
from plimsoll_predictor.store.database.schema import compatibility, metadata

log: Final = logging.getLogger(__name__)

HEAD: Final = "0019"
"""The newest revision; lets a store that is up to date open without loading Alembic."""
KNOWN: Final = tuple(f"{step:04}" for step in range(1, int(HEAD) + 1))
OLDEST: Final = "0006"
"""Code that knows this step works on today's schema: later steps only added to it. So an older
Plimsoll may run beside a newer one, and people may go back to it. If a step does more than add
tables, indexes, and columns that may be empty, name that step here."""
LATER_TABLES: Final[Mapping[str, tuple[str, ...]]] = {
    "0004": ("bids", "lessons", "standings"),
    "0006": ("totals", "compatibility"),
    "0007": ("sightings", "forecaster", "kept_forecasts", "shape_catalogues"),
    "0012": ("campaigns", "campaign_runs"),
    "0014": ("due_trainings",),
    "0015": ("leased_jobs", "leased_tasks"),
    "0017": ("last_writes",),
}
"""The tables that each step makes, except for the first step."""
VERSION_TABLE: Final = "plimsoll_schema"
_REVISIONS: Final = sa.Table(
    VERSION_TABLE,
    sa.MetaData(),
    sa.Column("version_num", sa.String(32), nullable=False),
    sa.PrimaryKeyConstraint("version_num", name=f"{VERSION_TABLE}_pkc"),
)
"""The same as Alembic's, which writes the steps down there."""
_DRIVERS: Final = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg"}


def migrate(database: Database) -> None:
    """Bring an open database to the newest schema, in one transaction: all of it or nothing.

    It refuses a database of a newer Plimsoll, or of another program.

    Raises:
        StoreError: whatever the database answers, so that who opens a store can wait and say why.
    """
    try:
        _migrate(database)
    except (exc.DBAPIError, BadRecordError) as error:
        why = in_one_line(error.orig if isinstance(error, exc.DBAPIError) else error)
        raise StoreError(
            f"store {database.where} cannot be brought to schema {HEAD}, and is left as it was"
            f" ({why}); restore a backup into an empty database, or give Plimsoll an empty one"
        ) from error


def _migrate(database: Database) -> None:
    with database.read() as connection:
        if _revision(connection, database.where) == HEAD:
            return
    with database.write_schema() as connection:
        # Asked again under the write lock: another process may have migrated meanwhile.
        revision = _revision(connection, database.where)
        if revision == HEAD:
            return
        if revision is None:
            _make_all(connection)
        else:
            _drop_left_over(connection, revision)
            _go_on_from_older(connection)
        connection.execute(compatibility.delete())
        connection.execute(compatibility.insert().values(oldest=OLDEST))


def _make_all(connection: sa.Connection) -> None:
    """Make the newest schema in an empty database, without the steps to it."""
    for statement in _statements(connection.dialect.name):
        connection.exec_driver_sql(statement)
    connection.execute(_REVISIONS.insert().values(version_num=HEAD))


@cache
def _statements(dialect: str) -> tuple[str, ...]:
    """What makes all tables and indexes. Writing the statements takes longer than running them."""
    said: list[str] = []

    def note(made: sa.Executable, *_: Any, **__: Any) -> None:
        assert isinstance(made, sa.schema.ExecutableDDLElement)
        said.append(str(made.compile(dialect=engine.dialect)))

    engine = sa.create_mock_engine(sa.URL.create(_DRIVERS[dialect]), note)
    for tables in (_REVISIONS.metadata, metadata):
        tables.create_all(engine, checkfirst=False)
    return tuple(said)


def _drop_left_over(connection: sa.Connection, revision: str) -> None:
    """Drop the tables of steps after the revision, if they are there.

    Tools that restore a database replace the tables of the backup, and leave newer ones behind.
    These belong to the store that was replaced.
    """
    later = {name for step, names in LATER_TABLES.items() if step > revision for name in names}
    asked = sa.inspect(connection)
    for name in sorted(later & set(asked.get_table_names())):
        table = metadata.tables[name]
        # Later steps add only columns that may be empty, so every version has these.
        required = {column.name for column in table.columns if not column.nullable}
        if required <= {column["name"] for column in asked.get_columns(name)}:
            log.warning("table %s is dropped: it is of the store that was here before", name)
            connection.execute(sa.schema.DropTable(table))


def _go_on_from_older(connection: sa.Connection) -> None:
    from alembic import command  # 0.4 s that only an older store pays
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "plimsoll_predictor.store:migrations")
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
    # Not part of a step: today's code adds up the rows, whatever step was the last.
    totals.add_up_all(connection)


def _revision(connection: sa.Connection, where: str) -> str | None:
    tables = set(sa.inspect(connection).get_table_names())
    if VERSION_TABLE not in tables:
        ours = tables & set(metadata.tables)
        if ours or (tables and connection.dialect.name == "sqlite"):
            names = ", ".join(sorted(tables)[:5])
            raise StoreError(
                f"store {where} holds tables of something else ({names}); give Plimsoll its own"
            )
        return None
    revision = connection.execute(sa.select(_REVISIONS.c.version_num)).scalar()
    if revision is not None and revision not in KNOWN:
        if (_oldest(connection) if compatibility.name in tables else revision) <= HEAD:
            return HEAD
        raise StoreError(
            f"store {where} was written by a newer Plimsoll (schema {revision}, this one knows "
            f"{HEAD}); install that version again, or restore the backup made before it"
        )
    return None if revision is None else str(revision)


def _oldest(connection: sa.Connection) -> str:
    """The oldest step whose code may use the tables of a newer Plimsoll, as that one wrote it."""
    return str(connection.execute(sa.select(compatibility.c.oldest)).scalar() or "~")
