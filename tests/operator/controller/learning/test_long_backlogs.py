"""A long backlog of lessons, as after an import: folded in parts, each of them saved."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from plimsoll_operator.controller.hub.habits import Turns
from plimsoll_operator.controller.learning import log_fold
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import Store
from plimsoll_predictor.store.learned.standings import LESSONS_AT_ONCE
from tests.builders.experts.expert_lives import Life, a_life, a_run

TASKS = [TaskId("shop", f"task-{number:02}") for number in range(20)]
RUNS = 150
"""Of each task."""


@pytest.fixture
def saves_always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_fold, "SAVE_EVERY_S", 0.0)


def backlog(store: Store) -> None:
    """Record runs of one task after another, which nobody folds yet."""
    store.observations.record(
        [
            a_run(f"{task}-{number}", 300 + number % 7, task=task)
            for task in TASKS
            for number in range(RUNS)
        ]
    )


async def states(life: Life) -> dict[TaskId, dict[str, Any]]:
    standings = {task: await life.standings.standing(task) for task in TASKS}
    return {task: each.to_dict() for task, each in standings.items() if each is not None}


@pytest.mark.slow
@pytest.mark.usefixtures("saves_always")
async def test_a_long_backlog_is_saved_in_parts_and_its_tasks_leave_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_life(tmp_path, held_tasks=2) as life:
        backlog(life.store)
        seen: list[tuple[int, int]] = []

        async def note(_: Turns) -> None:
            seen.append((len(life.standings._used), life.store.experts.through()))

        monkeypatch.setattr(Turns, "rest", note)
        await life.standings.fold()
        in_a_part = -(-LESSONS_AT_ONCE // RUNS) + 1
        assert max(held for held, _ in seen) <= 2 + in_a_part
        assert len({through for _, through in seen}) >= 5, "it is saved again and again"
        assert life.standings.through == len(TASKS) * RUNS


@pytest.mark.slow
@pytest.mark.usefixtures("saves_always")
async def test_a_controller_killed_in_a_long_backlog_goes_on_where_it_was_saved(
    tmp_path: Path,
) -> None:
    for name in ("whole", "killed"):
        (tmp_path / name).mkdir()
    async with a_life(tmp_path / "whole") as whole:
        backlog(whole.store)
        await whole.standings.fold()
        wanted = await states(whole)
    async with a_life(tmp_path / "killed", held_tasks=2) as life:
        backlog(life.store)
        folding = asyncio.create_task(life.standings.fold())
        while life.store.experts.through() < 1000:
            assert not folding.done(), "nothing was saved"
            await asyncio.sleep(0)
        folding.cancel()
        await asyncio.wait([folding])
    async with a_life(tmp_path / "killed", held_tasks=2) as again:
        assert await states(again) == wanted
