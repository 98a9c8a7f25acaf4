"""Needs of items are looked for among the newest attempts only, however many are stored."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import event

from plimsoll_predictor.core.record import Observation
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import Store
from plimsoll_predictor.store.attempts.observations import _LOOKED_AT
from tests.builders.stores import NOON_S, an_attempt, open_store_at

LIMIT = 20
LOOKED_AT = _LOOKED_AT * LIMIT


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    opened = open_store_at(store_url)
    yield opened
    opened.close()


def of_item(task: str, number: int, ended_s: float | None = None) -> Observation:
    built = an_attempt(f"{task}-{number}").of(TaskId.parse(task)).built
    ended_s = NOON_S + number if ended_s is None else ended_s
    return replace(built, item=f"i{number}", finished_s=ended_s)


def steps_of(store: Store) -> int:
    """How many steps SQLite's machine takes to look for the needs of items, in tens."""
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    def watch(driver: sqlite3.Connection, *_: object) -> None:
        driver.set_progress_handler(count, 10)

    def leave(driver: sqlite3.Connection, *_: object) -> None:
        driver.set_progress_handler(None, 0)

    engine = store.database.engine
    event.listen(engine, "checkout", watch)
    event.listen(engine, "checkin", leave)
    try:
        store.observations.item_needs(limit=LIMIT)
    finally:
        event.remove(engine, "checkout", watch)
        event.remove(engine, "checkin", leave)
    return steps


@pytest.mark.slow
@pytest.mark.parametrize(
    "peak_bytes",
    [
        pytest.param(500_000_000, id="all are of one namespace"),
        pytest.param(None, id="nobody measures"),
    ],
)
def test_to_look_for_needs_of_items_costs_no_more_with_more_attempts(
    tmp_path: Path, peak_bytes: int | None
) -> None:
    store = open_store_at(f"sqlite:///{tmp_path}/store.db")  # PostgreSQL counts no steps

    def put(first: int, count: int) -> None:
        made = [of_item("team/t", number) for number in range(first, first + count)]
        store.observations.record([replace(each, peak_bytes=peak_bytes) for each in made])

    put(0, LOOKED_AT)
    some = steps_of(store)
    put(LOOKED_AT, 4 * LOOKED_AT)
    assert some > 0
    assert steps_of(store) < 1.5 * some
    store.close()


@pytest.mark.slow
def test_a_need_is_found_among_as_many_as_are_looked_at(store: Store) -> None:
    """All ended at one time, so that they differ by their order in the store alone."""
    store.observations.record([of_item("calm/t", 0, NOON_S)])
    store.observations.record([of_item("team/t", each, NOON_S) for each in range(LOOKED_AT - 1)])
    assert len(store.observations.item_needs(limit=LIMIT)) == LIMIT + 1
    store.observations.record([of_item("team/t", LOOKED_AT, NOON_S)])
    told = store.observations.item_needs(limit=LIMIT)
    assert {each.task.namespace for each in told} == {"team"}
