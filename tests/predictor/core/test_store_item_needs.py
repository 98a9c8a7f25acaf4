"""Which needs of workflows' items the store gives back, and in which order."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from plimsoll_predictor.core.record import Observation, Outcome
from plimsoll_predictor.store import ItemNeed, Store
from tests.builders.stores import NOON_S, TRAIN, an_attempt, open_store, open_store_at


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    opened = open_store_at(store_url)
    yield opened
    opened.close()


def a_step(uid: str, ended_s: float = NOON_S, **changes: Any) -> Observation:
    of_item = {"workflow_run": "r1", "item": "s1", "finished_s": ended_s}
    return replace(an_attempt(uid).built, **{**of_item, **changes})


@pytest.mark.slow
def test_needs_come_in_the_order_their_runs_ended(store: Store) -> None:
    store.observations.record([a_step("late", NOON_S + 9, item="s2"), a_step("early", NOON_S + 1)])
    store.observations.record([a_step("first", NOON_S, workflow_run=None)])
    needs = [
        ItemNeed(TRAIN, run, item, 500_000_000)
        for run, item in ((None, "s1"), ("r1", "s1"), ("r1", "s2"))
    ]
    assert store.observations.item_needs() == needs
    assert store.observations.item_needs(limit=2) == needs[1:]


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"item": None}, id="no item"),
        pytest.param({"outcome": Outcome.OOM_KILLED}, id="a kill"),
        pytest.param({"outcome": Outcome.FAILED}, id="a failure"),
        pytest.param({"peak_bytes": None, "peak_source": None}, id="nobody measured"),
    ],
)
def test_what_tells_no_need_of_an_item_is_left_out(store: Store, changes: dict[str, Any]) -> None:
    store.observations.record([a_step("u", **changes)])
    assert store.observations.item_needs() == []


def test_a_peak_that_came_late_is_what_was_needed(store: Store) -> None:
    store.observations.record([a_step("u", peak_bytes=None, peak_source=None)])
    store.observations.record([a_step("u", peak_bytes=7)])
    assert store.observations.item_needs() == [ItemNeed(TRAIN, "r1", "s1", 7)]


def test_they_are_found_by_an_index_of_their_own(tmp_path: Path) -> None:
    """A million observations without items are not read."""
    open_store(tmp_path).close()
    with sqlite3.connect(tmp_path / "store.db") as connection:
        plan = connection.execute(
            "EXPLAIN QUERY PLAN SELECT task FROM observations WHERE item IS NOT NULL"
            " AND outcome = 'succeeded' AND peak_bytes > 0 ORDER BY ordered_s DESC, id DESC LIMIT 9"
        ).fetchall()
    connection.close()
    assert [row[3] for row in plan] == ["SCAN observations USING INDEX ix_observations_items"]
