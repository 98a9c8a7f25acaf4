"""Reads Airflow's metadata database: the tries that ended, with what is left of their pods.

It only reads, row by row, in one transaction that the server ends if it takes too long. Tables and
columns are those of Airflow 2.10 and of 3; an error names what an older or newer one lacks.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy import exc

from plimsoll_operator.airflow_history.past_tries import PastTry
from plimsoll_predictor.store.database.database import shown

BATCH: Final = 1000
ENDED: Final = ("success", "failed", "up_for_retry")
STATEMENT_S: Final = 600
_CONNECT_S: Final = 10

_TASK_INSTANCE: Final = "task_instance"
_HISTORY: Final = "task_instance_history"
_RENDERED: Final = "rendered_task_instance_fields"
_XCOM: Final = "xcom"
_OF_INSTANCE: Final = ("dag_id", "task_id", "run_id", "map_index")
_JSON: Final = ("rendered_fields", "k8s_pod_yaml")
_COLUMNS: Final = {
    _TASK_INSTANCE: (*_OF_INSTANCE, "try_number", "state", "start_date", "end_date", "operator"),
    _HISTORY: (*_OF_INSTANCE, "try_number", "state", "start_date", "end_date", "operator"),
    _RENDERED: (*_OF_INSTANCE, "rendered_fields", "k8s_pod_yaml"),
    _XCOM: (*_OF_INSTANCE, "key", "value"),
}


class MetadataError(Exception):
    """The database cannot be read as Airflow's; the words say what is wrong and what to do."""


class Metadata:
    """Airflow's metadata database, opened for reading."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self.where = shown(engine.url)

    @classmethod
    def open(cls, url: str) -> Metadata:
        """Make a connection's settings; connects to nothing yet.

        url: as Airflow has it in ``[database] sql_alchemy_conn``: sqlite or postgresql.

        Raises:
            MetadataError: if it is no such address, or there is no such file.

        """
        try:
            address = sa.make_url(url)
        except exc.ArgumentError as error:
            raise MetadataError(
                "Airflow's database has an address such as postgresql://user@host/airflow or"
                " sqlite:////opt/airflow/airflow.db; `airflow config get-value database"
                " sql_alchemy_conn` prints it"
            ) from error
        if address.get_backend_name() == "sqlite":
            return cls(_sqlite(address))
        if address.get_backend_name() == "postgresql":
            return cls(_postgresql(address))
        raise MetadataError(
            f"Airflow's database is {address.get_backend_name()}, and only sqlite and postgresql"
            " are read; write its tries into a file (docs/history.md) and import that"
        )

    def tries(self, since_s: float, until_s: float) -> Iterator[PastTry]:
        """All tries that ended within a time, in no order.

        since_s, until_s: Unix seconds.

        Raises:
            MetadataError: if it cannot be read, or is not Airflow's.

        """
        with self._reading() as connection:
            tables = self._tables(connection)
            for name in (_TASK_INSTANCE, _HISTORY):
                select, dialect = _tries(tables, name), connection.dialect.name
                span = {"since": _moment(since_s, dialect), "until": _moment(until_s, dialect)}
                for row in connection.execution_options(yield_per=BATCH).execute(select, span):
                    yield PastTry(**row._mapping)

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    @contextmanager
    def _reading(self) -> Iterator[sa.Connection]:
        try:
            with self._engine.connect() as connection:
                yield connection
        except exc.SQLAlchemyError as error:
            line = " ".join(str(getattr(error, "orig", None) or error).split())[:300]
            raise MetadataError(f"{self.where} cannot be read: {line}") from error

    def _tables(self, connection: sa.Connection) -> dict[str, sa.TableClause]:
        """The tables to read; the error names any missing table or column."""
        inspector = sa.inspect(connection)
        found = {}
        for name, columns in _COLUMNS.items():
            if not inspector.has_table(name):
                raise MetadataError(
                    f"{self.where} is no metadata database of Airflow 2.10 or newer: it has no"
                    f" table {name}"
                )
            there = {each["name"] for each in inspector.get_columns(name)}
            if missing := [each for each in columns if each not in there]:
                raise MetadataError(
                    f"{self.where}: table {name} has no column {', '.join(missing)}; Airflow 2.10"
                    " to 3 are read"
                )
            found[name] = sa.table(name, *(_column(each) for each in columns))
        return found


def _tries(tables: dict[str, sa.TableClause], name: str) -> sa.Select[Any]:
    tried, rendered = tables[name], tables[_RENDERED]
    pod_name, pod_namespace = (tables[_XCOM].alias(each) for each in ("of_name", "of_namespace"))
    joined = tried.outerjoin(rendered, _same(tried, rendered))
    for xcom, key in ((pod_name, "pod_name"), (pod_namespace, "pod_namespace")):
        joined = joined.outerjoin(xcom, _same(tried, xcom) & (xcom.c.key == key))
    column, fields = tried.c, rendered.c.rendered_fields
    return (
        sa.select(
            column.dag_id.label("dag"),
            column.task_id.label("task"),
            column.run_id.label("run"),
            column.map_index,
            column.try_number.label("number"),
            column.state,
            column.start_date.label("started"),
            column.end_date.label("ended"),
            column.operator,
            pod_name.c.value.label("pod_name"),
            pod_namespace.c.value.label("pod_namespace"),
            fields["namespace"].label("rendered_namespace"),
            # Of the operator's pod, and of the executor's: other keys are not fetched.
            fields["container_resources"].label("resources"),
            rendered.c.k8s_pod_yaml[("spec", "containers", 0, "resources")].label("pod_resources"),
        )
        .select_from(joined)
        .where(column.state.in_(ENDED))
        .where(column.end_date.between(sa.bindparam("since"), sa.bindparam("until")))
    )


def _same(one: sa.FromClause, other: sa.FromClause) -> sa.ColumnElement[bool]:
    """Whether two rows are of the same task instance."""
    return sa.and_(*(one.c[name] == other.c[name] for name in _OF_INSTANCE))


def _column(name: str) -> sa.ColumnClause[Any]:
    return sa.column(name, sa.JSON if name in _JSON else None)


def _moment(at_s: float, dialect: str) -> object:
    """A time as the database compares it: SQLite has texts in UTC, without a zone."""
    moment = datetime.fromtimestamp(at_s, UTC)
    return moment.strftime("%Y-%m-%d %H:%M:%S.%f") if dialect == "sqlite" else moment


def _sqlite(address: sa.URL) -> sa.Engine:
    file = Path(address.database or "")
    if not file.is_file():
        raise MetadataError(f"there is no file {file}; is it the path of Airflow's database?")
    # Nothing may be created or changed, not even when it is opened.
    path, options = f"file:{quote(str(file.resolve()))}", {"mode": "ro", "uri": "true"}
    return sa.create_engine(sa.URL.create("sqlite", database=path, query=options))


def _postgresql(address: sa.URL) -> sa.Engine:
    try:
        return sa.create_engine(
            # Airflow names its own driver there.
            address.set(drivername="postgresql+psycopg"),
            execution_options={"postgresql_readonly": True},
            connect_args={
                "connect_timeout": _CONNECT_S,
                "application_name": "plimsoll",
                "options": f"-c statement_timeout={STATEMENT_S}s",
            },
        )
    except (ImportError, exc.ArgumentError) as error:
        raise MetadataError(
            f"a database driver is missing: {error}; for PostgreSQL: pip install '.[postgresql]'"
            " in Plimsoll's checkout"
        ) from error
