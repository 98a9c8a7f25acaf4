"""Finished runs with nodes and neighbours, as placing reads them back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from plimsoll_predictor.core.record import Observation, Outcome
from plimsoll_predictor.placing.placed_run import PlacedRun
from plimsoll_predictor.placing.stays import Stay
from plimsoll_predictor.store import ForecastScore, Store
from plimsoll_predictor.store.learned.runtimes import UnsavedRuntimes
from tests.builders.stores import TRAIN, open_store_at


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    opened = open_store_at(store_url)
    yield opened
    opened.close()


def a_run(uid: str, at_s: float = 0.0) -> Observation:
    return Observation(
        attempt_uid=uid,
        task=TRAIN,
        run=uid,
        outcome=Outcome.SUCCEEDED,
        submitted_s=at_s,
        started_s=at_s + 1,
        finished_s=at_s + 61,
        node="node-1",
        beside={"shop/join": 0.5},
    )


def forecast(store: Store, *uids: str) -> None:
    scores = {uid: ForecastScore(0.7, 50.0) for uid in uids}
    through = store.runtimes.through()
    assert store.runtimes.save(UnsavedRuntimes(through=through + 1, scores=scores), {through})


def test_a_run_is_read_with_its_node_its_neighbours_and_its_forecast(store: Store) -> None:
    store.observations.record([a_run("u")])
    assert store.encounters.newest() == []
    forecast(store, "u")
    (found,) = store.encounters.newest()
    assert found == PlacedRun(
        kind=str(TRAIN),
        node="node-1",
        submitted_s=0.0,
        started_s=1.0,
        finished_s=61.0,
        forecast_s=50.0,
        beside={"shop/join": 0.5},
    )


def test_what_says_nothing_of_a_slowdown_is_left_out(store: Store) -> None:
    left_out = [
        replace(a_run("killed"), outcome=Outcome.OOM_KILLED),
        replace(a_run("nowhere"), node=None),
        replace(a_run("unseen"), beside=None),
        replace(a_run("timeless"), started_s=None),
    ]
    store.observations.record([*left_out, a_run("unforecast"), a_run("u")])
    forecast(store, *(each.attempt_uid for each in left_out), "u")
    assert len(store.encounters.newest()) == 1


def test_the_newest_are_read_oldest_first(store: Store) -> None:
    store.observations.record([a_run(f"u{number}", at_s=number) for number in range(40)])
    forecast(store, *(f"u{number}" for number in range(40)))
    found = [each.submitted_s for each in store.encounters.newest(limit=3)]
    assert found == [37, 38, 39]


def test_only_the_newest_observations_are_looked_at(store: Store) -> None:
    store.observations.record([a_run("old")])
    forecast(store, "old")
    store.observations.record([a_run(f"u{number}") for number in range(20)])
    assert store.encounters.newest(limit=2) == []
    assert len(store.encounters.newest(limit=3)) == 1


def test_ended_attempts_say_who_was_where_when(store: Store) -> None:
    nowhere = replace(a_run("nowhere"), node=None)
    killed = replace(a_run("k", at_s=100), outcome=Outcome.OOM_KILLED)
    store.observations.record([a_run("u"), nowhere, killed])
    assert store.encounters.newest_stays() == {
        "u": Stay("node-1", str(TRAIN), 1.0, 61.0),
        "k": Stay("node-1", str(TRAIN), 101.0, 161.0),
    }
    assert list(store.encounters.newest_stays(limit=1)) == ["k"]
