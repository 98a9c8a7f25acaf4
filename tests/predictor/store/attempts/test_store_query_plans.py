"""The plans by which SQLite finds what a write needs: a commit may not read a whole index."""

from __future__ import annotations

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
from tests.builders.stores import TRAIN, an_attempt, open_store

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
    engine = store._database.engine

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
    with store._database.read() as connection:
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
