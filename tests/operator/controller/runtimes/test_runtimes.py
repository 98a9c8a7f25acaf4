"""The controller's forecasts: what they learn; a restart changes nothing."""

from __future__ import annotations

import asyncio
import itertools
import time
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from plimsoll_operator.attempts.running_long import LEAST_RUNS_TO_WARN
from plimsoll_operator.controller.hub.hub import RanLong, RunStarted
from plimsoll_operator.controller.runtimes.living_runs import LongRuns
from plimsoll_operator.metrics.controller import ControllerMetrics
from plimsoll_operator.wording.event_words import Regarding
from plimsoll_predictor.core.record import Outcome
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store.database.schema import forecaster as forecaster_table
from tests.builders.pods import a_pod
from tests.builders.runtimes.runtime_lives import (
    JOIN,
    NOON_S,
    TRAIN,
    a_life,
    a_run,
    state_of,
)


def ran_long(uid: str) -> RanLong:
    pod = Regarding(kind="Pod", namespace=TRAIN.namespace, name="train-1", uid=uid)
    return RanLong(uid, TRAIN, pod, "it runs long", NOON_S + 9999)


@pytest.mark.slow
async def test_it_goes_on_where_it_was_saved(tmp_path: Path) -> None:
    async with a_life(tmp_path) as life:
        await life.ran(30)
        await life.runtimes.fold()
        await life.runtimes.save()
        saved_through = life.runtimes.through
    async with a_life(tmp_path) as again:
        assert again.runtimes.through == saved_through > 0


@pytest.mark.slow
async def test_a_run_is_held_against_what_was_forecast_when_it_was_submitted(
    tmp_path: Path,
) -> None:
    async with a_life(tmp_path) as life:
        await life.ran(30)
        life.submitted("u", at_s=NOON_S + 9000)
        await life.runtimes.fold()
        made = life.runtimes.under_way("u")
        assert made is not None
        await life.ran(30, 600.0)
        life.ended(a_run("u", 600.0, at_s=NOON_S + 9001))
        await life.runtimes.fold()
        assert life.heard.shares["u"] == pytest.approx(made.forecast.share_below(600.0), abs=0.02)
        assert life.runtimes.under_way("u") is None
        await life.runtimes.save()
        [*_, last] = [
            each for each in life.store.runtimes.history(TRAIN) if each.attempt_uid == "u"
        ]
        assert last.forecast_share == life.heard.shares["u"]


async def test_a_run_that_few_were_known_for_has_no_place_in_its_forecast(tmp_path: Path) -> None:
    async with a_life(tmp_path) as life:
        await life.ran(30, 30.0, JOIN)
        await life.ran(LEAST_RUNS_TO_WARN + 1, 3600.0)
        shares = [share for uid, share in life.heard.shares.items() if uid.startswith(str(TRAIN))]
        assert [share is None for share in shares] == [True] * LEAST_RUNS_TO_WARN + [False]
        await life.runtimes.save()
        stored = [each.forecast_share for each in life.store.runtimes.history(TRAIN)]
        assert stored == shares


async def test_killed_attempts_teach_no_runtime(tmp_path: Path) -> None:
    async with a_life(tmp_path) as life:
        life.submitted("k")
        life.ended(replace(a_run("k", 5.0), outcome=Outcome.OOM_KILLED))
        await life.runtimes.fold()
        assert await life.runtimes.forecast(TRAIN, NOON_S) is None
        assert life.heard.shares == {"k": None}
        life.ended(a_run("k2", 60.0))
        await life.runtimes.fold()
        forecast = await life.runtimes.forecast(TRAIN, NOON_S + 99)
        assert forecast is not None
        assert (forecast.known_runs, forecast.usual_s) == (1, 60.0)


async def test_a_run_that_took_no_time_that_shows_is_learned(tmp_path: Path) -> None:
    async with a_life(tmp_path) as life:
        life.ended(a_run("u", 0.0))
        await life.runtimes.fold()
        forecast = await life.runtimes.forecast(TRAIN, NOON_S + 99)
        assert forecast is not None
        assert forecast.quantile_s(0.5) < 5


@pytest.mark.slow
async def test_what_was_recorded_while_nobody_led_is_learned_at_the_start(tmp_path: Path) -> None:
    async with a_life(tmp_path) as life:
        await life.ran(3)
        life.store.observations.record_history([a_run("meanwhile", 500.0)])
    async with a_life(tmp_path) as again:
        await again.runtimes.fold()
        forecast = await again.runtimes.forecast(TRAIN, NOON_S + 9999)
        assert forecast is not None
        assert forecast.known_runs == 4


@pytest.mark.slow
async def test_runs_in_flight_fly_on_after_a_restart(tmp_path: Path) -> None:
    async with a_life(tmp_path) as life:
        await life.ran(20)
        life.submitted("waits", at_s=NOON_S + 9000)
        life.submitted("runs", at_s=NOON_S + 9000)
        life.started("runs", at_s=NOON_S + 9001)
        await life.runtimes.fold()
        life.hub.publish(ran_long("runs"))
        await life.runtimes.close()
        told = life.runtimes.under_way("runs")
        assert told is not None
    async with a_life(tmp_path) as again:
        found = again.runtimes.under_way("runs")
        assert found is not None
        assert (found.started_s, found.announced_s) == (NOON_S + 9001, NOON_S + 9999)
        assert found.long_after_s == pytest.approx(told.long_after_s, rel=1e-3)
        assert again.heard.began == ["runs"]
        waits = again.runtimes.under_way("waits")
        assert waits is not None
        assert waits.started_s is None
        again.ended(a_run("runs", 60.0, at_s=NOON_S + 9001))
        await again.runtimes.fold()
        assert 0 < (again.heard.shares["runs"] or 0) < 1


@pytest.mark.slow
async def test_what_is_told_is_saved_though_nothing_else_happens(tmp_path: Path) -> None:
    async with a_life(tmp_path) as life:
        await life.ran(20)
        life.submitted("u", at_s=NOON_S + 9000)
        await life.runtimes.fold()
        await life.runtimes.save()
        life.hub.publish(ran_long("u"))
        await life.runtimes.save()
        [kept] = life.store.runtimes.open_forecasts()
        assert kept.announced_s == NOON_S + 9999


@pytest.mark.slow
async def test_a_run_running_long_is_told_once_though_the_controller_restarts(
    tmp_path: Path,
) -> None:
    told: list[RanLong] = []
    for _ in range(3):
        async with a_life(tmp_path) as life:
            if not life.runtimes.through:
                await life.ran(20)
                life.submitted("u", at_s=NOON_S + 9000)
                life.started("u", at_s=NOON_S + 9000)
            await life.runtimes.fold()
            life.hub.subscribe(RanLong, told.append)
            runs = LongRuns(life.hub, ControllerMetrics().runs, lambda: NOON_S + 12_000)
            made = life.runtimes.under_way("u")
            assert made is not None
            runs.run_started(RunStarted("u", made))
            runs.see("u", a_pod().named("train-1", uid="u").built())
            runs.look()
            await life.runtimes.save()
    assert len(told) == 1
    assert "running for 50m; 99 of 100 runs of shop/train end within 1m" in told[0].words


@pytest.mark.slow
async def test_tasks_seen_longest_ago_are_not_held_and_lose_nothing(tmp_path: Path) -> None:
    tasks = [TaskId("shop", f"task-{number}") for number in range(6)]
    (tmp_path / "all").mkdir()
    (tmp_path / "two").mkdir()
    async with a_life(tmp_path / "all") as every, a_life(tmp_path / "two", held_tasks=2) as few:
        for life in (every, few):
            life.submitted("runs on", tasks[0])
            for number in range(12):
                await life.ran(2, 60.0 + number, task=tasks[number * 5 % 6])
                await life.runtimes.save()
        held = few.state()["tasks"]
        assert str(tasks[0]) in held, "it has a run under way"
        assert len(held) <= 3
        assert await state_of(few) == await state_of(every)


@pytest.mark.slow
async def test_a_state_that_cannot_be_read_costs_only_its_task(tmp_path: Path) -> None:
    async with a_life(tmp_path) as life:
        await life.ran(9)
        await life.ran(9, 500.0, task=JOIN)
        await life.runtimes.close()
        with life.store.database.write() as connection:
            mine = forecaster_table.c.key == f"task/{TRAIN}"
            connection.execute(sa.update(forecaster_table).where(mine).values(state=b"\xff?"))
    async with a_life(tmp_path) as again:
        assert await again.runtimes.forecast(TRAIN, NOON_S) is None
        joined = await again.runtimes.forecast(JOIN, NOON_S + 99)
        assert joined is not None
        assert joined.known_runs == 9


@pytest.mark.slow
async def test_a_state_of_another_version_is_learned_anew_from_the_observations(
    tmp_path: Path,
) -> None:
    async with a_life(tmp_path) as life:
        await life.ran(9)
        life.submitted("runs on", at_s=NOON_S + 9000)
        await life.runtimes.fold()
        await life.runtimes.save()
        through = life.runtimes.through
        await life.ran(2)
        with life.store.database.write() as connection:
            mine = forecaster_table.c.key == "shared"
            connection.execute(sa.update(forecaster_table).where(mine).values(state=b"of 2030"))
    async with a_life(tmp_path) as again:
        assert again.runtimes.under_way("runs on") is None, "it is seen again while it lives"
        again.submitted("runs on", at_s=NOON_S + 9000)
        await again.runtimes.fold()
        forecast = await again.runtimes.forecast(TRAIN, NOON_S + 9999)
        assert forecast is not None
        assert forecast.known_runs == 11
        assert again.runtimes.through > through
        assert again.runtimes.under_way("runs on") is not None
        await again.runtimes.save()
        wanted = await state_of(again)
    async with a_life(tmp_path) as at_last:
        assert await state_of(at_last) == wanted


@pytest.mark.slow
async def test_who_was_overtaken_takes_up_what_its_successor_saved(tmp_path: Path) -> None:
    async with a_life(tmp_path) as old, a_life(tmp_path) as new:
        await new.ran(5)
        await old.runtimes.fold()
        await new.runtimes.save()
        await new.ran(5, 90.0)
        await old.runtimes.save()
        await old.runtimes.fold()
        assert await state_of(old) == await state_of(new)


@pytest.mark.slow
async def test_a_task_the_store_forgot_is_forgotten(tmp_path: Path) -> None:
    async with a_life(tmp_path) as life:
        await life.ran(3)
        await life.ran(3, task=JOIN)
        await life.runtimes.save()
        await life.runtimes.forget_all_but([JOIN])
        life.submitted("u", JOIN)
        await life.runtimes.fold()
        await life.runtimes.save()
        assert list(life.store.runtimes.task_states([str(TRAIN), str(JOIN)])) == [str(JOIN)]
        assert await life.runtimes.forecast(TRAIN, NOON_S) is None


@pytest.mark.slow
async def test_it_learns_and_saves_by_itself_while_it_runs(tmp_path: Path) -> None:
    async with a_life(tmp_path) as life:
        running = asyncio.create_task(life.runtimes.run())
        life.ended(a_run("u"))
        life.runtimes.news()
        async with asyncio.timeout(60):
            while TRAIN not in life.heard.tasks:
                await asyncio.sleep(0.01)
            while not life.store.runtimes.task_states([str(TRAIN)]):
                await asyncio.sleep(0.1)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running


@pytest.mark.slow
async def test_a_long_backlog_is_folded_without_holding_the_loop(tmp_path: Path) -> None:
    """As at the first start on an older store: other work still gets its turn."""
    async with a_life(tmp_path) as life:
        for start in range(0, 6_000, 1_000):
            life.store.observations.record(
                [
                    a_run(
                        f"u{n}", 60.0 + n % 50, task=TaskId("shop", f"t{n % 40}"), at_s=NOON_S + n
                    )
                    for n in range(start, start + 1_000)
                ]
            )
        turns: list[float] = []

        async def others() -> None:
            while True:
                # Time of this thread only: a pause of the machine is not one of the loop.
                turns.append(time.thread_time())
                await asyncio.sleep(0)

        beside = asyncio.create_task(others())
        began_s = time.thread_time()
        await life.runtimes.fold()
        took_s = time.thread_time() - began_s
        beside.cancel()
        assert life.store.runtimes.sightings(life.runtimes.through) == []
        longest_s = max(b - a for a, b in itertools.pairwise(turns))
        assert longest_s < took_s / 4, (longest_s, took_s)
