"""The settings of each connection to PostgreSQL, so that nobody waits without end.

A server may be gone without any error: its machine is off, its network cut, its disk hangs. We may
be gone, too, in the middle of a transaction that others wait for. So both sides give up.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Generator
from dataclasses import asdict, dataclass
from typing import Any, Final

import psycopg
import sqlalchemy as sa
from sqlalchemy import event, exc

from plimsoll_predictor.store.database.schema import last_writes
from plimsoll_predictor.store.database.upsert import upsert

STATEMENT_S: Final = 20.0
"""The server gives up a statement that takes longer."""
ANSWER_WITHIN_S: Final = STATEMENT_S + 5.0
"""We give up a server that says nothing for so long."""
IDLE_IN_TRANSACTION_S: Final = 10.0
"""The server ends a transaction whose owner says nothing: frozen, or cut off, it holds locks."""
WRITE_LOCK: Final = 0x706C696D736F6C6C
"""The advisory lock of a writer: one transaction at a time, as on SQLite."""

_CONNECTION_ID: Final = "plimsoll_connection_id"
_WRITE: Final = "plimsoll_write"
_STATUS: Final = sa.text(
    # A standby may not have read all of the log yet.
    "SELECT CASE WHEN pg_is_in_recovery() THEN 'in progress'"
    " ELSE pg_xact_status(CAST(:number AS xid8)) END"
)
_CONNECT_S: Final = 5
_OPTIONS: Final[dict[str, Any]] = {
    "application_name": "plimsoll",
    # A database in SQL_ASCII names no encoding of its own, and would answer in bytes.
    "client_encoding": "utf8",
    "connect_timeout": _CONNECT_S,
    "keepalives": 1,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}
_SETTINGS: Final = {
    "statement_timeout": f"{STATEMENT_S:.0f}s",
    "idle_in_transaction_session_timeout": f"{IDLE_IN_TRANSACTION_S:.0f}s",
    # The server's side of a cut network: without it, it would keep our locks for hours.
    "tcp_keepalives_idle": "5s",
    "tcp_keepalives_interval": "2s",
    "tcp_keepalives_count": "3",
}


@dataclass(frozen=True, slots=True)
class Write:
    """A writing transaction, as a row of ``last_writes``.

    connection_id: no two connections have the same. number: the server's; it gives numbers again
    that it lost in a crash or at a failover. put_s: when it began, by the server's clock.
    """

    connection_id: str
    number: str
    put_s: float


class PatientConnection(psycopg.Connection[Any]):
    """A connection that takes a server's silence for its end."""

    answer_within_s: float = ANSWER_WITHIN_S

    def wait(self, gen: Any, *args: Any, **kwargs: Any) -> Any:
        """As its base, for ``answer_within_s`` at most; then the connection is closed."""
        return super().wait(self._within(gen), *args, **kwargs)

    def _within(self, gen: Any) -> Generator[Any, Any, Any]:
        deadline_s = time.monotonic() + self.answer_within_s
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if not ready and time.monotonic() > deadline_s:
                    self.close()
                    raise psycopg.OperationalError(
                        f"the server said nothing for {self.answer_within_s:g} s"
                    )
                wanted = gen.send(ready)
        except StopIteration as end:
            return end.value


def options(address: sa.URL) -> dict[str, Any]:
    """The options of a connection; what the address itself says stays."""
    return {name: value for name, value in _OPTIONS.items() if name not in address.query}


def tune(engine: sa.Engine, write_option: str, lock_timeout_s: float) -> None:
    """Prepare the engine's connections and transactions.

    write_option: the execution option of a connection that is to hold the write lock.
    lock_timeout_s: how long a writer waits for another's transaction.
    """
    settings = {**_SETTINGS, "lock_timeout": f"{max(1, round(1000 * lock_timeout_s))}ms"}
    statements = "; ".join(f"SET {name} = '{value}'" for name, value in settings.items())

    @event.listens_for(engine, "do_connect")
    def connect(
        _dialect: sa.Dialect, _record: object, args: list[Any], parameters: dict[str, Any]
    ) -> PatientConnection:
        connection = PatientConnection.connect(*args, autocommit=True, **parameters)
        try:
            connection.execute(statements)
            connection.autocommit = False
        except BaseException:
            connection.close()
            raise
        return connection

    @event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        _driver(connection).answer_within_s = ANSWER_WITHIN_S
        if connection.get_execution_options().get(write_option, False):
            row = connection.exec_driver_sql(
                f"SELECT pg_advisory_xact_lock({WRITE_LOCK}), pg_current_xact_id()::text,"
                " extract(epoch FROM now())::float8"
            ).one()
            connection_id = connection.info.setdefault(_CONNECTION_ID, uuid.uuid4().hex)
            connection.info[_WRITE] = Write(connection_id, row[1], row[2])

    @event.listens_for(engine, "handle_error")
    def leave(context: sa.ExceptionContext) -> None:
        # A standby answers and keeps connections open, but the address may lead elsewhere by now.
        # A disconnect has the pool connect anew.
        if isinstance(context.original_exception, psycopg.errors.ReadOnlySqlTransaction):
            context.is_disconnect = True


def take_time(connection: sa.Connection) -> None:
    """Let this transaction take as long as it takes, such as one that rewrites all rows."""
    _driver(connection).answer_within_s = float("inf")
    for name in ("statement_timeout", "idle_in_transaction_session_timeout"):
        connection.exec_driver_sql(f"SET LOCAL {name} = 0")


def note(connection: sa.Connection) -> Write:
    """Write down the transaction that this connection is in; committed with all that it writes."""
    write: Write = connection.info[_WRITE]
    upsert(connection, last_writes, [asdict(write)])
    return write


def went_through(engine: sa.Engine, write: Write) -> bool | None:
    """Whether that transaction was committed; None while nobody knows.

    The connection may end in a commit, before its answer: then only the server can tell. Only the
    note proves it. What the server says of the number may be about another's transaction: after a
    crash, or on a server that took over, a number that was never flushed is given again.
    """
    mine = sa.select(last_writes.c.number).where(last_writes.c.connection_id == write.connection_id)
    try:
        with engine.connect() as connection:
            status = connection.execute(_STATUS, {"number": write.number}).scalar()
            # The note is read in a transaction of its own: this one may not see it yet.
            connection.rollback()
            if status == "in progress":
                # The address may lead to another server by the next time.
                connection.invalidate()
                return None
            return bool(connection.execute(mine).scalar() == write.number)
    except exc.DataError:
        return False  # a server that took over does not know it
    except exc.DBAPIError:
        return None


def _driver(connection: sa.Connection) -> PatientConnection:
    driver = connection.connection.driver_connection
    assert isinstance(driver, PatientConnection)
    return driver
