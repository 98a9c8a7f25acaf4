"""Work for rounds of trainings: shared out by urgency, ended once, and never lost."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest

from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import GIB
from plimsoll_predictor.store import (
    AlreadyEndedError,
    Backlog,
    Begun,
    Claim,
    DueTraining,
    Store,
    Work,
    WorkKind,
)
from plimsoll_predictor.store.database.schema import due_trainings
from tests.builders.older_stores import writing_to
from tests.builders.stores import JOIN, NOON_S, TRAIN, an_attempt, open_store_at
from tests.builders.training.models import a_model

ROUND = "round-1"


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    opened = open_store_at(store_url)
    yield opened
    opened.close()


def of(task: TaskId) -> Work:
    return Work(WorkKind.MODEL, task)


def due(task: TaskId = TRAIN, **changes: object) -> DueTraining:
    plain = DueTraining(work=of(task), why="5 new runs", since_s=NOON_S, policy=Policy(min_runs=7))
    return replace(plain, **changes)  # type: ignore[arg-type]


def numbered(number: int) -> TaskId:
    return TaskId("shop", f"task-{number:02}")


def test_what_waits_keeps_its_place_and_its_first_reason(store: Store) -> None:
    store.due.ask([due()])
    store.due.ask([due(why="a kill", since_s=NOON_S + 60, killed=True, policy=Policy(min_runs=9))])
    assert store.due.waiting(9) == [due(killed=True, policy=Policy(min_runs=9))]
    assert store.due.backlog() == Backlog(waiting=1, oldest_s=NOON_S)


def test_a_round_begins_with_kills_then_with_what_spares_most_then_with_the_oldest(
    store: Store,
) -> None:
    store.observations.record([an_attempt().of(numbered(2)).given(64 * GIB).built])
    asked = [due(numbered(n), since_s=NOON_S - n) for n in range(4)]
    store.due.ask([*asked, due(numbered(9), killed=True)])
    assert store.due.plan(ROUND, most=4, shards=2) == 4
    first, second = (
        [each.work.task for each in store.due.shard(ROUND, shard)] for shard in range(2)
    )
    assert [first[0], second[0], first[1], second[1]] == [numbered(n) for n in (9, 2, 3, 1)]
    assert [each.work.task for each in store.due.waiting(9)] == [numbered(0)]
    assert store.due.round() == ROUND


def test_what_waits_in_a_round_for_its_turn_waits_still(store: Store) -> None:
    store.due.ask([due(numbered(n), since_s=NOON_S + n) for n in range(3)])
    store.due.plan(ROUND, most=2, shards=1)
    store.due.begin(of(numbered(0)), ROUND)
    first = Backlog(waiting=1, in_round=2, begun=1, starts=1, oldest_s=NOON_S + 1)
    assert store.due.backlog() == first
    store.due.begin(of(numbered(0)), ROUND)
    assert store.due.backlog() == replace(first, starts=2), "its worker was lost"
    store.due.begin(of(numbered(1)), ROUND)
    assert store.due.backlog().oldest_s == NOON_S + 2
    store.due.release(ROUND)
    assert store.due.backlog().oldest_s == NOON_S


def test_work_ends_once_and_with_what_it_learned_or_not_at_all(store: Store) -> None:
    store.due.ask([due()])
    store.due.plan(ROUND, most=9, shards=1)
    assert store.due.begin(of(TRAIN), ROUND) == 1
    begun = Begun(store.totals.of(TRAIN), Claim(of(TRAIN), ROUND, {"bins": 3}))
    store.models.save(TRAIN, a_model(), {}, began=begun)
    with pytest.raises(AlreadyEndedError):
        store.models.save(TRAIN, a_model(), {}, began=begun)
    with pytest.raises(AlreadyEndedError):
        store.trainings.record_failure(TRAIN, "late", NOON_S, claim=begun.claim)
    with pytest.raises(AlreadyEndedError):
        store.due.begin(of(TRAIN), ROUND)
    assert len(store.trainings.newest(TRAIN)) == 1
    [ended] = store.due.ended()
    assert (ended.failure, ended.result, ended.again) == (None, {"bins": 3}, None)
    store.due.forget_ended([ended])
    assert store.due.backlog() == Backlog()


def test_of_two_workers_that_save_at_once_one_does(store: Store, store_url: str) -> None:
    store.due.ask([due()])
    store.due.plan(ROUND, most=9, shards=1)
    refused = []

    def save() -> None:
        own = open_store_at(store_url)
        begun = Begun(own.totals.of(TRAIN), Claim(of(TRAIN), ROUND))
        try:
            own.models.save(TRAIN, a_model(), {}, began=begun)
        except AlreadyEndedError as error:
            refused.append(error)
        finally:
            own.close()

    workers = [threading.Thread(target=save) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(refused) == 3
    assert len(store.trainings.newest(TRAIN)) == 1


def test_a_failure_ends_it_too_and_says_why(store: Store) -> None:
    store.due.ask([due()])
    store.due.plan(ROUND, most=9, shards=1)
    store.trainings.record_failure(TRAIN, "no memory", NOON_S, claim=Claim(of(TRAIN), ROUND))
    [ended] = store.due.ended()
    assert ended.failure == "no memory"
    assert [each.failure for each in store.trainings.newest(TRAIN)] == ["no memory"]


def test_what_becomes_due_again_in_its_round_waits_for_the_next(store: Store) -> None:
    store.due.ask([due()])
    store.due.plan(ROUND, most=9, shards=1)
    store.due.begin(of(TRAIN), ROUND)
    store.due.ask([due(why="a kill", killed=True)])
    assert store.due.waiting(9) == []
    store.trainings.record_failure(TRAIN, "no memory", NOON_S, claim=Claim(of(TRAIN), ROUND))
    [ended] = store.due.ended()
    assert ended.again == "a kill"
    store.due.forget_ended([ended])
    assert [each.why for each in store.due.waiting(9)] == ["a kill"]
    assert store.due.ended() == []


@pytest.mark.parametrize("begun", [False, True], ids=["not begun", "found due at a start"])
def test_what_its_round_will_learn_from_is_not_due_again(store: Store, *, begun: bool) -> None:
    store.due.ask([due()])
    store.due.plan(ROUND, most=9, shards=1)
    if begun:
        store.due.begin(of(TRAIN), ROUND)
    store.due.ask([due(why="10 new runs")], again=not begun)
    store.trainings.record_failure(TRAIN, "no memory", NOON_S, claim=Claim(of(TRAIN), ROUND))
    [ended] = store.due.ended()
    assert ended.again is None


def test_what_a_round_left_waits_again_and_its_starts_are_counted_on(store: Store) -> None:
    store.due.ask([due(), due(JOIN)])
    store.due.plan(ROUND, most=9, shards=2)
    store.due.begin(of(TRAIN), ROUND)
    store.trainings.record_failure(JOIN, "no memory", NOON_S, claim=Claim(of(JOIN), ROUND))
    assert store.due.release(ROUND) == 1
    assert store.due.round() == ROUND, "until the leader has read how the other one ended"
    assert [(each.work, each.starts) for each in store.due.waiting(9)] == [(of(TRAIN), 1)]
    with pytest.raises(AlreadyEndedError):
        store.due.begin(of(TRAIN), ROUND)
    store.due.plan("round-2", most=9, shards=1)
    assert store.due.begin(of(TRAIN), "round-2") == 2


def test_shapes_and_features_are_work_of_no_task(store: Store) -> None:
    shapes = Work(WorkKind.SHAPES)
    store.due.ask([DueTraining(work=shapes, why="a day has passed", since_s=NOON_S)])
    store.due.plan(ROUND, most=9, shards=4)
    [mine] = store.due.shard(ROUND, 0)
    assert (mine.work, mine.policy) == (shapes, None)
    store.due.end(Claim(shapes, ROUND, {"words": "12 shapes"}))
    [ended] = store.due.ended()
    assert ended.result == {"words": "12 shapes"}


@pytest.mark.parametrize("task", [None, TRAIN])
def test_only_models_are_of_a_task(task: TaskId | None) -> None:
    with pytest.raises(ValueError, match="a model is of a task"):
        Work(WorkKind.SHAPES if task else WorkKind.MODEL, task)


def test_a_forgotten_task_is_due_no_more(store: Store) -> None:
    store.observations.record([an_attempt().built])
    store.due.ask([due(), due(JOIN)])
    store.forget(TRAIN)
    assert [each.work for each in store.due.waiting(9)] == [of(JOIN)]
    store.due.forget([of(JOIN)])
    assert store.due.waiting(9) == []


def test_work_that_waits_takes_a_newer_policy_and_none_comes_back(store: Store) -> None:
    newer = Policy(min_runs=9)
    store.due.ask([due(), due(JOIN)])
    store.due.plan(ROUND, 1, 1)
    [begun] = store.due.shard(ROUND, 0)
    [waits] = store.due.waiting(9)
    gone = due(TaskId("shop", "gone"))
    store.due.take_policies([replace(each, policy=newer) for each in (begun, waits, gone)])
    assert [(each.work, each.policy) for each in store.due.waiting(9)] == [(waits.work, newer)]
    assert [each.policy for each in store.due.shard(ROUND, 0)] == [Policy(min_runs=7)]


def test_a_policy_of_another_version_is_none(store: Store, store_url: str) -> None:
    store.due.ask([due()])
    with writing_to(store_url) as connection:
        connection.execute(due_trainings.update().values(policy='{"mode": "future"}'))
    assert [each.policy for each in store.due.waiting(9)] == [None]
