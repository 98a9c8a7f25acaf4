"""Forecasts of tasks that are forgotten: at people's request, and because the store forgot them."""

from __future__ import annotations

from pathlib import Path

from plimsoll_operator.attempts.running_long import LEAST_RUNS_TO_WARN
from plimsoll_predictor.core.task import TaskId
from tests.builders.runtimes.runtime_lives import JOIN, NOON_S, TRAIN, Life, a_life, a_run


async def known_runs(life: Life, task: TaskId = TRAIN) -> int:
    forecast = await life.runtimes.forecast(task, NOON_S + 9999)
    return 0 if forecast is None else forecast.known_runs


async def test_a_task_that_is_forgotten_while_it_runs_is_unknown_at_its_end(tmp_path: Path) -> None:
    async with a_life(tmp_path) as life:
        await life.ran(LEAST_RUNS_TO_WARN)
        await life.ran(3, task=JOIN)
        life.submitted("u", at_s=NOON_S + 9000)
        life.started("u", at_s=NOON_S + 9001)
        await life.runtimes.fold()
        await life.runtimes.save()
        life.store.erase(TRAIN)
        await life.runtimes.forget(TRAIN)
        assert await known_runs(life) == 0
        assert life.runtimes.under_way("u") is not None
        life.ended(a_run("u", at_s=NOON_S + 9001))
        await life.runtimes.fold()
        assert life.heard.shares["u"] is not None, "its own forecast is still known"
        assert (await known_runs(life), await known_runs(life, JOIN)) == (1, 3)
        await life.runtimes.save()
    async with a_life(tmp_path) as again:
        assert await known_runs(again) == 1


async def test_what_was_saved_of_a_task_before_it_is_forgotten_goes_with_the_next_save(
    tmp_path: Path,
) -> None:
    async with a_life(tmp_path) as life:
        await life.ran(3)
        life.submitted("u", at_s=NOON_S + 9000)
        await life.runtimes.fold()
        await life.runtimes.save()
        await life.runtimes.forget(TRAIN)
        await life.runtimes.forget(TaskId("shop", "never-seen"))
        await life.ran(1, task=JOIN)
        await life.runtimes.save()
        assert life.store.runtimes.task_states([str(TRAIN), "shop/never-seen"]) == {}


async def test_no_name_of_a_forgotten_task_is_kept(tmp_path: Path) -> None:
    async with a_life(tmp_path) as life:
        await life.ran(2)
        await life.ran(2, task=JOIN)
        life.submitted("u", JOIN)
        await life.runtimes.fold()
        await life.runtimes.forget_all_but([])
        assert life.runtimes._folding.runs_of == {str(JOIN): 1}, "it has a run under way"
