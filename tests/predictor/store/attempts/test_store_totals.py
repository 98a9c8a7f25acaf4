"""Tasks' totals are the same whether kept up to date or added up from all rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from operator import attrgetter
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import event

from plimsoll_predictor.core.cpu import WINDOW_RUNS, use_of
from plimsoll_predictor.core.record import Observation, Outcome, PeakSource
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import Store, pruning
from plimsoll_predictor.store.attempts import totals
from plimsoll_predictor.store.database.schema import totals as table
from tests.builders.stores import NOON_S, TRAIN, an_attempt, open_store_at
from tests.rigs.drawing import examples

SIZES = st.sampled_from([None, 0, 1, 500_000_000, 2**31, 2**33])
CORES = st.sampled_from([None, 0.25, 1.0])


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    opened = open_store_at(store_url)
    yield opened
    opened.close()


@st.composite
def attempts(draw: st.DrawFn) -> Observation:
    """One of few attempts of few runs, so that they come again and are amended."""
    number = draw(st.integers(0, 7))
    started_s = draw(st.sampled_from([None, NOON_S, NOON_S + 100]))
    return replace(
        an_attempt(f"u{number}").built,
        task=TaskId("shop", f"t{number % 2}"),
        run=f"r{number // 4}",
        outcome=draw(st.sampled_from(list(Outcome))),
        request_bytes=draw(SIZES),
        allocation_bytes=draw(SIZES),
        peak_bytes=draw(SIZES),
        peak_source=draw(st.sampled_from([None, PeakSource.AGENT, PeakSource.IMPORTED])),
        cpu_s=draw(st.sampled_from([None, 0.0, 60.0])),
        peak_cores=draw(CORES),
        request_cores=draw(CORES),
        started_s=started_s,
        finished_s=draw(st.sampled_from([None, NOON_S - 1, NOON_S + 200, NOON_S + 4000])),
    )


def kept(store: Store) -> dict[str, dict[str, Any]]:
    with store.database.read() as connection:
        rows = connection.execute(table.select()).mappings().all()
    return {row["task"]: dict(row) for row in rows}


def added_up(store: Store) -> dict[str, dict[str, Any]]:
    with store.database.write() as connection:
        totals.add_up_all(connection)
    return kept(store)


def assert_alike(store: Store) -> None:
    as_they_came, anew = kept(store), added_up(store)
    assert set(as_they_came) == set(anew)
    for task, row in anew.items():
        for name, value in row.items():
            # Sums of doubles in another order differ in their last digits.
            near = pytest.approx(value, rel=1e-9, abs=1e-9) if isinstance(value, float) else value
            assert as_they_came[task][name] == near, (task, name)


@pytest.mark.slow
@settings(examples(30), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches=st.lists(st.lists(attempts(), min_size=1, max_size=5), min_size=1, max_size=6))
def test_whatever_comes_and_is_amended_adds_up(
    store: Store, batches: Sequence[Sequence[Observation]]
) -> None:
    with store.database.write() as connection:
        for name in ("observations", "lessons", "totals"):
            connection.execute(sa.text(f"DELETE FROM {name}"))
    for batch in batches:
        store.observations.record(batch)
    assert_alike(store)


@pytest.mark.slow
def test_what_is_forgotten_no_longer_counts(store: Store) -> None:
    many = [
        an_attempt(f"u{number}")
        .peaking(10**9 - number * 10**6)
        .running(NOON_S, NOON_S + 60 + number)
        .built
        for number in range(40)
    ]
    store.observations.record(many)
    assert store.totals.of(TRAIN).max_need_bytes == 10**9
    deleted = list(store.prune_steps(NOON_S, pruning.Bounds(per_task=10, rows=7)))
    assert deleted == [7, 7, 7, 7, 2, 0], "never more than so many in one transaction"
    summary = store.totals.of(TRAIN)
    assert (summary.observations, summary.runs_known) == (10, 10)
    assert summary.max_need_bytes == 10**9 - 30 * 10**6
    assert_alike(store)
    assert list(store.prune_steps(NOON_S, pruning.Bounds(per_task=10))) == []


def added_up_by(store: Store, work: Callable[[], object]) -> int:
    """How often a whole task is added up."""
    said = statements_of(store, work)
    return len([each for each in said if "GROUP BY observations.task" in each])


@pytest.mark.slow
def test_a_task_is_added_up_once_however_many_attempts_of_it_are_pruned(store: Store) -> None:
    store.observations.record([an_attempt(f"u{number}").built for number in range(40)])
    once = added_up_by(store, lambda: add_up(store, TRAIN))
    assert once > 0
    pruned = pruning.Bounds(per_task=10, rows=2)
    assert added_up_by(store, lambda: sum(store.prune_steps(NOON_S, pruned))) == once
    assert_alike(store)
    assert added_up_by(store, lambda: store.forget(TRAIN)) == 0
    assert_alike(store)


def add_up(store: Store, task: TaskId) -> None:
    with store.database.write() as connection:
        totals.add_up(connection, [str(task)])


@pytest.mark.slow
@pytest.mark.parametrize("steps", [1, 3, 4])
def test_a_pruning_that_ended_half_way_is_made_up_for_by_the_next(store: Store, steps: int) -> None:
    """After three steps all is deleted that is too much, and nothing is added up yet."""
    many = [an_attempt(f"u{number}").running(NOON_S, NOON_S + number).built for number in range(30)]
    store.observations.record(many)
    bounds = pruning.Bounds(per_task=10, rows=7)
    list(islice(store.prune_steps(NOON_S, bounds), steps))
    sum(store.prune_steps(NOON_S, bounds))
    assert store.totals.of(TRAIN).observations == 10
    assert_alike(store)


@pytest.mark.slow
def test_a_task_that_is_forgotten_has_no_totals(store: Store) -> None:
    store.observations.record([an_attempt("old").built])
    store.observations.record(
        [an_attempt("new").of(TaskId("a", "b")).running(NOON_S, NOON_S + 9999).built]
    )
    assert sum(store.prune_steps(NOON_S, pruning.Bounds(tasks=1))) >= 1
    assert store.totals.tasks() == [TaskId("a", "b")]
    assert_alike(store)


def test_the_cpu_that_is_kept_is_that_of_the_newest_runs(store: Store) -> None:
    def run(number: int) -> Observation:
        attempt = an_attempt(f"u{number}").running(NOON_S, NOON_S + 100 + number).built
        return replace(attempt, cpu_s=float(number))

    store.observations.record([run(number) for number in range(WINDOW_RUNS + 20)])
    [(task, use)] = store.totals.cpu_uses().items()
    assert task == TRAIN
    assert use == use_of(store.observations.run_cpus([TRAIN])[TRAIN])
    assert use is not None
    assert use.runs == WINDOW_RUNS
    store.observations.record([an_attempt("unmeasured").of(TaskId("a", "b")).built])
    assert set(store.totals.cpu_uses()) == {TRAIN}


def test_cpu_in_another_unit_adds_up_to_nothing(store: Store) -> None:
    attempt = an_attempt().running(NOON_S, NOON_S + 60).built
    store.observations.record([replace(attempt, cpu_s=960_000_000.0)])
    assert store.totals.cpu_uses() == {}
    [use] = store.totals.task_uses()
    assert (use.used_cores, use.most_cores) == (None, None)


@pytest.mark.parametrize("text", ['{"runs": 1, "high_cores": 16000000.0}', "{", "null"])
def test_a_cpu_that_an_older_version_spoilt_costs_only_its_task(
    store: Store, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    for number, task in enumerate((TRAIN, TaskId("a", "b"))):
        attempt = an_attempt(f"u{number}").of(task).running(NOON_S, NOON_S + 60).built
        store.observations.record([replace(attempt, cpu_s=30.0)])
    with store.database.write() as connection:
        connection.execute(table.update().where(table.c.task == str(TRAIN)).values(cpu=text))
    assert set(store.totals.cpu_uses()) == {TaskId("a", "b")}
    assert f"task {TRAIN}: what it used of the CPU cannot be read" in caplog.text


def statements_of(store: Store, work: Any) -> list[str]:
    said: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_rest: object) -> None:
        said.append(statement)

    event.listen(store.database.engine, "before_cursor_execute", note)
    try:
        work()
    finally:
        event.remove(store.database.engine, "before_cursor_execute", note)
    return [each for each in said if each.lstrip().startswith("SELECT") and "FROM" in each]


@pytest.mark.parametrize(
    ("ask", "times"),
    [
        ("totals.by_task", 1),
        ("totals.tasks", 1),
        ("totals.task_uses", 1),
        ("totals.cpu_uses", 1),
        ("lifts.waiting", 1),
        ("observations.item_needs", 2),
    ],
)
def test_a_start_or_a_page_asks_as_often_however_much_there_is(
    store: Store, ask: str, times: int
) -> None:
    for number in range(5):
        store.observations.record([an_attempt(f"u{number}").of(TaskId("shop", f"t{number}")).built])
    assert len(statements_of(store, attrgetter(ask)(store))) == times


@pytest.mark.parametrize("ask", ["by_task", "tasks", "task_uses", "cpu_uses"])
def test_no_observation_is_read_to_tell_what_all_tasks_add_up_to(store: Store, ask: str) -> None:
    store.observations.record([an_attempt().built])
    [statement] = statements_of(store, getattr(store.totals, ask))
    assert "FROM totals" in statement
    assert "observations" not in statement.split("FROM")[1]
