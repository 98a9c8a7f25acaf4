"""Airflow's metadata database is read on both kinds of servers; other databases are reported."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from plimsoll_operator.airflow_history.metadata import Metadata, MetadataError
from plimsoll_operator.airflow_history.past_tries import PastTry, observation_of
from plimsoll_predictor.core.record import Observation
from plimsoll_predictor.core.units import MIB

NOON = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
OF_INSTANCE = ("dag_id", "task_id", "run_id")
TIMES = ("start_date", "end_date")


def a_table(schema: sa.MetaData, name: str, *more: sa.Column[Any]) -> sa.Table:
    columns: list[sa.Column[Any]] = [sa.Column(each, sa.String(250)) for each in OF_INSTANCE]
    return sa.Table(name, schema, *columns, sa.Column("map_index", sa.Integer), *more)


def of_tries() -> list[sa.Column[Any]]:
    # Like Airflow's own type of times, SQLite keeps no zone.
    kind = sa.TIMESTAMP(timezone=True)
    return [
        sa.Column("try_number", sa.Integer),
        sa.Column("state", sa.String(20)),
        *(sa.Column(each, kind) for each in TIMES),
        sa.Column("operator", sa.String(1000)),
    ]


SCHEMA = sa.MetaData()
NOW = a_table(SCHEMA, "task_instance", *of_tries())
BEFORE = a_table(SCHEMA, "task_instance_history", *of_tries())
RENDERED = a_table(
    SCHEMA,
    "rendered_task_instance_fields",
    sa.Column("rendered_fields", sa.JSON),
    sa.Column("k8s_pod_yaml", sa.JSON),
)
XCOM = a_table(SCHEMA, "xcom", sa.Column("key", sa.String(512)), sa.Column("value", sa.JSON))
CHUNK = {"dag_id": "nightly", "task_id": "chunk", "run_id": "r1", "map_index": 3}


def a_try(number: int, state: str, ended: datetime = NOON, **changes: object) -> dict[str, object]:
    times = {"start_date": ended - timedelta(seconds=60), "end_date": ended}
    return {**CHUNK, "try_number": number, "state": state, **times, "operator": None} | changes


def an_engine(url: str) -> sa.Engine:
    address = sa.make_url(url)
    if address.get_backend_name() == "postgresql":
        address = address.set(drivername="postgresql+psycopg")
    return sa.create_engine(address)


@pytest.fixture
def url(empty_url: str) -> str:
    """A database as an Airflow leaves it, with two tries of a mapped task."""
    engine = an_engine(empty_url)
    resources = {"limits": {"memory": "64Mi"}, "requests": {"memory": "64Mi"}}
    fields = {"namespace": "shop", "container_resources": resources, "cmds": ["/task"] * 1000}
    with engine.begin() as connection:
        SCHEMA.create_all(connection)
        connection.execute(NOW.insert(), [a_try(2, "success"), a_try(1, "running", run_id="r2")])
        connection.execute(BEFORE.insert(), [a_try(1, "failed", NOON - timedelta(minutes=5))])
        connection.execute(
            RENDERED.insert(), [{**CHUNK, "rendered_fields": fields, "k8s_pod_yaml": None}]
        )
        xcoms = {"pod_name": "nightly-chunk-x", "pod_namespace": "shop", "return_value": [1]}
        connection.execute(
            XCOM.insert(), [{**CHUNK, "key": key, "value": xcoms[key]} for key in xcoms]
        )
    engine.dispose()
    return empty_url


def tries_of(url: str, since: datetime, until: datetime) -> list[PastTry]:
    metadata = Metadata.open(url)
    try:
        return list(metadata.tries(since.timestamp(), until.timestamp()))
    finally:
        metadata.close()


def test_all_tries_that_ended_are_read_with_what_is_left_of_their_pods(url: str) -> None:
    found = tries_of(url, NOON - timedelta(days=1), NOON + timedelta(days=1))
    assert sorted((each.number, each.state) for each in found) == [(1, "failed"), (2, "success")]
    for each in found:
        attempt = observation_of(each, None)
        assert isinstance(attempt, Observation)
        assert str(attempt.task) == "shop/nightly.chunk"
        assert attempt.run == "airflow:nightly.chunk:r1:3"
        assert (attempt.runtime_s, attempt.request_bytes) == (60.0, 64 * MIB)


@pytest.mark.slow
def test_only_what_ended_within_the_time_is_read(url: str) -> None:
    late = tries_of(url, NOON - timedelta(minutes=1), NOON + timedelta(days=1))
    assert [each.number for each in late] == [2]
    assert tries_of(url, NOON + timedelta(days=1), NOON + timedelta(days=2)) == []


def test_the_database_is_not_written(url: str) -> None:
    metadata = Metadata.open(url)
    try:
        with (
            pytest.raises(MetadataError, match=r"read-?only"),
            metadata._reading() as connection,
        ):
            connection.execute(sa.delete(NOW))
    finally:
        metadata.close()


def test_a_database_of_something_else_is_told_by_the_table_that_it_lacks(empty_url: str) -> None:
    engine = an_engine(empty_url)
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE sales (amount INTEGER)"))
    engine.dispose()
    with pytest.raises(MetadataError, match=r"no metadata database of Airflow .* task_instance"):
        tries_of(empty_url, NOON, NOON + timedelta(days=1))


def test_an_older_airflow_is_told_by_the_column_that_it_lacks(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "old.db")) as old:
        old.execute("CREATE TABLE task_instance (dag_id TEXT, task_id TEXT, run_id TEXT)")
    with pytest.raises(MetadataError, match="task_instance has no column map_index, try_number"):
        tries_of(f"sqlite:///{tmp_path}/old.db", NOON, NOON + timedelta(days=1))


@pytest.mark.parametrize(
    ("url", "words"),
    [
        pytest.param("sqlite:////nowhere/airflow.db", "there is no file", id="no such file"),
        pytest.param("mysql://me@host/airflow", "mysql.*only sqlite and postgresql", id="MySQL"),
        pytest.param("airflow.db", "has an address such as", id="no address"),
    ],
)
def test_an_address_that_cannot_be_read_is_told(url: str, words: str) -> None:
    with pytest.raises(MetadataError, match=words):
        Metadata.open(url)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+psycopg2://airflow:secret@127.0.0.1:1/airflow",
        "postgresql://127.0.0.1:1/airflow?user=airflow&password=secret",
    ],
)
def test_no_password_is_shown(url: str) -> None:
    metadata = Metadata.open(url)
    with pytest.raises(MetadataError, match="cannot be read") as told:
        list(metadata.tries(0.0, 1.0))
    assert "secret" not in str(told.value)
    assert "secret" not in metadata.where


def test_a_file_that_is_no_database_is_told(tmp_path: Path) -> None:
    (tmp_path / "notes.db").write_text("not a database, but long enough to be read as one" * 50)
    with pytest.raises(MetadataError, match="not a database"):
        tries_of(f"sqlite:///{tmp_path}/notes.db", NOON, NOON + timedelta(days=1))
