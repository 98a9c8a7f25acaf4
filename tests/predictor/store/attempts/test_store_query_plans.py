"""The plans by which SQLite finds what a write needs: a commit may not read a whole index."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from plimsoll_predictor.core.record import Observation
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import Store
from plimsoll_predictor.store.attempts import sightings, totals
from plimsoll_predictor.store.attempts.totals import CPU_LOOKED_FOR
from tests.builders.stores import NOON_S, TRAIN, an_attempt, open_store

OF_ONE_RUN = "USING INDEX ix_observations_task_run (task=? AND run=?)"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path)
    yield opened
    opened.close()


@contextmanager
def selects_of(store: Store) -> Iterator[list[tuple[str, Any]]]:
    """The statements that read observations by their run, with their parameters."""
    found: list[tuple[str, Any]] = []
    engine = store.database.engine

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        if statement.startswith("SELECT") and "observations.run" in statement:
            found.append((statement, parameters))

    event.listen(engine, "before_cursor_execute", note)
    try:
        yield found
    finally:
        event.remove(engine, "before_cursor_execute", note)


def second_attempts(count: int) -> list[Observation]:
    """Attempts of as many runs, each the second, so that what it waited is looked for, too."""
    attempts = [an_attempt(f"uid-{n}").of(TaskId(TRAIN.namespace, f"t{n}")) for n in range(count)]
    return [replace(each.built, attempt=2) for each in attempts]


def plan_of(store: Store, statement: str, parameters: Any) -> str:
    with store.database.read() as connection:
        steps = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
        return "\n".join(step.detail for step in steps)


@pytest.mark.parametrize("runs", [1, 2, 50])
def test_a_write_and_its_lessons_find_runs_by_the_index_of_task_and_run(
    store: Store, runs: int
) -> None:
    with selects_of(store) as selects:
        store.observations.record(second_attempts(runs))
        store.experts.lessons(0)
    plans = [plan_of(store, *select) for select in selects]
    by_run = [plan for plan in plans if OF_ONE_RUN in plan]
    assert len(by_run) == 3, "before a write, after it, and by the lessons"
    assert not [plan for plan in plans if "SCAN observations" in plan]
    assert all("(task=?)" not in plan for plan in plans)


@contextmanager
def statements_of(store: Store) -> Iterator[list[tuple[str, Any]]]:
    """The statements that read or delete, with their parameters."""
    found: list[tuple[str, Any]] = []
    engine = store.database.engine

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        if statement.startswith(("SELECT", "DELETE")):
            found.append((statement, parameters))

    event.listen(engine, "before_cursor_execute", note)
    try:
        yield found
    finally:
        event.remove(engine, "before_cursor_execute", note)


def test_tasks_with_chunks_are_looked_for_among_the_newest_attempts_only(store: Store) -> None:
    store.observations.record(second_attempts(3))
    with statements_of(store) as statements:
        assert store.chunk_runs.tasks("items") == []
    [plan] = [plan_of(store, *statement) for statement in statements]
    assert "SCAN observations" in plan, "from the newest row backwards, which the limit ends"
    assert "USING INDEX" not in plan, "the index of tasks has all rows"


def test_a_save_of_the_forecaster_does_not_pass_over_every_tasks_state(store: Store) -> None:
    with statements_of(store) as statements, store.database.write() as connection:
        sightings.forget(connection, through=1)
    plans = [
        plan_of(store, *statement)
        for statement in statements
        if statement[0].startswith("DELETE FROM forecaster")
    ]
    assert len(plans) == 1
    assert "SCAN forecaster" not in plans[0]


def put_unmeasured(store: Store, first: int, count: int) -> None:
    """Attempts of one task whose CPU nobody measured."""
    numbers = range(first, first + count)
    attempts = [an_attempt(f"uid-{n}").running(NOON_S, NOON_S + 60.0 + n) for n in numbers]
    store.observations.record([each.built for each in attempts])


def steps_for_cpu(store: Store) -> int:
    """How many steps SQLite's machine takes to look for runs whose CPU was measured, in tens."""
    steps = 0

    def note() -> int:
        nonlocal steps
        steps += 1
        return 0

    with store.database.read() as connection:
        driver = connection.connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)
        driver.set_progress_handler(note, 10)
        try:
            assert totals.run_cpus(connection, TRAIN) == []
        finally:
            driver.set_progress_handler(None, 0)
    return steps


@pytest.mark.slow
def test_the_cpu_of_a_task_that_nobody_measures_costs_no_more_with_more_attempts(
    store: Store,
) -> None:
    put_unmeasured(store, 0, CPU_LOOKED_FOR)
    some = steps_for_cpu(store)
    put_unmeasured(store, CPU_LOOKED_FOR, 3 * CPU_LOOKED_FOR)
    assert some > 0
    assert steps_for_cpu(store) < 1.2 * some


@pytest.mark.slow
def test_a_measured_run_is_found_among_as_many_as_are_looked_at(store: Store) -> None:
    measured = replace(an_attempt("measured").running(NOON_S, NOON_S + 50.0).built, cpu_s=25.0)
    store.observations.record([measured])
    put_unmeasured(store, 0, CPU_LOOKED_FOR - 1)
    [run] = store.observations.run_cpus([TRAIN])[TRAIN]
    assert run.mean_cores == 0.5
    put_unmeasured(store, CPU_LOOKED_FOR - 1, 1)
    assert store.observations.run_cpus([TRAIN])[TRAIN] == []


def test_a_run_of_a_shared_key_is_found_by_the_index_of_task_and_run(store: Store) -> None:
    store.observations.record([an_attempt("first").in_run("r").built])
    second = an_attempt("second").in_run("r").built
    with selects_of(store) as selects:
        store.observations.run_at_once(second)
        store.observations.run_in_turn(second)
    plans = [plan_of(store, *select) for select in selects]
    assert all("(attempt_uid=?)" in by_uid for by_uid in (plans[0], plans[2]))
    assert all(OF_ONE_RUN in by_run for by_run in (plans[1], plans[3]))
    [around] = plans[4:]
    for bound in ("<", ">"):
        assert f"ix_observations_task_ordered_s_id (task=? AND ordered_s{bound}?)" in around
    assert "TEMP B-TREE" not in around, "the latest one is the first that is read"
