"""A PostgreSQL that goes, hangs or is cut off: nothing acknowledged is lost or doubled."""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

import psycopg
import pytest
import sqlalchemy as sa

from plimsoll_predictor.core.units import DAY_S
from plimsoll_predictor.store import RetryIntent, Store, StoreError, Writer
from plimsoll_predictor.store.database import postgresql as connections
from plimsoll_predictor.store.database.database import Database
from plimsoll_predictor.store.database.schema import last_writes
from tests.builders.stores import NOON_S, TRAIN, an_attempt, noting_threads, open_store_at
from tests.rigs.servers.cut_wires import Wire, a_wire
from tests.rigs.servers.databases import PostgreSQL, postgresql_server


@dataclass(frozen=True, slots=True)
class Server:
    """A server of the test's own, that it may stop, and a database on it."""

    server: PostgreSQL
    database: str

    @property
    def url(self) -> str:
        return self.server.url(self.database, "127.0.0.1")


@pytest.fixture(scope="module")
def own_server() -> Iterator[PostgreSQL]:
    with postgresql_server() as server:
        yield server


@pytest.fixture
def away(own_server: PostgreSQL) -> Iterator[Server]:
    name = own_server.new_database()
    yield Server(own_server, name)
    own_server.drop(name)


@pytest.fixture
def wire(away: Server) -> Iterator[Wire]:
    with a_wire(away.server.port) as made:
        yield made


def through(wire: Wire, away: Server) -> str:
    return away.url.replace(str(away.server.port), str(wire.port))


def an_intent(uid: str = "u") -> RetryIntent:
    return RetryIntent(
        attempt_uid=uid,
        namespace="shop",
        pod="train",
        new_pod="train-2",
        manifest="{}",
        planned_s=NOON_S,
    )


async def until_in_trouble(writer: Writer) -> str:
    async with asyncio.timeout(180):
        while writer.trouble is None:
            await asyncio.sleep(0.01)
    return writer.trouble


@pytest.mark.slow
@pytest.mark.parametrize("how", ["fast", "immediate"])
async def test_a_server_that_stops_and_starts_again_loses_nothing(away: Server, how: str) -> None:
    store = open_store_at(away.url)
    writer = Writer(store)
    assert (await writer.record(an_attempt("before").built)).new
    with away.server.away(how), noting_threads(store) as threads:
        waiting = [
            asyncio.create_task(writer.record(an_attempt(f"u{number}").built))
            for number in range(200)
        ]
        assert away.database in await until_in_trouble(writer)
        with pytest.raises(StoreError, match="check"):
            await writer.read(store.observations.of_task, TRAIN)
        assert threads
        assert threading.get_ident() not in threads, "the event loop waits for no server"
        assert not any(task.done() for task in waiting)
    assert [each.new for each in await asyncio.gather(*waiting)] == [True] * 200
    assert writer.trouble is None
    assert len(await writer.read(store.observations.of_task, TRAIN)) == 201
    await writer.close()
    store.close()


@pytest.mark.slow
async def test_a_server_that_stands_still_is_given_up_and_tried_again(
    away: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store_at(away.url)
    writer = Writer(store)
    # Before the first transaction: a connection that is used again is first asked if it is alive,
    # and waits as long for that as in its last transaction.
    monkeypatch.setattr(connections, "ANSWER_WITHIN_S", 1.0)
    assert (await writer.record(an_attempt("before").built)).new
    with away.server.frozen():
        waiting = asyncio.create_task(writer.record(an_attempt("meanwhile").built))
        assert re.search("said nothing for 1 s|timeout expired", await until_in_trouble(writer))
        with pytest.raises(StoreError):
            await writer.read(store.observations.of_task, TRAIN)
    assert (await waiting).new
    assert len(await writer.read(store.observations.of_task, TRAIN)) == 2
    await writer.close()
    store.close()


@pytest.mark.slow
def test_a_server_that_is_down_at_the_start_is_named_at_once(away: Server) -> None:
    with away.server.away():
        began_s = time.monotonic()
        with pytest.raises(StoreError, match="check") as raised:
            Store.open(away.url)
        assert time.monotonic() - began_s < 10
    assert away.database in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.slow
@pytest.mark.parametrize("times", [1, 2])
async def test_a_commit_whose_answer_is_lost_is_not_taken_for_anothers(
    away: Server, wire: Wire, times: int
) -> None:
    """Tried again, it would find the retry already planned, and nobody would make it."""
    store = open_store_at(through(wire, away))
    writer = Writer(store)
    for number in range(times):
        wire.cut_after = b"COMMIT"
        assert await writer.call(store.retries.plan, an_intent(f"u{number}"))
        assert wire.cuts == 2 * number + 1
        wire.cut_after = b"COMMIT"
        kept = await writer.record(an_attempt(f"u{number}").built)
        assert (kept.new, kept.learned) == (True, True)
        assert wire.cuts == 2 * number + 2
    assert len(store.retries.waiting()) == times
    assert len(store.experts.lessons(0)) == times
    await writer.close()
    store.close()


async def test_a_commit_that_never_came_through_is_made_again(away: Server, wire: Wire) -> None:
    store = open_store_at(through(wire, away))
    writer = Writer(store)
    wire.cut_after = b"INSERT INTO retries"
    assert await writer.call(store.retries.plan, an_intent())
    assert wire.cuts == 1
    assert len(store.retries.waiting()) == 1
    await writer.close()
    store.close()


async def test_a_lost_commit_whose_number_another_was_given_is_made_again(
    away: Server, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a crash or a failover the server gives a number again that it had not flushed."""
    with away.server.administering(away.database) as other:
        row = other.execute("SELECT pg_current_xact_id()::text").fetchone()
    assert row is not None
    note, number = connections.note, str(row[0])
    monkeypatch.setattr(connections, "note", lambda made: replace(note(made), number=number))
    store = open_store_at(through(wire, away))
    writer = Writer(store)
    wire.cut_before = b"COMMIT"
    assert await writer.call(store.retries.plan, an_intent())
    assert wire.cuts == 1
    assert len(store.retries.waiting()) == 1
    await writer.close()
    store.close()


class Interrupted(Exception):
    """Something fails in the middle of a transaction."""


def undone_in(store: Store) -> connections.Write:
    with suppress(Interrupted), store.database.write() as connection:
        noted = connections.note(connection)
        raise Interrupted
    return noted


def test_whether_a_commit_went_through_is_known_by_its_note_whoever_wrote_since(
    away: Server,
) -> None:
    store, others = open_store_at(away.url), open_store_at(away.url)
    engine = store.database.engine
    with store.database.write() as connection:
        committed = connections.note(connection)
        assert connections.went_through(engine, committed) is None, "it is under way"
    assert others.retries.plan(an_intent())
    assert connections.went_through(engine, committed) is True
    assert connections.went_through(engine, undone_in(store)) is False
    unknown = replace(committed, number=str(2**40))
    assert connections.went_through(engine, unknown) is False, "its log ends before that number"
    others.close()
    store.close()


@pytest.mark.slow
def test_a_standby_is_not_asked_whether_a_commit_went_through_before_it_took_over(
    away: Server,
) -> None:
    store = open_store_at(away.url)
    engine = store.database.engine
    with store.database.write() as connection:
        committed = connections.note(connection)
    with away.server.standing_by():
        assert connections.went_through(engine, committed) is None
    assert connections.went_through(engine, committed) is True
    store.close()


def notes_in(store: Store) -> dict[str, float]:
    """When each connection wrote last, by the server's clock."""
    rows = store.database.rows(sa.select(last_writes))
    return {row.connection_id: row.put_s for row in rows}


def test_notes_of_connections_that_are_long_gone_are_deleted(away: Server) -> None:
    store = open_store_at(away.url)
    for number in range(3):
        assert store.retries.plan(an_intent(f"u{number}"))
        store.database.engine.dispose()
    before = notes_in(store)
    assert len(before) == 3
    list(store.prune_steps(max(before.values()) + 1))
    assert before.items() <= notes_in(store).items()
    list(store.prune_steps(max(before.values()) + 2 * DAY_S))
    assert not before.keys() & notes_in(store).keys()
    store.close()


@pytest.mark.slow
async def test_closing_does_not_wait_for_a_server_that_is_gone(
    away: Server, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store_at(through(wire, away))
    writer = Writer(store, close_timeout_s=0.5)
    monkeypatch.setattr(connections, "ANSWER_WITHIN_S", 1.0)
    await writer.record(an_attempt("before").built)
    wire.silent = True
    waiting = asyncio.create_task(writer.record(an_attempt("u").built))
    await until_in_trouble(writer)
    async with asyncio.timeout(60):
        await writer.close()
    with pytest.raises(StoreError):
        await waiting
    wire.silent = False
    store.close()


@pytest.mark.slow
def test_who_is_cut_off_in_the_middle_of_a_write_holds_nobody_up(
    away: Server, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other controller continues within seconds, though the first one never freed its lock."""
    monkeypatch.setitem(connections._SETTINGS, "idle_in_transaction_session_timeout", "1s")
    cut_off = Database.connect(through(wire, away), 5.0)
    other = open_store_at(away.url, busy_timeout_s=20.0)

    def be_cut_off() -> None:
        with cut_off.write() as connection:
            connection.exec_driver_sql("SELECT 1")
            wire.silent = True
            began_s = time.monotonic()
            assert other.retries.plan(an_intent())
            assert time.monotonic() - began_s < 10
            wire.silent = False
            connection.exec_driver_sql("SELECT 1")

    with pytest.raises(StoreError):
        be_cut_off()
    other.close()
    cut_off.close()


def test_the_settings_that_end_waiting_reach_the_server(away: Server) -> None:
    database = Database.connect(away.url, 2.5)
    with database.read() as connection:
        said = {
            name: connection.exec_driver_sql(f"SHOW {name}").scalar()
            for name in (
                "statement_timeout",
                "lock_timeout",
                "idle_in_transaction_session_timeout",
                "tcp_keepalives_idle",
                "application_name",
            )
        }
    database.close()
    assert said == {
        "statement_timeout": "20s",
        "lock_timeout": "2500ms",
        "idle_in_transaction_session_timeout": "10s",
        "tcp_keepalives_idle": "5",
        "application_name": "plimsoll",
    }


@pytest.mark.slow
def test_a_statement_that_takes_too_long_is_given_up_unless_it_may_take_its_time(
    away: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A busy machine may take a second for statements that wait for nothing.
    monkeypatch.setitem(connections._SETTINGS, "statement_timeout", "1s")
    monkeypatch.setitem(connections._SETTINGS, "idle_in_transaction_session_timeout", "1s")
    monkeypatch.setattr(connections, "ANSWER_WITHIN_S", 2.0)
    database = Database.connect(away.url, 5.0)
    with pytest.raises(StoreError, match="gave up a statement"), database.read() as connection:
        connection.exec_driver_sql("SELECT pg_sleep(60)")
    with database.write_long() as connection:
        connection.exec_driver_sql("SELECT pg_sleep(2.2)")
        time.sleep(1.2)
        connection.exec_driver_sql("SELECT 1")
    with pytest.raises(StoreError, match="gave up a statement"), database.read() as connection:
        connection.exec_driver_sql("SELECT pg_sleep(60)")
    database.close()


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        pytest.param(
            "ALTER DATABASE {database} SET default_transaction_read_only = on",
            "may only be read: it is a standby",
            id="a standby",
        ),
        pytest.param("REVOKE ALL ON retries FROM plimsoll", "grant all", id="a right taken away"),
        pytest.param("DROP TABLE retries", "restore a backup", id="a table that is gone"),
    ],
)
def test_a_server_that_will_not_write_says_why(away: Server, statement: str, words: str) -> None:
    store = open_store_at(away.url)
    with away.server.administering(away.database) as connection:
        connection.execute(statement.format(database=away.database).encode())
    store.database.engine.dispose()
    with pytest.raises(StoreError, match=words):
        store.retries.plan(an_intent())
    store.close()


async def test_a_server_that_only_reads_is_left_for_the_one_that_writes(away: Server) -> None:
    """As after a failover: the old primary is a standby, and its connections stay open."""
    store = open_store_at(away.url)
    writer = Writer(store)
    await writer.record(an_attempt("before").built)
    set_read_only(away, "on")
    store.database.engine.dispose()
    waiting = asyncio.create_task(writer.record(an_attempt("meanwhile").built))
    assert "standby" in await until_in_trouble(writer)
    assert len(await writer.read(store.observations.of_task, TRAIN)) == 1
    set_read_only(away, "off")
    async with asyncio.timeout(30):
        assert (await waiting).new
    assert writer.trouble is None
    await writer.close()
    store.close()


def set_read_only(away: Server, value: str) -> None:
    """Sessions that are open keep what they began with."""
    words = f"ALTER DATABASE {away.database} SET default_transaction_read_only = {value}"
    with away.server.administering() as connection:
        connection.execute(words.encode())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param(("a-test", "another"), "password", id="a wrong password"),
        pytest.param(("/t", "/nobody-made-t"), "does not exist", id="no such database"),
    ],
)
def test_a_store_that_cannot_be_reached_says_why_and_never_the_password(
    away: Server, change: tuple[str, str], words: str
) -> None:
    with pytest.raises(StoreError, match=words) as raised:
        Store.open(away.url.replace(*change))
    assert "s-password" not in str(raised.value)
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(away.url.replace(*change))
