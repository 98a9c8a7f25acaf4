"""Trainings as people see them: all kept ones, also of older stores, within bounds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from plimsoll_predictor.store import Store
from plimsoll_predictor.store.learned.trainings import UNKNOWN_TASKS_KEPT_S
from plimsoll_predictor.store.migrations import HEAD
from tests.builders.older_stores import insert, make_store_of, writing_to
from tests.builders.stores import JOIN, NOON_S, TRAIN, an_attempt, open_store_at
from tests.predictor.store.learned.test_store_models import a_model

DAY_S = 24 * 3600.0


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    opened = open_store_at(store_url)
    yield opened
    opened.close()


def test_trainings_that_failed_stand_among_the_others_newest_first(store: Store) -> None:
    store.observations.record([an_attempt().built])
    store.models.save(TRAIN, a_model(), {"seed": 1})
    store.trainings.record_failure(TRAIN, "killed by signal 9", NOON_S + 5, report={"seed": 2})
    store.models.save(TRAIN, None, {"seed": 3})
    kept = store.trainings.newest(TRAIN)
    assert [each.report["seed"] for each in kept] == [3, 2, 1]
    assert [each.failure for each in kept] == [None, "killed by signal 9", None]
    assert [each.version for each in kept] == [None, None, a_model().version]
    assert [each.has_model for each in kept] == [False, False, True]
    assert {each.runs for each in kept} == {1}
    assert store.trainings.newest(JOIN) == []


def test_a_failure_with_a_report_takes_no_model_out_of_service(store: Store) -> None:
    store.models.save(TRAIN, a_model(), {})
    store.trainings.record_failure(TRAIN, "no memory", NOON_S, report={"seed": 2})
    saved = store.models.newest(TRAIN)
    assert saved is not None
    assert saved.model == a_model()


@pytest.mark.slow
def test_a_training_whose_report_cannot_be_read_is_still_listed(
    store: Store,
) -> None:
    store.models.save(TRAIN, a_model(), {})
    with store._database.write() as connection:
        connection.exec_driver_sql("UPDATE trainings SET report = '{torn'")
    [kept] = store.trainings.newest(TRAIN)
    assert kept.report == {}


@pytest.mark.slow
def test_what_is_not_logged_is_found_oldest_first_whatever_its_task(store: Store) -> None:
    for number, task in enumerate([TRAIN, JOIN, TRAIN]):
        store.trainings.record_failure(task, f"failure {number}", NOON_S)
    first, second = store.trainings.untracked(limit=2)
    assert [first.failure, second.failure] == ["failure 0", "failure 1"]
    store.trainings.mark_tracked(first.row, "run-1")
    store.trainings.mark_tracked(second.row, "refused: " + "x" * 10_000)
    [third] = store.trainings.untracked()
    assert third.failure == "failure 2"
    [refused] = store.trainings.newest(JOIN)
    assert refused.tracked is not None
    assert refused.tracked.startswith("refused: xxx")
    assert len(refused.tracked) == 500


def test_marking_a_training_that_is_forgotten_is_no_error(store: Store) -> None:
    store.trainings.mark_tracked(99, "run-1")
    assert store.trainings.untracked() == []


def test_pruning_forgets_old_trainings_of_tasks_nobody_ran(store: Store) -> None:
    store.observations.record([an_attempt().built])
    store.trainings.record_failure(TRAIN, "of a task that runs", NOON_S)
    store.trainings.record_failure(JOIN, "of a mistyped name", NOON_S)
    sum(store.prune_steps(NOON_S + UNKNOWN_TASKS_KEPT_S - DAY_S))
    assert len(store.trainings.newest(JOIN)) == 1
    sum(store.prune_steps(NOON_S + UNKNOWN_TASKS_KEPT_S + DAY_S))
    assert store.trainings.newest(JOIN) == []
    assert len(store.trainings.newest(TRAIN)) == 1


@pytest.mark.slow
@pytest.mark.parametrize("revision", ["0001", "0002"])
def test_a_store_of_an_older_plimsoll_keeps_its_trainings_and_goes_on(
    empty_url: str, revision: str
) -> None:
    make_store_of(revision, empty_url)
    known = {"observations": 9, "runs": 8, "oom_kills": 1, "champion": "max-seen"}
    task = {"task": "shop/train-demand"}
    earlier_row = {**task, "at_s": 1.5e9, "report": '{"runs":8}', **known}
    insert(empty_url, "trainings", [earlier_row, {**task, "at_s": 1.6e9, "failure": "oh"}])
    store = open_store_at(empty_url)
    failed, earlier = store.trainings.newest(TRAIN)
    assert (failed.failure, failed.report) == ("oh", {})
    assert (earlier.runs, earlier.report) == (8, {"runs": 8})
    saved = store.models.newest(TRAIN)
    assert saved is not None
    assert saved.report == {"runs": 8}
    assert [each.row for each in store.trainings.untracked()] == [earlier.row, failed.row]
    store.models.save(TRAIN, a_model(), {"runs": 9})
    assert [each.report.get("runs") for each in store.trainings.newest(TRAIN)] == [9, None, 8]
    store.close()
    with writing_to(empty_url) as connection:
        found = connection.exec_driver_sql("SELECT version_num FROM plimsoll_schema")
        assert found.scalars().all() == [HEAD]
