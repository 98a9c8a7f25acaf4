"""Trainings as people see them: all kept ones, also of older stores, within bounds."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
import sqlalchemy as sa

from plimsoll_predictor.store import Store
from plimsoll_predictor.store.attempts.decisions import UNKNOWN_TASKS_KEPT_S
from plimsoll_predictor.store.database.schema import trainings as table
from plimsoll_predictor.store.learned.trainings import (
    KEPT_TRAININGS,
    MAY_BE_LOGGED,
)
from plimsoll_predictor.store.migrations import HEAD
from tests.builders.older_stores import insert, make_store_of, writing_to
from tests.builders.stores import JOIN, NOON_S, TRAIN, an_attempt, open_store_at
from tests.builders.training.models import a_model

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
    with store.database.write() as connection:
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


def a_long_report(seed: int) -> dict[str, Any]:
    """A report of usual length: 5 kB, and 10 kB of trials."""
    draw = random.Random(seed)
    parameters = [f"parameter-{number}" for number in range(7)]
    trials = [
        {
            "classifier": "xgboost",
            "sampler": "random",
            "parameters": {name: round(draw.random(), 12) for name in parameters},
            "u_score": draw.random(),
        }
        for _ in range(32)
    ]
    candidates = [{"ceilings_bytes": [draw.getrandbits(32)] * 8} for _ in range(50)]
    return {"seed": seed, "trials": trials, "candidates": candidates}


@pytest.mark.slow
def test_the_reports_of_older_trainings_take_a_third_and_lose_nothing(store: Store) -> None:
    """An older one may be the next that is logged to a tracking server."""
    reports = [a_long_report(seed) for seed in range(KEPT_TRAININGS + 20)]
    for report in reports:
        store.models.save(TRAIN, None, report)
    kept = store.trainings.newest(TRAIN, limit=1000)
    assert [each.report for each in kept] == reports[: -KEPT_TRAININGS - 1 : -1]
    assert [each.report for each in store.trainings.untracked(limit=30)] == reports[20:50]
    plain, older = sizes_of_reports(store, MAY_BE_LOGGED)
    assert plain[0] == len(orjson.dumps(reports[-1])) > 13_000
    assert min(plain) > 13_000
    assert max(older) < 0.5 * plain[0]
    assert sum(older) < KEPT_TRAININGS * 6_000


@pytest.mark.slow
def test_what_is_logged_is_compressed_and_what_is_not_an_older_plimsoll_can_read(
    store: Store,
) -> None:
    for seed in range(3):
        store.models.save(TRAIN, None, a_long_report(seed))
    assert min(sizes_of_reports(store, 3)[0]) > 13_000
    for waiting in store.trainings.untracked(limit=2):
        store.trainings.mark_tracked(waiting.row, "run-1")
    store.models.save(TRAIN, None, a_long_report(3))
    plain, older = sizes_of_reports(store, 2)
    assert min(plain) > 13_000
    assert max(older) < 7_000


def sizes_of_reports(store: Store, newest: int) -> tuple[list[int], list[int]]:
    """Characters of the newest reports and of all others, as they are stored."""
    with store.database.read() as connection:
        column = table.c.report
        sizes = connection.execute(sa.select(sa.func.length(column)).order_by(table.c.id.desc()))
        found = list(sizes.scalars())
    return found[:newest], found[newest:]


def test_the_newest_report_stays_as_an_older_plimsoll_reads_it(store: Store) -> None:
    store.models.save(TRAIN, a_model(), {"seed": 1})
    store.trainings.record_failure(TRAIN, "no memory", NOON_S, report={"seed": 2})
    with store.database.read() as connection:
        texts = connection.execute(sa.select(table.c.report).order_by(table.c.id)).scalars().all()
    assert texts == ['{"seed":1}', '{"seed":2}']


def test_a_model_that_people_went_back_to_is_read_with_its_report(store: Store) -> None:
    for seed in (1, 2):
        store.models.save(TRAIN, a_model(), {"seed": seed})
    with store.database.write() as connection:
        newest = sa.select(sa.func.max(table.c.id)).scalar_subquery()
        connection.execute(table.delete().where(table.c.id == newest))
    saved = store.models.newest(TRAIN)
    assert saved is not None
    assert (saved.model, saved.report) == (a_model(), {"seed": 1})


@pytest.mark.parametrize("damaged", ['{"zlib":5}', '{"zlib":"eJw"}', '{"zlib":"?"}'])
def test_a_compressed_report_that_is_damaged_is_still_listed(store: Store, damaged: str) -> None:
    store.models.save(TRAIN, a_model(), {})
    with store.database.write() as connection:
        connection.execute(table.update().values(report=damaged))
    [kept] = store.trainings.newest(TRAIN)
    assert kept.report == {}
    assert store.models.newest(TRAIN) is None


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
