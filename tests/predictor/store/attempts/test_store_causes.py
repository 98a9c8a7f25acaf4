"""Why an attempt ended belongs to how it ended: a store keeps one only with the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from plimsoll_predictor.core.record import Cause, Observation, Outcome
from plimsoll_predictor.store import Store
from tests.builders.older_stores import insert, make_store_of, writing_to
from tests.builders.stores import TRAIN, an_attempt, open_store_at


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    opened = open_store_at(store_url)
    yield opened
    opened.close()


def ended(cause: Cause | None, outcome: Outcome | None = None) -> Observation:
    how = outcome or (Outcome.SUCCEEDED if cause is None else cause.outcome)
    return replace(an_attempt("u").ending(how).given(10**9).peaking(None).built, cause=cause)


def read(store: Store) -> tuple[Outcome, Cause | None]:
    (observation,) = store.observations.of_task(TRAIN)
    return observation.outcome, observation.cause


@pytest.mark.parametrize(
    ("first", "then", "kept"),
    [
        pytest.param(Cause.KILLED, Cause.NEAR_LIMIT, Cause.NEAR_LIMIT, id="its reading came late"),
        pytest.param(Cause.NEAR_LIMIT, Cause.KILLED, Cause.NEAR_LIMIT, id="the reading is lost"),
        pytest.param(Cause.OWN_MISTAKE, Cause.OWN_LIMIT, Cause.OWN_MISTAKE, id="it had ended"),
        pytest.param(Cause.OWN_MISTAKE, Cause.JVM, Cause.JVM, id="more is known of the same end"),
        pytest.param(Cause.KILLED, Cause.EVICTED, Cause.KILLED, id="evicted when it had ended"),
        pytest.param(Cause.DELETED, Cause.CUDA, Cause.CUDA, id="deleted when it had ended"),
        pytest.param(Cause.DELETED, None, None, id="deleted when it had succeeded"),
        pytest.param(Cause.OWN_LIMIT, Cause.DELETED, Cause.OWN_LIMIT, id="deleted when killed"),
    ],
)
def test_the_cause_stays_that_of_the_end_that_is_kept(
    store: Store, first: Cause, then: Cause | None, kept: Cause | None
) -> None:
    store.observations.record([ended(first)])
    store.observations.record([ended(then)])
    assert read(store) == (kept.outcome if kept else Outcome.SUCCEEDED, kept)


def test_an_end_without_a_cause_gets_it_when_it_is_known(store: Store) -> None:
    store.observations.record([ended(None, Outcome.FAILED)])
    store.observations.record([ended(Cause.SPARK)])
    store.observations.record([ended(None, Outcome.FAILED)])
    assert read(store) == (Outcome.FAILED, Cause.SPARK)


def test_a_kill_that_is_known_late_teaches_once_and_counts_once(store: Store) -> None:
    store.observations.record([ended(Cause.KILLED)])
    assert store.experts.lessons(0) == []
    for _ in range(3):
        store.observations.record([ended(Cause.NEAR_LIMIT)])
    (lesson,) = store.experts.lessons(0)
    assert (lesson.kind.value, lesson.need_bytes) == ("exceeded", 10**9)
    summary = store.totals.of(TRAIN)
    assert (summary.observations, summary.oom_kills, summary.failed) == (1, 1, 0)


def test_both_ends_in_one_batch_teach_once(store: Store) -> None:
    store.observations.record([ended(Cause.KILLED), ended(Cause.NEAR_LIMIT)])
    assert read(store) == (Outcome.OOM_KILLED, Cause.NEAR_LIMIT)
    assert len(store.experts.lessons(0)) == 1


@pytest.mark.slow
def test_an_older_stores_attempts_have_no_cause(store_url: str) -> None:
    make_store_of("0007", store_url)
    row = {
        "attempt_uid": "u",
        "task": str(TRAIN),
        "run": "r",
        "attempt": 1,
        "ordered_s": 1.0,
        "outcome": "oom-killed",
        "features": "{}",
        "neighbours": "[]",
    }
    insert(store_url, "observations", [row])
    opened = open_store_at(store_url)
    assert read(opened) == (Outcome.OOM_KILLED, None)
    opened.close()


def test_a_newer_plimsolls_cause_is_unknown_here(store: Store, store_url: str) -> None:
    store.observations.record([ended(Cause.JVM)])
    with writing_to(store_url) as connection:
        connection.exec_driver_sql("UPDATE observations SET cause = 'cosmic-ray'")
    assert read(store) == (Outcome.FAILED, None)
    assert [each.cause for each in store.runtimes.history(TRAIN)] == [None]
