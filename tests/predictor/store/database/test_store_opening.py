"""Opening a store: its schema, and what can be wrong with the file."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from plimsoll_predictor.store import (
    Store,
    StoreError,
)
from plimsoll_predictor.store.database.schema import metadata
from plimsoll_predictor.store.migrations import HEAD, KNOWN, VERSION_TABLE
from tests.builders.stores import TRAIN, an_attempt, open_store
from tests.rigs.servers.databases import USER, PostgreSQL


def test_what_was_recorded_is_there_after_opening_again(tmp_path: Path) -> None:
    first = open_store(tmp_path)
    first.observations.record([an_attempt("u").built])
    first.close()
    again = open_store(tmp_path)
    assert again.observations.of_task(TRAIN) == [an_attempt("u").built]
    again.close()


def test_a_plain_path_is_an_address_too(tmp_path: Path) -> None:
    Store.open(str(tmp_path / "plain.db")).close()
    assert (tmp_path / "plain.db").read_bytes().startswith(b"SQLite format 3")


def test_migrations_make_exactly_the_schema(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/store.db"
    Store.open(url).close()
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        options = {"compare_type": True, "version_table": VERSION_TABLE}
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, metadata) == []
    engine.dispose()


def test_the_head_named_in_code_is_the_newest_step() -> None:
    config = Config()
    config.set_main_option("script_location", "plimsoll_predictor.store:migrations")
    script = ScriptDirectory.from_config(config)
    assert script.get_current_head() == HEAD
    assert {step.revision for step in script.walk_revisions()} == set(KNOWN)


@pytest.mark.slow
def test_a_store_that_is_up_to_date_opens_without_loading_alembic(tmp_path: Path) -> None:
    open_store(tmp_path).close()
    program = (
        "import sys; from plimsoll_predictor.store import Store; "
        f"Store.open({str(tmp_path / 'store.db')!r}); print('alembic' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() == "False"


@pytest.mark.slow
def test_processes_that_open_a_new_store_at_once_make_it_once(tmp_path: Path) -> None:
    program = (
        "from plimsoll_predictor.store import Store; "
        f"print(Store.open({str(tmp_path / 'store.db')!r}).totals.tasks())"
    )
    started = [
        subprocess.Popen(
            [sys.executable, "-c", program],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    ends = [process.communicate() for process in started]
    assert [out.strip() for out, _ in ends] == ["[]"] * 3, ends


def test_a_commit_is_flushed_to_the_disk_before_it_is_acknowledged(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    with store.database.read() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2
    store.close()


def test_a_database_without_an_encoding_of_its_own_serves(postgresql: PostgreSQL) -> None:
    """What ``initdb`` makes in the locale C."""
    name = "of_ascii"
    with postgresql.administering() as connection:
        connection.execute(
            f"CREATE DATABASE {name} OWNER {USER} TEMPLATE template0"
            " ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C'"
        )
    store = Store.open(postgresql.url(name))
    store.observations.record([an_attempt("u").knowing(text="grün").built])
    assert store.observations.of_task(TRAIN) == [an_attempt("u").knowing(text="grün").built]
    store.close()
    postgresql.drop(name)


def a_text_file(path: Path) -> None:
    path.write_text("namespace,task\n" * 1000)


def another_products_database(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE dag_run (id INTEGER)")
    connection.close()


def a_newer_schema(path: Path) -> None:
    Store.open(f"sqlite:///{path}").close()
    with sqlite3.connect(path) as connection:
        connection.execute(f"UPDATE {VERSION_TABLE} SET version_num = '9999'")
        connection.execute("UPDATE compatibility SET oldest = '9999'")
    connection.close()


def a_torn_database(path: Path) -> None:
    Store.open(f"sqlite:///{path}").close()
    whole = path.read_bytes()
    path.write_bytes(whole[:100] + b"\xff" * 5000 + whole[5100:])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        pytest.param(a_text_file, "is not a Plimsoll database", id="a text file"),
        pytest.param(a_torn_database, "restore a backup", id="a damaged database"),
        pytest.param(
            another_products_database,
            "holds tables of something else \\(dag_run\\)",
            id="another product's database",
        ),
        pytest.param(
            a_newer_schema,
            f"schema 9999, this one knows {HEAD}",
            id="a newer schema",
        ),
        pytest.param(Path.mkdir, "cannot be opened", id="a folder"),
    ],
)
def test_a_file_that_is_no_store_is_refused_in_words(
    tmp_path: Path, make: Callable[[Path], None], words: str
) -> None:
    make(tmp_path / "store.db")
    with pytest.raises(StoreError, match=words) as raised:
        open_store(tmp_path)
    assert str(tmp_path / "store.db") in str(raised.value)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        pytest.param("sqlite://", "in memory keeps nothing", id="in memory"),
        pytest.param("mysql://host/db", "neither sqlite nor postgresql", id="another database"),
        pytest.param("sqlite:////nowhere/at/all/store.db", "does not exist", id="no such folder"),
        pytest.param("postgres ql://x", "cannot be read", id="no address"),
    ],
)
def test_an_address_that_cannot_serve_is_refused_in_words(url: str, words: str) -> None:
    with pytest.raises(StoreError, match=words):
        Store.open(url)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://plimsoll:hunter2@127.0.0.1:1/plimsoll",
        "postgresql://127.0.0.1:1/plimsoll?user=plimsoll&password=hunter2",
        "postgresql://plimsoll@127.0.0.1:1/plimsoll?sslmode=require&sslpassword=hunter2",
        "postgresql://127.0.0.1:1/plimsoll?dbname=postgresql%3A%2F%2Fu%3Ahunter2%40h%2Fp",
        "postgresql://127.0.0.1:1/plimsoll?dbname=dbname%3Dp%20password%3Dhunter2",
    ],
)
def test_an_error_names_the_server_and_never_the_password(url: str) -> None:
    with pytest.raises(StoreError, match=r"127\.0\.0\.1:1/plimsoll") as raised:
        Store.open(url)
    assert "hunter2" not in str(raised.value)


def test_an_error_names_the_servers_that_stand_in_the_query() -> None:
    with pytest.raises(StoreError, match=r"host=127\.0\.0\.1") as raised:
        Store.open("postgresql:///plimsoll?host=127.0.0.1&port=1&password=hunter2")
    assert "hunter2" not in str(raised.value)


def test_an_address_from_a_file_may_end_in_a_new_line(tmp_path: Path) -> None:
    Store.open(f"sqlite:///{tmp_path}/store.db\n").close()
    assert (tmp_path / "store.db").exists()


def test_a_locked_store_says_so(tmp_path: Path) -> None:
    store = open_store(tmp_path, busy_timeout_s=0.05)
    other = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="is locked by another process; end what holds it"):
        store.observations.record([an_attempt().built])
    assert store.observations.of_task(TRAIN) == [], "reading waits for no writer"
    other.execute("ROLLBACK")
    other.close()
    assert store.observations.record([an_attempt().built]).new == {"uid-1"}
    store.close()


@pytest.mark.slow
def test_a_store_at_its_size_limit_says_it_is_full(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    with store.database.read() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
        connection.exec_driver_sql(f"PRAGMA max_page_count={pages}")
    big = [an_attempt(f"u{number}").knowing(text="x" * 2000).built for number in range(500)]
    with pytest.raises(StoreError, match="the disk is full; free some space"):
        store.observations.record(big)
    assert store.observations.of_task(TRAIN) == []
    store.close()
