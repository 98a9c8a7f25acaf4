"""Forgetting that is interrupted, or during which tasks run again, loses nothing and ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count

import pytest
import sqlalchemy as sa

from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.knowledge.knowledge import Lift
from plimsoll_predictor.store import Store, StoreError, pruning
from plimsoll_predictor.store.attempts import totals
from plimsoll_predictor.store.database.database import Database
from plimsoll_predictor.store.pruning import QUIET_TASKS_KEPT_S
from tests.builders.stores import NOON_S, an_attempt, open_store_at

JUNK = TaskId("shop", "junk")
OTHER = TaskId("shop", "other")
ATTEMPTS = 5
YEARS_LATER_S = NOON_S + QUIET_TASKS_KEPT_S + 86_400
AT_ONCE = pruning.Bounds(rows=2)


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    opened = open_store_at(store_url)
    yield opened
    opened.close()


def put(store: Store, task: TaskId, number: int, ended_s: float = NOON_S) -> None:
    built = an_attempt(f"{task}-{number}").of(task).running(ended_s - 60, ended_s + number).built
    store.observations.record([built])


def put_known(store: Store, task: TaskId) -> None:
    """Some attempts of the task, and all that may be learned of it."""
    for number in range(ATTEMPTS):
        put(store, task, number)
    through = store.experts.lessons(0)[-1].serial
    store.experts.save(through, {str(task): {"a": 1}}, {}, {0, through})
    store.models.save(task, None, {})
    store.lifts.put(task, "run", Lift(2, 2, 1))


@contextmanager
def before_writes(look: Callable[[int], None]) -> Iterator[None]:
    """Call ``look`` before each write, with its number."""
    writes, real = count(), Database.write

    @contextmanager
    def write(database: Database) -> Iterator[sa.Connection]:
        look(next(writes))
        with real(database) as connection:
            yield connection

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Database, "write", write)
        yield


def failing_from(first: int) -> Callable[[int], None]:
    """Writes from that number on find the store locked by another process."""

    def look(number: int) -> None:
        if number >= first:
            raise StoreError("the store is locked by another process")

    return look


def forget_half(store: Store) -> None:
    """People forget the task, and are interrupted once some of its attempts are gone."""
    for writes in count(1):
        with before_writes(failing_from(writes)), pytest.raises(StoreError):
            store.forget(JUNK)
        if 0 < len(store.observations.of_task(JUNK)) < ATTEMPTS:
            return


@contextmanager
def sums_that_fail() -> Iterator[None]:
    def fail(_connection: sa.Connection, tasks: Sequence[str]) -> None:
        if tasks:
            raise StoreError("the statement took too long")

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(totals, "add_up", fail)
        yield


def is_found(store: Store, task: TaskId) -> bool:
    """Whether ``plimsoll forget`` finds it."""
    return task in store.totals.by_task()


def assert_totals_are_right(store: Store) -> None:
    with store.database.read() as connection:
        assert totals.differing(connection) == []


def assert_nothing_is_left(store: Store, task: TaskId) -> None:
    assert store.observations.of_task(task) == []
    assert store.experts.standing(task) is None
    assert store.trainings.last(task) is None
    assert store.lifts.of_task(task) == {}


@pytest.mark.slow
def test_a_task_whose_forgetting_failed_at_any_write_is_found_or_told_and_can_be_forgotten_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("plimsoll_predictor.store.forgetting.ROWS_AT_ONCE", 2)
    put_known(store, JUNK)
    noticed = store.observations.imported(0).serial
    failed = 0
    for number in count():
        try:
            with before_writes(failing_from(number)):
                store.forget(JUNK)
        except StoreError:
            failed += 1
        else:
            break
        assert is_found(store, JUNK), f"after {number} writes"
    assert failed > ATTEMPTS // 2
    assert_nothing_is_left(store, JUNK)
    assert not is_found(store, JUNK)
    assert store.observations.imported(noticed).forgotten == (JUNK,)


@pytest.mark.slow
def test_a_controller_is_told_of_a_task_whose_forgetting_was_interrupted(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("plimsoll_predictor.store.forgetting.ROWS_AT_ONCE", 2)
    put_known(store, JUNK)
    forget_half(store)
    assert store.observations.imported(0).forgotten == (JUNK,)
    store.unlearn(JUNK)
    left = len(store.observations.of_task(JUNK))
    assert len(store.experts.lessons(0)) == left, "what is left teaches anew"
    serial = store.observations.imported(0).serial
    sum(store.prune_steps(NOON_S))
    assert_totals_are_right(store)
    told = store.observations.imported(serial)
    assert (told.tasks, told.forgotten) == ((JUNK,), ()), "it learned from those that are gone"
    sum(store.prune_steps(NOON_S))
    assert store.observations.imported(told.serial).tasks == (), "once"


@pytest.mark.slow
def test_a_controller_adds_up_no_task_as_long_as_people_forget_it(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That is a pass over all that is left; the forgetting, and all other writes, wait for it."""
    monkeypatch.setattr("plimsoll_predictor.store.forgetting.ROWS_AT_ONCE", 2)
    put_known(store, JUNK)
    forget_half(store)
    left = len(store.observations.of_task(JUNK))
    with sums_that_fail():
        store.unlearn(JUNK)
        assert store.observations.imported(0).forgotten == ()
        assert len(store.experts.lessons(0)) == left, "what is left teaches anew"
        put(store, OTHER, 1)
        sum(store.prune_steps(NOON_S))
        assert store.totals.of(JUNK).observations == ATTEMPTS, "it cannot be added up now"
    sum(store.prune_steps(NOON_S))
    assert_totals_are_right(store)
    assert list(store.prune_steps(NOON_S)) == [], "it is not added up again"


@pytest.mark.slow
def test_what_is_added_up_after_a_forgetting_that_was_interrupted_is_within_the_bounds(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("plimsoll_predictor.store.forgetting.ROWS_AT_ONCE", 2)
    put_known(store, JUNK)
    forget_half(store)
    store.unlearn(JUNK)
    there, add_up = list[int](), totals.add_up

    def counting(connection: sa.Connection, tasks: Sequence[str]) -> None:
        add_up(connection, tasks)
        there.append(len(store.observations.of_task(JUNK)))

    monkeypatch.setattr(totals, "add_up", counting)
    sum(store.prune_steps(NOON_S, pruning.Bounds(per_task=1, rows=1)))
    assert there == [1]
    assert_totals_are_right(store)


@pytest.mark.slow
def test_what_a_controller_learns_while_people_forget_a_task_is_forgotten_with_it(
    store: Store, store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It notices the first mark at any moment, and learns anew from what is left until then."""
    monkeypatch.setattr("plimsoll_predictor.store.forgetting.ROWS_AT_ONCE", 2)
    controllers = open_store_at(store_url)
    noticed, writes = 0, list[int]()

    def notice_at(moment: int) -> Callable[[int], None]:
        def look(number: int) -> None:
            writes.append(number)
            if number == moment:
                assert controllers.observations.imported(noticed).forgotten == (JUNK,)
                controllers.unlearn(JUNK)

        return look

    for moment in count(1):
        put_known(store, JUNK)
        noticed = store.observations.imported(0).serial
        with before_writes(notice_at(moment)):
            store.forget(JUNK)
        assert store.observations.imported(noticed).forgotten == (JUNK,)
        assert not is_found(store, JUNK)
        if writes[-1] < moment:
            break
    controllers.close()


@pytest.mark.slow
def test_a_pruning_leaves_the_marks_that_the_controller_has_not_noticed(store: Store) -> None:
    put(store, JUNK, 1)
    put(store, OTHER, 1)
    noticed = store.observations.imported(0).serial
    store.forget(JUNK)
    store.forget(OTHER)
    sum(store.prune_steps(NOON_S, noticed=noticed))
    assert store.observations.imported(noticed).forgotten == (JUNK, OTHER)
    sum(store.prune_steps(NOON_S, noticed=store.observations.imported(0).serial))
    assert store.observations.imported(0).forgotten == (OTHER,), "the newest: serials go on"


@pytest.mark.slow
def test_a_serial_is_not_given_again_after_the_task_of_the_newest_mark_was_pruned(
    store: Store,
) -> None:
    store.observations.record_history([an_attempt("past").of(JUNK).built])
    noticed = store.observations.imported(0).serial
    sum(store.prune_steps(YEARS_LATER_S, noticed=noticed))
    assert not is_found(store, JUNK)
    store.observations.record_history([an_attempt("more").of(OTHER).built])
    assert store.observations.imported(noticed).tasks == (OTHER,)


@pytest.mark.slow
def test_a_task_that_runs_again_while_others_are_forgotten_keeps_its_run_and_what_it_taught(
    store: Store,
) -> None:
    put(store, JUNK, 1)
    put_known(store, OTHER)
    steps = store.prune_steps(YEARS_LATER_S)
    next(steps)
    put(store, OTHER, ATTEMPTS, YEARS_LATER_S)
    sum(steps)
    assert not is_found(store, JUNK)
    assert len(store.observations.of_task(OTHER)) == ATTEMPTS + 1
    assert f"run-of-{OTHER}-{ATTEMPTS}" in [each.run for each in store.experts.lessons(0)]
    assert store.experts.standing(OTHER) is not None
    assert_totals_are_right(store)


@pytest.mark.slow
@pytest.mark.parametrize("bounds", [AT_ONCE, pruning.Bounds(rows=2, tasks=0)])
def test_a_task_that_runs_again_while_it_is_forgotten_keeps_its_run(
    store: Store, bounds: pruning.Bounds
) -> None:
    now_s = YEARS_LATER_S if bounds is AT_ONCE else NOON_S
    put_known(store, JUNK)
    steps = store.prune_steps(now_s, bounds)
    while len(store.observations.of_task(JUNK)) == ATTEMPTS:
        next(steps)
    put(store, JUNK, ATTEMPTS, now_s)
    assert_nothing_of_it_is_lost_again(store, steps)


def assert_nothing_of_it_is_lost_again(store: Store, steps: Iterator[int]) -> None:
    there = {each.attempt_uid for each in store.observations.of_task(JUNK)}
    sum(steps)
    assert {each.attempt_uid for each in store.observations.of_task(JUNK)} == there
    assert f"run-of-{JUNK}-{ATTEMPTS}" in [each.run for each in store.experts.lessons(0)]
    assert_totals_are_right(store)


@pytest.mark.slow
def test_a_pruning_that_ended_in_the_middle_of_a_task_goes_on_the_next_time(store: Store) -> None:
    put_known(store, JUNK)
    steps = store.prune_steps(YEARS_LATER_S, AT_ONCE)
    while len(store.observations.of_task(JUNK)) == ATTEMPTS:
        next(steps)
    del steps
    assert is_found(store, JUNK)
    sum(store.prune_steps(YEARS_LATER_S, AT_ONCE))
    assert not is_found(store, JUNK)
    assert_nothing_is_left(store, JUNK)


@pytest.mark.slow
@pytest.mark.parametrize("bounds", [AT_ONCE, pruning.Bounds(rows=2, tasks=0)])
def test_totals_are_right_though_a_pruning_failed_in_the_middle_of_a_task_that_then_ran_again(
    store: Store, bounds: pruning.Bounds
) -> None:
    now_s = YEARS_LATER_S if bounds is AT_ONCE else NOON_S
    put_known(store, JUNK)
    steps = store.prune_steps(now_s, bounds)
    while len(store.observations.of_task(JUNK)) == ATTEMPTS:
        next(steps)
    with before_writes(failing_from(0)):
        sum(steps)
    put(store, JUNK, ATTEMPTS, YEARS_LATER_S)
    left = store.observations.of_task(JUNK)
    assert 1 < len(left) < ATTEMPTS + 1
    sum(store.prune_steps(YEARS_LATER_S, AT_ONCE))
    assert store.observations.of_task(JUNK) == left
    assert_totals_are_right(store)
