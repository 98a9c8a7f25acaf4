"""Imported attempts of two tasks with one uid, as in files that count their rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from plimsoll_predictor.core.record import Observation, PeakSource
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import Store
from tests.builders.stores import JOIN, NOON_S, TRAIN, an_attempt, open_store_at


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    opened = open_store_at(store_url)
    yield opened
    opened.close()


def a_past(task: TaskId, peak_bytes: int, uid: str = "1") -> Observation:
    past = an_attempt(uid).of(task).peaking(peak_bytes).running(NOON_S, NOON_S + peak_bytes)
    return replace(past.built, peak_source=PeakSource.IMPORTED)


def peaks(store: Store, task: TaskId) -> list[int | None]:
    return [each.peak_bytes for each in store.observations.of_task(task)]


TRAINED, JOINED = a_past(TRAIN, 80), a_past(JOIN, 10)


@pytest.mark.parametrize(
    "files",
    [
        pytest.param([[TRAINED], [JOINED]], id="in two files"),
        pytest.param([[TRAINED, JOINED]], id="in one"),
        pytest.param([[TRAINED], [JOINED], [JOINED, TRAINED]], id="imported again"),
    ],
)
def test_attempts_of_two_tasks_with_one_uid_are_two(
    store: Store, files: list[list[Observation]]
) -> None:
    new = [store.observations.record_history(file) for file in files]
    assert (peaks(store, TRAIN), peaks(store, JOIN)) == ([80], [10])
    assert sum(each.total() for each in new) == 2
    assert {task: sum(each[task] for each in new) for task in (TRAIN, JOIN)} == {TRAIN: 1, JOIN: 1}
    lessons = {(each.task, each.need_bytes) for each in store.experts.lessons(0)}
    assert lessons == {(TRAIN, 80), (JOIN, 10)}


def test_a_uid_of_its_own_stays_when_the_other_task_is_forgotten(store: Store) -> None:
    store.observations.record_history([TRAINED, JOINED])
    store.forget(TRAIN)
    assert store.observations.record_history([JOINED]).total() == 0
    assert peaks(store, JOIN) == [10]


def test_an_attempt_that_was_observed_stays_as_it_is_whatever_its_task_was(store: Store) -> None:
    store.observations.record([an_attempt("1").built])
    assert store.observations.record_history([JOINED]).total() == 0
    assert peaks(store, JOIN) == []
    assert peaks(store, TRAIN) == [500_000_000]
