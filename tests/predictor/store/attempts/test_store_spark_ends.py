"""Pods of Spark that ended, as a restarted controller reads them back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from plimsoll_predictor.core.record import Cause, Outcome
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.splitting.spark.steps import FEATURE, Ended
from plimsoll_predictor.store import Store
from tests.builders.older_stores import writing_to
from tests.builders.stores import AnAttempt, an_attempt, open_store_at

EXECUTORS = TaskId("shop", "spark.sales.executor")
DRIVERS = TaskId("shop", "spark.sales.driver")


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    opened = open_store_at(store_url)
    yield opened
    opened.close()


def test_kills_of_executors_and_pods_that_were_given_a_step_are_read_oldest_first(
    store: Store,
) -> None:
    killed = an_attempt("a").of(EXECUTORS).ending(Outcome.OOM_KILLED)
    given = an_attempt("b").of(EXECUTORS).knowing(**{FEATURE: 1.0})
    driver = an_attempt("c").of(DRIVERS).knowing(**{FEATURE: 0.0}).ending(Outcome.FAILED)
    labelled = an_attempt("d").knowing(**{FEATURE: 2.0})
    full = AnAttempt(
        replace(
            an_attempt("h").of(EXECUTORS).ending(Outcome.FAILED).built,
            cause=Cause.SPARK,
            written_limit_bytes=1,
        )
    )
    others = [
        an_attempt("e").of(EXECUTORS),
        an_attempt("f").ending(Outcome.OOM_KILLED),
        an_attempt("g").of(DRIVERS).ending(Outcome.OOM_KILLED),
    ]
    made = (killed, given, *others, driver, labelled, full)
    store.observations.record([each.built for each in made])
    found = [(each.task, each.outcome, each.features.get(FEATURE)) for each in read(store)]
    assert found == [
        (EXECUTORS, Outcome.OOM_KILLED, None),
        (EXECUTORS, Outcome.SUCCEEDED, 1.0),
        (DRIVERS, Outcome.FAILED, 0.0),
        (labelled.built.task, Outcome.SUCCEEDED, 2.0),
        (EXECUTORS, Outcome.FAILED, None),
    ]
    assert [each.died_of_memory for each in read(store)] == [True, False, False, False, True]


def test_a_cause_that_a_newer_plimsoll_wrote_is_unknown(store: Store, store_url: str) -> None:
    store.observations.record([an_attempt("a").of(EXECUTORS).ending(Outcome.OOM_KILLED).built])
    with writing_to(store_url) as connection:
        connection.exec_driver_sql("UPDATE observations SET cause = 'cosmic-ray'")
    assert [each.cause for each in read(store)] == [None]


def read(store: Store) -> list[Ended]:
    return list(store.spark_ends.newest())
