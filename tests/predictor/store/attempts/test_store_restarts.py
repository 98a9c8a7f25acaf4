"""Restarts in the log of lessons: from an OOM kill to the next attempt of its run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from plimsoll_predictor.core.record import Observation, Outcome, PeakSource
from plimsoll_predictor.store import Store
from tests.builders.stores import NOON_S, an_attempt, open_store_at


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    opened = open_store_at(store_url)
    yield opened
    opened.close()


def a_try(
    uid: str,
    number: int,
    start: float,
    end: float,
    outcome: Outcome = Outcome.SUCCEEDED,
    run: str = "r",
) -> Observation:
    """start, end: seconds after noon."""
    built = an_attempt(uid).in_run(run).ending(outcome).running(NOON_S + start, NOON_S + end).built
    return replace(built, attempt=number)


def a_kill(uid: str, number: int, start: float, end: float, run: str = "r") -> Observation:
    return a_try(uid, number, start, end, Outcome.OOM_KILLED, run)


def restarts(store: Store) -> dict[str, float | None]:
    return {each.attempt_uid: each.restart_s for each in store.experts.lessons(0)}


def recorded(store: Store, *attempts: Observation) -> dict[str, float | None]:
    for each in attempts:
        store.observations.record([each])
    return restarts(store)


def test_a_kill_and_the_next_attempts_start_are_one_restart(store: Store) -> None:
    first, second, third = a_kill("a", 1, 0, 10), a_kill("b", 2, 22, 30), a_try("c", 3, 95, 100)
    assert recorded(store, first, second, third) == {"a": None, "b": 12.0, "c": 65.0}


def test_it_is_the_same_however_often_it_is_read_and_of_one_write(store: Store) -> None:
    store.observations.record([a_kill("a", 1, 0, 10), a_try("b", 2, 22, 30)])
    assert restarts(store) == restarts(store) == {"a": None, "b": 12.0}


def test_a_container_that_restarted_in_its_pod_counts(store: Store) -> None:
    assert recorded(store, a_kill("a", 1, 0, 10), a_try("a/1", 1, 20, 30))["a/1"] == 10.0


def test_a_start_a_little_before_the_kill_is_another_nodes_clock(store: Store) -> None:
    assert recorded(store, a_kill("a", 1, 0, 10), a_try("b", 2, 8, 30))["b"] == 0.0


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(
            a_try("a", 1, 0, 10, Outcome.FAILED), a_try("b", 2, 20, 30), id="it failed otherwise"
        ),
        pytest.param(a_kill("a", 1, 0, 10, "other"), a_try("b", 2, 20, 30), id="another run"),
        pytest.param(a_kill("a", 1, 0, 10), a_try("b", 1, 20, 30), id="a sibling's first attempt"),
        pytest.param(a_kill("a", 1, 0, 100), a_try("b", 2, 20, 130), id="it ran beside it"),
        pytest.param(
            a_kill("a", 1, 0, 10),
            replace(a_try("b", 2, 20, 30), started_s=None),
            id="nobody knows when it started",
        ),
        pytest.param(
            a_kill("a", 1, 0, 10),
            replace(a_try("b", 2, 20, 30), peak_source=PeakSource.IMPORTED),
            id="imported",
        ),
    ],
)
def test_what_is_no_restart_is_not_taken_for_one(
    store: Store, first: Observation, second: Observation
) -> None:
    assert recorded(store, first, second)[second.attempt_uid] is None


def test_of_pods_that_share_a_run_the_first_after_the_kill_counts(store: Store) -> None:
    kill, next_one, sibling = a_kill("a", 1, 0, 10), a_kill("b", 2, 15, 40), a_kill("c", 2, 35, 50)
    assert recorded(store, kill, next_one, sibling) == {"a": None, "b": 5.0, "c": None}


def test_a_kill_that_became_known_later_changes_nothing(store: Store) -> None:
    second, first = a_try("b", 2, 20, 30), a_kill("a", 1, 0, 10)
    assert recorded(store, second, first) == {"b": None, "a": None}


def test_a_run_named_by_its_success_waited_after_a_kill_that_has_the_key(store: Store) -> None:
    first = a_try("a", 1, -30, -20)
    kill, success = a_kill("b", 1, 0, 10), a_try("c", 2, 22, 30, run="r#c")
    assert recorded(store, first, kill, success) == {"a": None, "b": None, "c": 12.0}


def test_a_run_named_by_its_kill_waited_after_that(store: Store) -> None:
    kill, success = a_kill("b", 1, 0, 10, "r#b"), a_try("c", 2, 22, 30, run="r#b")
    assert recorded(store, kill, success) == {"b": None, "c": 12.0}
