"""Which tasks are forgotten; nobody can make another namespace's tasks be forgotten."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count, pairwise
from typing import Any

import pytest
from sqlalchemy import event

from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.knowledge.knowledge import Lift
from plimsoll_predictor.store import Store, forgetting, pruning
from plimsoll_predictor.store.attempts.observations import mark
from plimsoll_predictor.store.database.database import Database
from plimsoll_predictor.store.pruning import QUIET_TASKS_KEPT_S
from tests.builders.stores import NOON_S, an_attempt

DAY_S = 86_400.0


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    """A new store on either database."""
    opened = Store.open(store_url)
    yield opened
    opened.close()


def put(store: Store, task: str, ended_s: float) -> None:
    """One attempt of a task that ended then."""
    built = an_attempt(f"{task}-{ended_s}").of(TaskId.parse(task)).running(ended_s - 60, ended_s)
    store.observations.record([replace(built.built, submitted_s=ended_s - 60)])


def prune(store: Store, keep_tasks: int, now_s: float = NOON_S + DAY_S) -> set[str]:
    noticed = store.observations.imported(0).serial
    for _ in store.prune_steps(now_s, pruning.Bounds(tasks=keep_tasks), noticed=noticed):
        pass
    return {str(task) for task in store.totals.tasks()}


@pytest.mark.slow
def test_a_namespace_that_makes_task_after_task_has_its_own_forgotten(store: Store) -> None:
    for number in range(4):
        put(store, f"shop/t{number}", NOON_S + number)
    for number in range(40):
        put(store, f"evil/t{number:02}", NOON_S + 1000 + number)
    kept = prune(store, keep_tasks=10)
    assert {f"shop/t{number}" for number in range(4)} <= kept
    assert len(kept) == 10
    assert {task for task in kept if task.startswith("evil")} == {
        f"evil/t{number}" for number in range(34, 40)
    }


@pytest.mark.slow
def test_tasks_are_forgotten_by_few_passes_over_tables_that_have_no_index_on_them(
    store: Store,
) -> None:
    passes: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if statement.startswith(("DELETE FROM bids", "DELETE FROM lessons")):
            passes.append(statement)

    for number in range(30):
        put(store, f"shop/t{number}", NOON_S + number)
    event.listen(store.database.engine, "before_cursor_execute", note)
    assert len(prune(store, keep_tasks=5)) == 5
    assert 0 < len(passes) <= 4
    assert {str(lesson.task) for lesson in store.experts.lessons(0)} == {
        f"shop/t{number}" for number in range(25, 30)
    }


@pytest.mark.slow
def test_within_the_bound_nothing_is_forgotten(store: Store) -> None:
    for number in range(10):
        put(store, f"evil/t{number}", NOON_S + number)
    assert len(prune(store, keep_tasks=10)) == 10


@pytest.mark.slow
def test_a_task_quiet_for_longer_than_a_year_goes_with_its_rows(store: Store) -> None:
    put(store, "shop/old", NOON_S)
    put(store, "shop/yearly", NOON_S + 20 * DAY_S)
    assert prune(store, 100, now_s=NOON_S + QUIET_TASKS_KEPT_S + 10 * DAY_S) == {"shop/yearly"}
    assert store.observations.of_task(TaskId("shop", "old")) == []


@pytest.mark.slow
def test_what_a_namespace_shared_goes_with_its_last_task_and_is_no_task(store: Store) -> None:
    put(store, "shop/t", NOON_S)
    pools = {"shop": {"charges": [1.0]}, "gone": {"charges": [2.0]}}
    assert store.experts.save(1, {"shop/t": {"a": 1}}, pools, {0})
    assert set(store.experts.standings()) == {"shop/t"}
    prune(store, keep_tasks=10)
    assert store.experts.pools(["shop", "gone"]) == {"shop": {"charges": [1.0]}}


@pytest.mark.slow
def test_a_task_that_people_have_forgotten_leaves_no_row_and_is_told(store: Store) -> None:
    put(store, "shop/junk", NOON_S)
    put(store, "shop/train", NOON_S)
    junk = TaskId("shop", "junk")
    store.lifts.put(junk, "run", Lift(2, 2, 1))
    assert store.forget(junk) > 0
    assert store.totals.tasks() == [TaskId("shop", "train")]
    assert store.observations.of_task(junk) == []
    assert store.lifts.waiting() == {}
    told = store.observations.imported(0)
    assert told.tasks == (junk,)
    # The mark of the newest stays, so that serials go on; older ones of forgotten tasks go.
    store.forget(TaskId("shop", "other"))
    prune(store, keep_tasks=10)
    assert store.observations.imported(0).tasks == (TaskId("shop", "other"),)


@pytest.mark.slow
def test_what_is_stored_since_a_task_was_forgotten_teaches_anew(store: Store) -> None:
    junk = TaskId("shop", "junk")
    put(store, "shop/junk", NOON_S)
    store.forget(junk)
    put(store, "shop/junk", NOON_S + 60)
    [lesson] = store.experts.lessons(0)
    # A controller that has not noticed yet folds it into what it knew, and saves that.
    assert store.experts.save(lesson.serial, {"shop/junk": {"a": 1}}, {}, {0})
    store.models.save(junk, None, {})
    store.observations.record_history([an_attempt("past").of(junk).built])
    assert store.observations.imported(0).forgotten == (junk,), "the import's mark keeps it"
    store.unlearn(junk)
    assert store.experts.standing(junk) is None
    assert store.models.newest(junk) is None
    taught = [(each.kind.value, each.run) for each in store.experts.lessons(lesson.serial)]
    assert taught == [("ended", f"run-of-shop/junk-{NOON_S + 60}"), ("ended", "run-of-past")]
    assert store.totals.of(junk).observations == 2
    told = store.observations.imported(0)
    assert (told.tasks, told.forgotten) == ((junk,), ())


JUNK = TaskId("shop", "junk")
ATTEMPTS = 5
AT_ONCE = 2


class Killed(Exception):
    """The process ends here."""


@pytest.fixture
def database(store_url: str, store: Store) -> Iterator[Database]:
    """A second way to the store, in which a task that was forgotten has attempts again."""
    store.forget(JUNK)
    for number in range(ATTEMPTS):
        put(store, str(JUNK), NOON_S + number)
    opened = Database.connect(store_url, 5.0)
    yield opened
    opened.close()


@contextmanager
def before_each_transaction(database: Database, look: Callable[[], None]) -> Iterator[None]:
    def begin(_connection: object) -> None:
        look()

    event.listen(database.engine, "begin", begin)
    try:
        yield
    finally:
        event.remove(database.engine, "begin", begin)


def runs_taught(store: Store) -> list[str]:
    return [lesson.run for lesson in store.experts.lessons(0)]


@pytest.mark.slow
def test_a_forgotten_task_teaches_anew_in_short_transactions(
    store: Store, database: Database
) -> None:
    taught: list[int] = []
    with before_each_transaction(database, lambda: taught.append(len(runs_taught(store)))):
        forgetting.unlearn(database, JUNK, NOON_S, AT_ONCE)
    taught.append(len(runs_taught(store)))
    assert taught[0] == taught[-1] == ATTEMPTS
    assert min(taught) == 0
    assert max(abs(after - before) for before, after in pairwise(taught)) == AT_ONCE


def dies_at(number: int) -> Callable[[], None]:
    """Ends the process before the transaction of that number."""
    transactions = count()

    def die() -> None:
        if next(transactions) == number:
            raise Killed

    return die


@pytest.mark.slow
def test_a_kill_at_any_moment_of_it_loses_and_doubles_nothing(
    store: Store, database: Database
) -> None:
    once = runs_taught(store)
    for number in range(9):
        with before_each_transaction(database, dies_at(number)), pytest.raises(Killed):
            forgetting.unlearn(database, JUNK, NOON_S, AT_ONCE)
        assert store.observations.imported(0).forgotten == (JUNK,), "the next start does it again"
        store.unlearn(JUNK)
        assert runs_taught(store) == once
        assert store.observations.imported(0).forgotten == ()
        with database.write() as connection:
            mark(connection, [JUNK], forgotten=1)


@pytest.mark.slow
def test_what_is_imported_meanwhile_is_taught_once(store: Store, database: Database) -> None:
    past, transactions = an_attempt("past").of(JUNK).built, count()

    def imports_before_attempts_are_read() -> None:
        if next(transactions) == 4:
            store.observations.record_history([past])

    with before_each_transaction(database, imports_before_attempts_are_read):
        forgetting.unlearn(database, JUNK, NOON_S, AT_ONCE)
    assert store.observations.imported(0).forgotten == (JUNK,), "a running controller looks again"
    store.unlearn(JUNK)
    assert runs_taught(store).count(past.run) == 1
    assert len(runs_taught(store)) == ATTEMPTS + 1
