"""Opening the database: addresses, pragmas, transactions, and their errors as sentences.

Durability on SQLite: WAL with ``synchronous=FULL``. A commit returns after the log was flushed to
the disk, so what was acknowledged survives kill -9 of the process and also a power cut, as far as
the disk keeps what it says it has flushed. (``NORMAL`` would survive kill -9 as well, but a power
cut could take the last seconds of acknowledged observations; the flush costs one disk write for
each group commit, not for each observation.)
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa
from sqlalchemy import event, exc

from plimsoll_predictor.store.database.errors import BadRecordError, StoreError, store_error

if TYPE_CHECKING:
    from plimsoll_predictor.store.database.postgresql import Write

_Commit = Callable[[sa.Connection, sa.RootTransaction], None]
_WRITE_OPTION: Final = "plimsoll_write"
_UNSURE_S: Final = 600.0
"""If a commit's answer is lost, we ask for so long whether it went through."""
_FIRST_PAUSE_S: Final = 0.05
_LONGEST_PAUSE_S: Final = 5.0
_WAL_KEPT_BYTES: Final = 16 * 2**20
"""The most that remains of the log file after a checkpoint."""
_TOLD: Final = frozenset({"host", "port", "dbname", "service", "sslmode", "mode"})
"""Of the query of a database's URL, what says which database it is, and holds no secret."""
_PRAGMAS: Final = (
    "journal_mode=WAL",
    "synchronous=FULL",
    f"journal_size_limit={_WAL_KEPT_BYTES}",
)


class Database:
    """An engine, with transactions that translate errors."""

    def __init__(self, engine: sa.Engine, where: str) -> None:
        self.engine = engine
        self.where = where
        self.trouble: str | None = None
        """Why a commit waits for a server's answer, as a sentence; None if none does."""
        self._given_up = threading.Event()

    @classmethod
    def connect(cls, url: str, busy_timeout_s: float) -> Database:
        """Make the engine; touches no file yet.

        url: an SQLAlchemy URL, or a plain path to an SQLite file.
        busy_timeout_s: how long a write waits for another process' write.

        Raises StoreError if the URL is of no such database.
        """
        address = _address(url)
        where = shown(address)
        if address.get_backend_name() == "postgresql":
            return cls(_postgresql(address, where, busy_timeout_s), where)
        engine = sa.create_engine(address, connect_args={"timeout": busy_timeout_s})
        _tune_sqlite(engine)
        return cls(engine, where)

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """A transaction that only reads; it waits for no writer."""
        with self._translated(), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def write(self) -> Iterator[sa.Connection]:
        """A transaction that holds the write lock from its start; committed when left."""
        with self._writing(self._commit) as connection:
            yield connection

    def rows(self, select: sa.Select[Any]) -> Sequence[sa.Row[Any]]:
        """All rows that a statement reads, in a transaction of its own."""
        with self.read() as connection:
            return connection.execute(select).all()

    def row(self, select: sa.Select[Any]) -> sa.Row[Any] | None:
        """The first row that a statement reads; None if there is none."""
        with self.read() as connection:
            return connection.execute(select).first()

    def values(self, select: sa.Select[Any]) -> list[Any]:
        """The first column of all rows that a statement reads."""
        with self.read() as connection:
            return list(connection.execute(select).scalars())

    def value(self, select: sa.Select[Any]) -> Any:
        """The first column of the first row that a statement reads; None if there is none."""
        with self.read() as connection:
            return connection.execute(select).scalar()

    def execute(self, statement: sa.Insert | sa.Update | sa.Delete) -> None:
        """Write, in a transaction of its own."""
        with self.write() as connection:
            connection.execute(statement)

    def give_up(self) -> None:
        """End all waiting for a server; what waits gets a StoreError."""
        self._given_up.set()

    @contextmanager
    def _writing(self, commit: _Commit) -> Iterator[sa.Connection]:
        with self._translated(), self.engine.connect() as plain:
            connection = plain.execution_options(**{_WRITE_OPTION: True})
            transaction = connection.begin()
            try:
                yield connection
            except BaseException:
                transaction.rollback()
                raise
            commit(connection, transaction)

    def _commit(self, connection: sa.Connection, transaction: sa.RootTransaction) -> None:
        if connection.dialect.name != "postgresql":
            transaction.commit()
            return
        from plimsoll_predictor.store.database import postgresql

        noted = postgresql.note(connection)
        try:
            transaction.commit()
        except exc.DBAPIError as error:
            # Tried again, it would find its own work and take it for another's.
            if not error.connection_invalidated or not self._went_through(noted, error):
                raise

    def _went_through(self, noted: Write, error: exc.DBAPIError) -> bool:
        from plimsoll_predictor.store.database import postgresql

        end_s, pause_s = time.monotonic() + _UNSURE_S, _FIRST_PAUSE_S
        self.trouble = str(store_error(error, self.where))
        try:
            while (answer := postgresql.went_through(self.engine, noted)) is None:
                if self._given_up.wait(pause_s) or time.monotonic() > end_s:
                    return False
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
            return answer
        finally:
            self.trouble = None

    @contextmanager
    def write_long(self) -> Iterator[sa.Connection]:
        """As ``write``, for as long as it takes: it may rewrite every row."""
        with self.write() as connection:
            _take_time(connection)
            yield connection

    @contextmanager
    def write_schema(self) -> Iterator[sa.Connection]:
        """As ``write_long``, for what may be repeated, such as the steps of the schema.

        If a commit's answer is lost, nobody asks whether it went through: the table that would tell
        is made here.
        """
        with self._writing(_commit_unnoted) as connection:
            _take_time(connection)
            yield connection

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except exc.SQLAlchemyError as error:
            raise store_error(error, self.where) from error
        except OverflowError as error:  # SQLite's driver, for an integer beyond 64 bits
            raise BadRecordError(f"store {self.where} refuses the record: {error}") from error


class Records:
    """A part of the store. clock: Unix seconds; dates what is written."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock


def _commit_unnoted(_connection: sa.Connection, transaction: sa.RootTransaction) -> None:
    transaction.commit()


def _take_time(connection: sa.Connection) -> None:
    if connection.dialect.name == "postgresql":
        from plimsoll_predictor.store.database import postgresql

        postgresql.take_time(connection)


def shown(address: sa.URL) -> str:
    """Return a database's address without secrets, for logs and for people.

    A password may also stand in the query (``?password=...``), where SQLAlchemy does not hide it.
    """
    told = {
        name: value
        for name, value in address.query.items()
        if name in _TOLD and not any(mark in str(value) for mark in ("=", "://"))
    }
    return address.set(query=told).render_as_string(hide_password=True)


def _address(url: str) -> sa.URL:
    url = url.strip()  # a Secret that was made from a file ends in a new line
    if "://" not in url:
        url = f"sqlite:///{url}"
    try:
        address = sa.make_url(url)
    except exc.ArgumentError as error:
        raise StoreError(
            "the store's address cannot be read; write 'sqlite:////var/lib/plimsoll/store.db' "
            "or 'postgresql://user:password@host/database'"
        ) from error
    if address.drivername in ("postgresql", "postgres"):
        address = address.set(drivername="postgresql+psycopg")
    if address.get_backend_name() not in ("sqlite", "postgresql"):
        raise StoreError(
            f"store {address.get_backend_name()} is neither sqlite nor postgresql; use one of them"
        )
    if address.get_backend_name() == "sqlite":
        _check_file(address)
    return address


def _postgresql(address: sa.URL, where: str, busy_timeout_s: float) -> sa.Engine:
    try:
        # Imported here: an SQLite store does not need the driver.
        from plimsoll_predictor.store.database import postgresql

        engine = sa.create_engine(
            address, pool_pre_ping=True, connect_args=postgresql.options(address)
        )
    except (ImportError, exc.ArgumentError) as error:
        raise StoreError(
            f"store {where} needs a database driver: {error}; for PostgreSQL: "
            "pip install '.[postgresql]' in Plimsoll's checkout"
        ) from error
    postgresql.tune(engine, _WRITE_OPTION, busy_timeout_s)
    return engine


def _check_file(address: sa.URL) -> None:
    if address.database in (None, "", ":memory:"):
        raise StoreError("a store in memory keeps nothing; write 'sqlite:////path/to/store.db'")
    folder = Path(str(address.database)).parent
    if not folder.is_dir():
        raise StoreError(f"store {address.database}: folder {folder} does not exist; make it first")


def _tune_sqlite(engine: sa.Engine) -> None:
    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: object) -> None:
        # Python's own handling begins transactions late, which loses the write lock's order.
        connection.isolation_level = None
        try:
            for pragma in _PRAGMAS:
                connection.execute(f"PRAGMA {pragma}").close()
        except BaseException:
            # The pool does not know it yet, so nobody else would close it.
            connection.close()
            raise

    @event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        writes = connection.get_execution_options().get(_WRITE_OPTION, False)
        # A reader that becomes a writer half-way cannot wait for another writer, so writers say
        # so at once.
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
