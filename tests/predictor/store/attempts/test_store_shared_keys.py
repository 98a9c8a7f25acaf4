"""Executions that have one key: the run of each, and the lift that waits for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pytest

from plimsoll_predictor.core.record import Observation, Outcome
from plimsoll_predictor.core.units import GIB
from plimsoll_predictor.knowledge.knowledge import Lift
from plimsoll_predictor.store import Store
from tests.builders.stores import JOIN, NOON_S, TRAIN, an_attempt, open_store_at

KEY = "gitlab:7:etl:main:abc"


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    opened = open_store_at(store_url)
    yield opened
    opened.close()


def an_end(
    uid: str, outcome: Outcome = Outcome.SUCCEEDED, key: str = KEY, at: int = 0
) -> Observation:
    """at: when it ended, in seconds after noon."""
    ended_s = NOON_S + at
    return an_attempt(uid).in_run(key).ending(outcome).running(ended_s - 1, ended_s).built


def a_kill(uid: str, at: int = 0) -> Observation:
    return an_end(uid, Outcome.OOM_KILLED, at=at)


def place(store: Store, *ends: Observation) -> list[str]:
    """Record each in its run, as that of a sibling; return the runs."""
    return _placed(store, store.observations.run_at_once, ends)


def place_in_turn(store: Store, *ends: Observation) -> list[str]:
    """Record each in its run, as of executions in turn; return the runs."""
    return _placed(store, store.observations.run_in_turn, ends)


def _placed(
    store: Store, run_of: Callable[[Observation], str], ends: Sequence[Observation]
) -> list[str]:
    runs = []
    for end in ends:
        runs.append(run_of(end))
        store.observations.record([replace(end, run=runs[-1])])
    return runs


@pytest.mark.parametrize("placing", [place, place_in_turn])
def test_a_keys_second_success_is_a_run_of_its_own_also_when_it_comes_again(
    store: Store, placing: Callable[..., list[str]]
) -> None:
    ends = [an_end("a"), an_end("b"), an_end("c")]
    for _ in range(2):
        assert placing(store, *ends) == [KEY, f"{KEY}#b", f"{KEY}#c"]
    assert store.totals.of(TRAIN).runs_known == 3


def test_what_did_not_succeed_has_the_siblings_key_before_and_after(store: Store) -> None:
    assert place(store, a_kill("k"), an_end("a"), a_kill("l")) == [KEY, KEY, KEY]


def test_what_ends_after_a_success_begins_an_execution_that_ends_with_the_next_one(
    store: Store,
) -> None:
    nights = [
        *(a_kill("k", 1), an_end("a", at=2)),
        *(a_kill("l", 3), an_end("f", Outcome.FAILED, at=4), an_end("b", at=5)),
        *(an_end("c", at=6), a_kill("m", 7)),
    ]
    runs = [KEY, KEY, *[f"{KEY}#l"] * 3, f"{KEY}#c", f"{KEY}#m"]
    for _ in range(2):
        assert place_in_turn(store, *nights) == runs


def test_what_is_seen_late_has_the_run_of_the_success_that_followed_it(store: Store) -> None:
    seen = [an_end("a", at=2), an_end("b", at=5), a_kill("l", 4), a_kill("k", 1)]
    assert place_in_turn(store, *seen) == [KEY, f"{KEY}#b", f"{KEY}#b", KEY]


def test_a_success_that_is_seen_late_ends_no_run_that_is_over(store: Store) -> None:
    seen = [an_end("b", at=5), an_end("a", at=2), a_kill("l", 6), an_end("d", at=9)]
    assert place_in_turn(store, *seen) == [KEY, f"{KEY}#a", f"{KEY}#l", f"{KEY}#l"]
    assert place_in_turn(store, an_end("c", at=8)) == [f"{KEY}#c"]


@pytest.mark.parametrize("placing", [place, place_in_turn])
def test_another_tasks_success_under_the_key_is_none(
    store: Store, placing: Callable[..., list[str]]
) -> None:
    placing(store, replace(an_end("a"), task=JOIN))
    assert placing(store, an_end("b")) == [KEY]


def test_a_long_key_stays_within_the_bound(store: Store) -> None:
    long = "k" * 200
    runs = place(store, *(an_end(uid * 36, key=long) for uid in "ab"))
    assert len(set(runs)) == 2
    killed = [an_end(uid * 36, Outcome.OOM_KILLED, long, at=3) for uid in "cd"]
    assert len({*runs, *place_in_turn(store, *killed)}) == 3, "both are of one execution"
    assert all(len(run) <= 200 for run in runs)


@pytest.mark.parametrize(
    "lift",
    [
        Lift(2 * GIB, 2, GIB, answered=True),
        Lift(2 * GIB, 2, GIB, as_written=True, answered=True),
        Lift(2 * GIB, 2, GIB, as_written=True, exactly=True, answered=True),
        Lift(2 * GIB, 2, GIB, as_written=True, exactly=True),
    ],
)
def test_a_lift_is_read_back_and_told_as_it_is(store: Store, lift: Lift) -> None:
    store.lifts.put(TRAIN, KEY, lift)
    assert store.lifts.of_task(TRAIN) == {KEY: lift}
    for killed_s in (None, NOON_S):
        assert Lift.from_told(replace(lift, killed_s=killed_s).told) == lift
