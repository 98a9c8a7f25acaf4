"""Stores of other versions: older ones are brought up to date, newer ones are not harmed."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from plimsoll_predictor.store import Store, StoreError
from plimsoll_predictor.store.database.schema import metadata
from plimsoll_predictor.store.migrations import HEAD, KNOWN, LATER_TABLES, VERSION_TABLE
from tests.builders.older_stores import insert, make_store_of, writing_to
from tests.builders.stores import JOIN, NOON_S, TRAIN, an_attempt, open_store_at


def a_row(uid: str, peak_bytes: int, task: str = str(TRAIN)) -> dict[str, Any]:
    """An observation as every Plimsoll has written it."""
    return {
        "attempt_uid": uid,
        "task": task,
        "run": f"run-{uid}",
        "attempt": 1,
        "ordered_s": NOON_S + 3600,
        "outcome": "succeeded",
        "features": "{}",
        "neighbours": "[]",
        "request_bytes": 4 * 10**9,
        "peak_bytes": peak_bytes,
        "cpu_s": 1800.0,
        "started_s": NOON_S,
        "finished_s": NOON_S + 3600,
    }


def as_a_newer_one_leaves_it(url: str, oldest: str) -> None:
    """Add a table, and columns that may be empty. oldest: the oldest code that may use it."""
    with writing_to(url) as connection:
        connection.exec_driver_sql("ALTER TABLE observations ADD COLUMN of_tomorrow TEXT")
        connection.exec_driver_sql("ALTER TABLE totals ADD COLUMN of_tomorrow TEXT")
        connection.exec_driver_sql("CREATE TABLE of_tomorrow (task TEXT PRIMARY KEY)")
        connection.exec_driver_sql(f"UPDATE {VERSION_TABLE} SET version_num = '9999'")
        connection.exec_driver_sql(f"UPDATE compatibility SET oldest = '{oldest}'")


@pytest.mark.slow
@pytest.mark.parametrize("revision", KNOWN[:-1])
def test_an_older_store_keeps_what_it_knew_and_goes_on_with_the_newest_tables(
    empty_url: str, revision: str
) -> None:
    make_store_of(revision, empty_url)
    insert(empty_url, "observations", [a_row("a", 10**9), a_row("b", 2 * 10**9)])
    insert(empty_url, "trainings", [{"task": str(TRAIN), "at_s": 1.5e9, "failure": "oh"}])
    store = open_store_at(empty_url)
    summary = store.totals.of(TRAIN)
    assert (summary.observations, summary.runs_known, summary.max_need_bytes) == (2, 2, 2 * 10**9)
    assert summary.requested_gb_h == pytest.approx(8.0)
    assert store.totals.cpu_uses()[TRAIN].high_cores == 0.5
    assert len(store.trainings.newest(TRAIN)) == 1
    store.observations.record([an_attempt("c").built])
    assert store.totals.of(TRAIN).observations == 3
    store.close()
    assert_newest_tables(empty_url)


@pytest.mark.slow
def test_totals_that_counted_limits_as_allocated_are_added_up_anew(empty_url: str) -> None:
    make_store_of("0017", empty_url)
    sizes = {"allocation_bytes": 16 * 10**9, "request_memory_ran_bytes": 4 * 10**9}
    insert(empty_url, "observations", [{**a_row("a", 10**9), **sizes}])
    sums = {column.name: 0.0 for column in metadata.tables["totals"].columns if not column.nullable}
    sums |= {"observations": 1, "runs_known": 1, "requested_gb_h": 4.0, "allocated_gb_h": 16.0}
    insert(empty_url, "totals", [{**sums, "task": str(TRAIN)}])
    store = open_store_at(empty_url)
    summary = store.totals.of(TRAIN)
    assert (summary.requested_gb_h, summary.allocated_gb_h) == pytest.approx((4.0, 4.0))
    assert summary.observations == summary.runs_known == 1
    store.close()


@pytest.mark.slow
def test_an_attempt_that_never_started_holds_no_memory_since_1970(empty_url: str) -> None:
    make_store_of("0018", empty_url)
    never = {**a_row("never", 10**9), "outcome": "failed", "cause": "never-started"}
    insert(empty_url, "observations", [{**never, "started_s": 0.0}, a_row("a", 10**9)])
    sums = {column.name: 0.0 for column in metadata.tables["totals"].columns if not column.nullable}
    insert(empty_url, "totals", [{**sums, "requested_gb_h": 2e6, "task": str(TRAIN)}])
    store = open_store_at(empty_url)
    assert store.totals.of(TRAIN).requested_gb_h == pytest.approx(4.0)
    starts = {each.attempt_uid: each.started_s for each in store.observations.of_task(TRAIN)}
    assert starts == {"never": None, "a": NOON_S}
    store.close()


@pytest.mark.slow
def test_a_new_store_has_the_tables_that_the_code_uses(empty_url: str) -> None:
    open_store_at(empty_url).close()
    assert_newest_tables(empty_url)


def assert_newest_tables(url: str) -> None:
    """All ways to the newest schema end in the same tables."""
    with writing_to(url) as connection:
        options = {"compare_type": True, "version_table": VERSION_TABLE}
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, metadata) == []


def _where(index: Mapping[str, Any]) -> dict[str, str]:
    return {"dialect_options": str({k: str(v) for k, v in index["dialect_options"].items()})}


def everything_of(url: str) -> dict[str, Any]:
    """All that a database says about its tables, without the order of their columns."""
    with writing_to(url) as connection:
        asked = sa.inspect(connection)
        return {
            table: (
                sorted(map(repr, asked.get_columns(table))),
                asked.get_pk_constraint(table),
                sorted(map(str, asked.get_unique_constraints(table))),
                sorted(str({**i, **_where(i)}) for i in asked.get_indexes(table)),
                connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar(),
            )
            for table in asked.get_table_names()
        }


@pytest.mark.slow
def test_a_new_store_is_made_at_once_as_all_steps_would_make_it(empty_url: str) -> None:
    open_store_at(empty_url).close()
    at_once = everything_of(empty_url)
    with writing_to(empty_url) as connection:
        for table in at_once:
            connection.exec_driver_sql(f"DROP TABLE {table}")
    make_store_of(KNOWN[0], empty_url)
    open_store_at(empty_url).close()
    assert at_once == everything_of(empty_url)


def tables_of(url: str) -> set[str]:
    with writing_to(url) as connection:
        return set(sa.inspect(connection).get_table_names())


@pytest.mark.slow
def test_each_step_makes_the_tables_that_are_named_for_it(tmp_path: Path) -> None:
    made: dict[str, set[str]] = {}
    for revision in KNOWN:
        url = f"sqlite:///{tmp_path}/{revision}.db"
        make_store_of(revision, url)
        made[revision] = tables_of(url)
    for before, revision in pairwise(KNOWN):
        assert made[revision] - made[before] == set(LATER_TABLES.get(revision, ())), revision


@pytest.mark.slow
@pytest.mark.parametrize("revision", [f"{int(step) - 1:04}" for step in LATER_TABLES])
def test_an_older_store_that_was_restored_over_a_newer_one_goes_on_from_the_backup(
    empty_url: str, revision: str
) -> None:
    """`pg_restore --clean` drops only the tables that are in the dump."""
    newer = open_store_at(empty_url)
    newer.observations.record([an_attempt("newer").built])
    newer.close()
    at_once = everything_of(empty_url)
    later = {name for step, names in LATER_TABLES.items() if step > revision for name in names}
    with writing_to(empty_url) as connection:
        for table in set(at_once) - later:
            connection.exec_driver_sql(f"DROP TABLE {table}")
    make_store_of(revision, empty_url)
    insert(empty_url, "observations", [a_row("a", 10**9)])
    store = open_store_at(empty_url)
    assert [each.attempt_uid for each in store.observations.of_task(TRAIN)] == ["a"]
    assert store.totals.of(TRAIN).observations == 1
    store.close()
    assert {table: shown[:-1] for table, shown in everything_of(empty_url).items()} == {
        table: shown[:-1] for table, shown in at_once.items()
    }


def test_a_table_of_others_with_the_name_of_a_later_one_stays_and_the_store_says_why(
    empty_url: str,
) -> None:
    make_store_of("0011", empty_url)
    with writing_to(empty_url) as connection:
        connection.exec_driver_sql("CREATE TABLE campaigns (uid TEXT PRIMARY KEY, budget INTEGER)")
    insert(empty_url, "campaigns", [{"uid": "theirs", "budget": 7}])
    with pytest.raises(StoreError, match=r'campaigns"? already exists'):
        Store.open(empty_url)
    with writing_to(empty_url) as connection:
        found = connection.exec_driver_sql("SELECT uid, budget FROM campaigns").all()
        assert [tuple(row) for row in found] == [("theirs", 7)]


@pytest.mark.slow
def test_a_store_that_is_open_works_on_while_a_newer_plimsoll_adds_to_it(store_url: str) -> None:
    """An older controller leads until the newer one takes over."""
    older = open_store_at(store_url)
    older.observations.record([an_attempt("before").built])
    as_a_newer_one_leaves_it(store_url, oldest="9999")
    older.observations.record([an_attempt("after").built, an_attempt("before").peaking(9).built])
    older.models.save(TRAIN, None, {})
    assert older.totals.of(TRAIN).observations == 2
    assert len(older.observations.of_task(TRAIN)) == 2
    assert sum(older.prune_steps(NOON_S)) == 0
    older.close()


@pytest.mark.slow
def test_a_store_of_a_newer_plimsoll_is_refused_in_words_and_left_alone(store_url: str) -> None:
    store = open_store_at(store_url)
    store.observations.record([an_attempt().built])
    as_a_newer_one_leaves_it(store_url, oldest="9999")
    with pytest.raises(StoreError, match=f"schema 9999, this one knows {HEAD}"):
        Store.open(store_url)
    assert len(store.observations.of_task(TRAIN)) == 1
    store.close()


@pytest.mark.slow
def test_a_newer_plimsolls_store_that_older_code_may_use_is_used_and_not_changed(
    store_url: str,
) -> None:
    """After a rollback, or when an older pod starts again while a newer version rolls out."""
    open_store_at(store_url).close()
    as_a_newer_one_leaves_it(store_url, oldest=HEAD)
    older = open_store_at(store_url)
    older.observations.record([an_attempt().built])
    assert older.totals.of(TRAIN).observations == 1
    older.close()
    with writing_to(store_url) as connection:
        found = connection.exec_driver_sql(f"SELECT version_num FROM {VERSION_TABLE}")
        assert found.scalars().all() == ["9999"]


@pytest.mark.slow
def test_what_an_older_plimsoll_writes_beside_a_newer_one_is_added_up(store_url: str) -> None:
    """The older one knows no totals; the newer one looks for its rows before it leads."""
    newer = open_store_at(store_url)
    newer.observations.record([an_attempt("new").built])
    insert(store_url, "observations", [a_row("old", 3 * 10**9), a_row("j", 7, str(JOIN))])
    assert newer.totals.mend() == 2
    assert newer.totals.mend() == 0
    summary = newer.totals.of(TRAIN)
    assert (summary.observations, summary.max_need_bytes) == (2, 3 * 10**9)
    assert newer.totals.tasks() == [JOIN, TRAIN]
    with writing_to(store_url) as connection:
        connection.execute(sa.text("DELETE FROM observations WHERE attempt_uid = 'j'"))
    assert newer.totals.mend() == 1
    assert newer.totals.tasks() == [TRAIN]
    newer.close()
