"""`plimsoll forget`: what it lists and removes, and how the running controller learns that."""

from __future__ import annotations

from pathlib import Path

import pytest

from plimsoll_operator.commands.past_runs.forget import Doing, forget_command
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import Store
from tests.builders.controller.ledgers import (
    NOW_S,
    Inside,
    a_final,
    a_train,
    an_inside,
    ended,
    killed,
    made,
)
from tests.builders.experts.serving import a_model
from tests.builders.stores import an_attempt

TASKS = ("shop/train", "shop/tmp-1", "shop/tmp-2", "bank/tmp-1", "shop/a[b]")


@pytest.fixture
def url(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path}/store.db"
    store = Store.open(url)
    store.observations.record([an_attempt(each).of(TaskId.parse(each)).built for each in TASKS])
    store.close()
    return url


def stored(url: str) -> set[str]:
    store = Store.open(url)
    try:
        return {str(task) for task in store.totals.tasks()}
    finally:
        store.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("named", "forgotten"),
    [
        pytest.param("shop/tmp-1", {"shop/tmp-1"}, id="one task, in its namespace alone"),
        pytest.param("shop/tmp-*", {"shop/tmp-1", "shop/tmp-2"}, id="tasks by their names"),
        pytest.param("bank", {"bank/tmp-1"}, id="a namespace"),
        pytest.param("shop/a[b]", {"shop/a[b]"}, id="only a star is special"),
    ],
)
def test_only_what_is_named_is_forgotten(
    url: str, named: str, forgotten: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert forget_command(named, url, Doing.LIST) == 2, "nobody confirmed it"
    assert "would be forgotten" in capsys.readouterr().out
    assert stored(url) == set(TASKS)
    assert forget_command(named, url, Doing.FORGET) == 0
    assert stored(url) == set(TASKS) - forgotten


@pytest.mark.parametrize("named", ["shop/nothing", "sho", "shop/", ""])
def test_a_name_that_nothing_has_is_an_error(url: str, named: str) -> None:
    before = stored(url)
    assert forget_command(named, url, Doing.LIST) == 1
    assert stored(url) == before


def test_a_slash_without_a_name_forgets_nothing_and_says_how_a_namespace_is_written(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert forget_command("shop/", url, Doing.FORGET) == 1
    assert "shop/ names no task; write shop for all its tasks" in capsys.readouterr().err
    assert stored(url) == set(TASKS)


@pytest.mark.slow
async def test_a_running_controller_forgets_what_people_have_forgotten(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        junk = TaskId("shop", "junk")
        for number in range(3):
            name = f"junk-{number}"
            await inside.report(a_final(name))
            await inside.see(ended(a_train(name).labelled("junk")))
        controller = inside.controller
        await controller.publications.publish()
        await controller.standings.fold()
        assert controller.book.look(junk).runs == 3
        inside.store.forget(junk)
        await controller.store_sync.look_for_imports()
        assert junk not in controller.book
        assert controller.standings.held(junk) is None
        assert b"junk" not in controller.board.message(0, None)
        # Nothing in memory brings it back; its next pod does.
        await controller.standings.close()
        assert inside.store.totals.of(junk).observations == 0
        assert inside.store.experts.standings_of([str(junk)]) == {}
        await inside.see(ended(a_train("junk-9").labelled("junk")))
        assert inside.store.totals.of(junk).observations == 1


@pytest.mark.slow
@pytest.mark.parametrize("killed", [False, True])
async def test_a_task_is_forgotten_though_it_runs_and_its_forecast_is_saved_meanwhile(
    tmp_path: Path, killed: bool
) -> None:
    junk = TaskId("shop", "junk")
    last = made(a_train("junk-9").labelled("junk"), "2026-01-01T00:00:00Z")
    async with an_inside(tmp_path) as inside:
        for number in range(3):
            await inside.see(ended(a_train(f"junk-{number}").labelled("junk")))
        await inside.see(last)
        await inside.controller.runtimes.fold()
        assert inside.controller.runtimes.under_way("uid-junk-9") is not None
        inside.store.forget(junk)
        await inside.controller.runtimes.save()
        if not killed:
            await inside.controller.store_sync.look_for_imports()
            await inside.see(ended(last))
            assert await known_runs(inside, junk) == 1
    if killed:
        async with an_inside(tmp_path) as inside:
            await inside.see(last)
            await inside.see(ended(last))
            assert await known_runs(inside, junk) == 1


async def known_runs(inside: Inside, task: TaskId) -> int:
    await inside.controller.runtimes.fold()
    forecast = await inside.controller.runtimes.forecast(task, NOW_S)
    return 0 if forecast is None else forecast.known_runs


JUNK = TaskId("shop", "junk")


async def run_three_times(inside: Inside) -> None:
    for number in range(3):
        await inside.report(a_final(f"junk-{number}"))
        await inside.see(ended(a_train(f"junk-{number}").labelled("junk")))
    inside.store.models.save(JUNK, a_model(300), {})
    inside.controller.book.serve(JUNK, a_model(300))
    await inside.controller.publications.publish()
    await inside.controller.standings.fold()


async def run_once_more(inside: Inside) -> None:
    await inside.report(a_final("junk-9"))
    await inside.see(ended(a_train("junk-9").labelled("junk")))
    await inside.controller.standings.fold()


def runs_learned(inside: Inside) -> int:
    standing = inside.controller.standings.held(JUNK)
    return 0 if standing is None else standing.past.runs


@pytest.mark.slow
async def test_a_task_that_ran_again_before_the_controller_noticed_is_learned_anew(
    tmp_path: Path,
) -> None:
    async with an_inside(tmp_path) as inside:
        await run_three_times(inside)
        inside.store.forget(JUNK)
        await run_once_more(inside)
        await inside.controller.store_sync.look_for_imports()
        known = inside.controller.book.look(JUNK)
        assert (known.runs, known.model, runs_learned(inside)) == (1, None, 1)
        assert await known_runs(inside, JUNK) <= 1
        assert inside.store.models.newest(JUNK) is None
        await run_once_more(inside)
        await inside.controller.store_sync.look_for_imports()
        assert runs_learned(inside) == 1, "it was forgotten once"
        await inside.controller.standings.close()
    async with an_inside(tmp_path) as again:
        assert (again.controller.book.look(JUNK).runs, runs_learned(again)) == (1, 1)


@pytest.mark.slow
async def test_a_run_killed_since_its_task_was_forgotten_still_gets_its_lift(
    tmp_path: Path,
) -> None:
    async with an_inside(tmp_path) as inside:
        await run_three_times(inside)
        inside.store.forget(JUNK)
        await inside.see(killed(a_train("junk-9").labelled("junk")))
        lifts = dict(inside.controller.book.look(JUNK).lifts)
        assert len(lifts) == 1
        await inside.controller.store_sync.look_for_imports()
        assert dict(inside.controller.book.look(JUNK).lifts) == lifts


@pytest.mark.slow
async def test_a_controller_that_ended_before_it_noticed_leaves_nothing_that_it_had_learned(
    tmp_path: Path,
) -> None:
    async with an_inside(tmp_path) as inside:
        await run_three_times(inside)
        inside.store.forget(JUNK)
        await run_once_more(inside)
        await inside.controller.standings.close()
        await inside.controller.runtimes.close()
    async with an_inside(tmp_path) as again:
        assert (again.controller.book.look(JUNK).runs, runs_learned(again)) == (1, 1)
        assert await known_runs(again, JUNK) <= 1


@pytest.mark.slow
async def test_what_is_imported_after_a_task_was_forgotten_stays(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        await run_three_times(inside)
        inside.store.forget(JUNK)
        past = [an_attempt(f"past-{number}").of(JUNK).built for number in range(8)]
        inside.store.observations.record_history(past)
        await inside.controller.standings.fold()
        await inside.controller.store_sync.look_for_imports()
        assert (inside.controller.book.look(JUNK).runs, runs_learned(inside)) == (8, 8)
