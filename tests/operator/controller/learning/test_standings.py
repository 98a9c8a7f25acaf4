"""The experts in the controller: what they bid and learn; a restart changes nothing."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from plimsoll_operator.controller.hub.habits import Turns
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.experts.panel import EXPERTS, PANEL
from plimsoll_predictor.knowledge.expert_names import BOOSTING, CLASSIFIER, MAX_SEEN, YOUNG_SAFE
from plimsoll_predictor.store.database.schema import standings as standing_table
from plimsoll_predictor.store.learned.standings import StandingRecords
from tests.builders.experts.expert_lives import (
    JOIN,
    TRAIN,
    a_life,
    a_run,
    costs_of,
    failed,
    killed,
)
from tests.builders.experts.serving import a_model, with_boosted


@pytest.mark.slow
async def test_what_was_recorded_while_nobody_led_is_learned_at_the_start(tmp_path: Path) -> None:
    async with a_life(tmp_path) as life:
        await life.ran(300, 310)
        life.store.observations.record([a_run("meanwhile", 500)])
    async with a_life(tmp_path) as again:
        known = again.book.look(TRAIN)
        assert known.largest_bytes == 500 * MIB
        assert known.rule is not None


async def test_a_run_is_learned_once_however_often_its_pod_is_seen(tmp_path: Path) -> None:
    async with a_life(tmp_path) as life:
        for _ in range(3):
            await life.ended(a_run("u"), a_run("u"))
        standing = life.standings.held(TRAIN)
        assert standing is not None
        assert standing.past.runs == 1


async def test_a_peak_that_grows_late_corrects_what_was_learned(tmp_path: Path) -> None:
    async with a_life(tmp_path) as life:
        await life.ran(280, 290)
        await life.ended(a_run("u", 300))
        await life.ended(a_run("u", 350))
        standing = life.standings.held(TRAIN)
        assert standing is not None
        assert standing.past.runs == 3
        assert list(standing.past.needs_bytes) == [280 * MIB, 290 * MIB, 350 * MIB]
        assert life.book.look(TRAIN).largest_bytes == 350 * MIB


@pytest.mark.slow
async def test_a_killed_run_is_charged_by_what_was_bid_before_it_was_killed(tmp_path: Path) -> None:
    async with a_life(tmp_path) as life:
        await life.ran(100, 100, 100)
        first = await life.decided("k")
        await life.ended(killed("k", "r", 150))
        standing = life.standings.held(TRAIN)
        assert standing is not None
        assert standing.pending == {"r": first}
        assert life.book.look(TRAIN).rule is not None
        again = await life.decided("second")
        assert again[YOUNG_SAFE] > 150 * MIB > first[YOUNG_SAFE], "the kill is known at once"
        place = EXPERTS.index(YOUNG_SAFE)
        before = float(standing.charges[place])
        await life.ended(replace(a_run("second", 200), run="r"))
        assert standing.pending == {}
        # The first bid would have failed: that costs much more than a bid that wastes a little.
        assert standing.charges[place] - before > 1


@pytest.mark.parametrize("name", ["r#second", "r"])
async def test_a_failure_is_proven_by_the_success_of_its_run_or_its_key(
    tmp_path: Path, name: str
) -> None:
    async with a_life(tmp_path) as life:
        await life.ran(100, 100)
        await life.ended(failed(replace(a_run("first"), run="r"), 150))
        standing = life.standings.held(TRAIN)
        assert standing is not None
        failures = standing.floors.failures
        assert failures.suspected == {"r": 150 * MIB}
        await life.ended(replace(a_run("second", 200), run=name))
        assert (failures.suspected, failures.proven_bytes) == ({}, 150 * MIB)


@pytest.mark.slow
async def test_every_expert_bids_for_a_pod_and_a_models_too(tmp_path: Path) -> None:
    async with a_life(tmp_path) as life:
        assert await life.decided("first") == {}
        await life.ran(300, 310, 320)
        life.book.serve(TRAIN, with_boosted(a_model(300, 600)))
        bids = await life.decided("u", rows=900.0)
        assert set(bids) == {*PANEL, CLASSIFIER, BOOSTING}
        assert bids[CLASSIFIER] == 600 * MIB
        assert life.store.experts.bids("u") == bids


@pytest.mark.slow
async def test_a_task_of_which_nothing_is_known_is_looked_up_once_until_it_learns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_life(tmp_path) as life:
        looked_up: list[str] = []
        look_up = StandingRecords.standings_of

        def counted(records: StandingRecords, tasks: list[str]) -> dict[str, dict[str, Any]]:
            looked_up.extend(tasks)
            return look_up(records, tasks)

        monkeypatch.setattr(StandingRecords, "standings_of", counted)
        for uid in ("first", "second", "third"):
            assert await life.decided(uid) == {}
        assert looked_up == [str(TRAIN)]
        await life.ran(300, 310)
        assert set(await life.decided("later")) == set(PANEL)


@pytest.mark.slow
async def test_a_training_seeds_its_models_and_one_without_models_retires_them(
    tmp_path: Path,
) -> None:
    async with a_life(tmp_path) as life:
        await life.ran(*[300 + 10 * (number % 7) for number in range(20)])
        costs = costs_of({MAX_SEEN: 8.0, CLASSIFIER: 0.01})
        life.store.models.save(TRAIN, a_model(600), {}, out_of_time_costs=costs)
        await life.standings.fold()
        assert life.book.look(TRAIN).champion == CLASSIFIER
        life.store.models.save(TRAIN, None, {}, out_of_time_costs=costs)
        await life.standings.fold()
        assert life.book.look(TRAIN).champion != CLASSIFIER


async def test_a_training_of_a_task_without_runs_chooses_nobody(tmp_path: Path) -> None:
    async with a_life(tmp_path) as life:
        life.store.models.save(TRAIN, None, {})
        await life.standings.fold()
        assert life.book.look(TRAIN).champion == MAX_SEEN


async def test_what_is_learned_is_published_with_the_next_publication(tmp_path: Path) -> None:
    async with a_life(tmp_path) as life:
        await life.ran(300)
        life.books.published.clear()
        await life.ran(310)
        assert life.books.published == []
        await life.books.publications.publish()
        [known] = life.books.published
        assert (known.task, known.champion, known.largest_bytes) == (TRAIN, YOUNG_SAFE, 310 * MIB)
        assert known.runs == 0, "runs are counted by what is recorded, not here"


@pytest.mark.slow
async def test_tasks_that_learned_longest_ago_are_not_held_and_lose_nothing(tmp_path: Path) -> None:
    tasks = [TaskId("shop", f"task-{number}") for number in range(5)]
    (tmp_path / "all").mkdir()
    (tmp_path / "two").mkdir()
    async with a_life(tmp_path / "all") as every, a_life(tmp_path / "two", held_tasks=2) as few:
        for life in (every, few):
            for number in range(12):
                await life.ran(300 + number, task=tasks[number * 3 % 5])
                await life.standings.save()
        assert sum(few.standings.held(task) is not None for task in tasks) == 2
        for task in tasks:
            ours, theirs = await few.standings.standing(task), every.standings.held(task)
            assert ours is not None
            assert theirs is not None
            assert ours.to_dict() == theirs.to_dict()
            assert await few.decided("u", task) == await every.decided("u", task) != {}
    async with a_life(tmp_path / "two", held_tasks=2) as again:
        assert sum(again.standings.held(task) is not None for task in tasks) == 2
        assert all(again.book.look(task).rule is not None for task in tasks)


@pytest.mark.slow
async def test_a_state_that_cannot_be_read_costs_only_its_task(tmp_path: Path) -> None:
    async with a_life(tmp_path) as life:
        await life.ran(300, 310)
        await life.ran(500, task=JOIN)
        await life.standings.close()
        with life.store.database.write() as connection:
            mine = standing_table.c.task == str(TRAIN)
            connection.execute(sa.update(standing_table).where(mine).values(state='{"past": 5}'))
    async with a_life(tmp_path) as again:
        assert again.standings.held(TRAIN) is None
        assert again.standings.held(JOIN) is not None
        await again.ran(320)
        assert again.book.look(TRAIN).largest_bytes == 320 * MIB


@pytest.mark.slow
async def test_a_pool_that_cannot_be_read_costs_only_itself(tmp_path: Path) -> None:
    async with a_life(tmp_path) as life:
        await life.ran(300, 310)
        await life.standings.close()
        with life.store.database.write() as connection:
            shared = standing_table.c.task == f"{TRAIN.namespace}/"
            connection.execute(sa.update(standing_table).where(shared).values(state="{}"))
    async with a_life(tmp_path) as again:
        held = again.standings.held(TRAIN)
        assert held is not None
        assert held.past.runs == 2
        await again.ran(320)
        assert held.past.runs == 3


@pytest.mark.slow
async def test_who_was_overtaken_takes_up_what_its_successor_saved(tmp_path: Path) -> None:
    async with a_life(tmp_path) as old, a_life(tmp_path) as new:
        await new.ran(300, 310, 320)
        await old.standings.fold()
        await new.standings.save()
        await new.ran(330)
        await old.standings.save()
        assert old.state() == new.state()


async def test_a_task_the_store_forgot_is_forgotten(tmp_path: Path) -> None:
    async with a_life(tmp_path) as life:
        await life.ran(300)
        await life.ran(500, task=JOIN)
        life.standings.forget_all_but([JOIN])
        assert life.standings.held(TRAIN) is None
        assert life.standings.held(JOIN) is not None
        await life.standings.save()
        assert life.store.experts.standing(TRAIN) is None


@pytest.mark.slow
async def test_it_learns_and_saves_by_itself_while_it_runs(tmp_path: Path) -> None:
    async with a_life(tmp_path) as life:
        running = asyncio.create_task(life.standings.run())
        life.store.observations.record([a_run("u")])
        life.standings.news()
        async with asyncio.timeout(30):
            while life.standings.held(TRAIN) is None:
                await asyncio.sleep(0.01)
            while life.store.experts.standing(TRAIN) is None:
                await asyncio.sleep(0.1)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running


async def test_a_task_that_is_forgotten_while_its_lesson_is_folded_stays_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_life(tmp_path) as life:

        async def forget(_: Turns) -> None:
            life.standings.forget_all_but([])

        monkeypatch.setattr(Turns, "rest", forget)
        await life.ended(a_run("a"))
        assert TRAIN not in life.book
        assert life.state()["standings"] == {}


MANY = [TaskId(f"team-{number % 3}", f"task-{number:02}") for number in range(20)]


@pytest.mark.slow
async def test_a_task_that_is_forgotten_in_the_middle_of_a_save_is_not_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_life(tmp_path) as life:
        await life.ended(*(a_run(str(task), task=task) for task in MANY))
        rests = 0

        async def forget(_: Turns) -> None:
            nonlocal rests
            rests += 1
            life.standings.forget_all_but(MANY[1:])

        monkeypatch.setattr(Turns, "rest", forget)
        await life.standings.save()
        assert rests == len(MANY), "others have their turns"
        saved = life.store.experts.standings_of([str(task) for task in MANY])
        assert set(saved) == {str(task) for task in MANY[1:]}


@pytest.mark.slow
async def test_what_a_namespace_shares_is_kept_though_others_have_turns_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_life(tmp_path) as life:
        await life.ended(*(a_run(str(task), task=task) for task in MANY))
        await life.standings.save()
        before = life.state()
    async with a_life(tmp_path) as life:
        rests = 0

        async def prune(_: Turns) -> None:
            nonlocal rests
            rests += 1
            life.standings.forget_all_but(MANY)

        monkeypatch.setattr(Turns, "rest", prune)
        await life.standings.restore()
        assert rests >= len(MANY)
        assert life.state() == before
