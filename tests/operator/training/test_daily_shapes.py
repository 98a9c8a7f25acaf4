"""A separate process learns shapes once a day, in turn with trainings."""

from __future__ import annotations

import asyncio
import random
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from plimsoll_operator.training.shape_learning import (
    COMMAND,
    LEARN_EVERY_S,
    TRY_AGAIN_S,
    ShapeLesson,
    is_due,
)
from plimsoll_operator.training.store_learning import StoreLearning
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.runtimes.shapes.normalising import SUPPORT, Normalisation
from plimsoll_predictor.store import Store, Writer
from tests.builders.runtimes.telling_pasts import AFTER_S, timed_runs

HANGS = (sys.executable, "-c", "import time; print('on', flush=True); time.sleep(600)")
LEARNS = (sys.executable, "-c", """print('{"ok": true}')""")
FAILS = (
    sys.executable,
    "-c",
    """print('{"ok": false, "message": "no luck"}'); raise SystemExit(1)""",
)


@dataclass(slots=True)
class Yard:
    """A store and the process that learns from it. now_s: the clock's time."""

    store: Store
    turn: asyncio.Semaphore
    learning: StoreLearning
    now_s: float = AFTER_S


@asynccontextmanager
async def a_yard(folder: Path, command: Sequence[str] = COMMAND) -> AsyncIterator[Yard]:
    url = f"sqlite:///{folder}/plimsoll.db"
    store, turn = Store.open(url), asyncio.Semaphore(1)
    writer = Writer(store)
    yard: Yard
    lesson = ShapeLesson(store=store, writer=writer, now_s=lambda: yard.now_s, command=command)
    learning = StoreLearning(lesson=lesson, store_url=url, turn=turn)
    yard = Yard(store, turn, learning)
    try:
        yield yard
    finally:
        await writer.close()
        store.close()


def record(store: Store, runs: int) -> None:
    """That many runs of each of six tasks, three of which hardly vary."""
    dice = random.Random(5)
    for place in range(6):
        spread = (0.02, 0.7)[place % 2]
        runtimes_s = [300 * dice.lognormvariate(0, spread) for _ in range(runs)]
        store.observations.record(timed_runs(runtimes_s, TaskId("lab", f"task-{place}")))


@pytest.mark.parametrize(
    ("made_ago_s", "tried_ago_s", "due"),
    [
        (None, None, True),
        (LEARN_EVERY_S - 1, None, False),
        (LEARN_EVERY_S, None, True),
        (None, TRY_AGAIN_S - 1, False),
        (None, TRY_AGAIN_S, True),
        (LEARN_EVERY_S, TRY_AGAIN_S - 1, False),
    ],
)
def test_shapes_are_learned_daily_and_tried_again_hourly(
    made_ago_s: float | None, tried_ago_s: float | None, due: bool
) -> None:
    made_s, tried_s = (
        None if ago_s is None else AFTER_S - ago_s for ago_s in (made_ago_s, tried_ago_s)
    )
    assert is_due(made_s, tried_s, AFTER_S) is due


@pytest.mark.parametrize("tried_s", [None, AFTER_S + 86400])
def test_shapes_made_in_the_future_by_a_clock_that_was_ahead_count_as_old(
    tried_s: float | None,
) -> None:
    assert is_due(AFTER_S + 30 * 86400, tried_s, AFTER_S)


@pytest.mark.slow
async def test_a_process_learns_the_shapes_and_keeps_them(tmp_path: Path) -> None:
    async with a_yard(tmp_path) as yard:
        record(yard.store, SUPPORT + 5)
        assert await yard.learning.look()
        catalogue = yard.store.shapes.catalogue(Normalisation.RATIO)
        assert catalogue is not None
        assert sum(shape.members for shape in catalogue.shapes) == 6
        assert not await yard.learning.look()
        made_s = yard.store.shapes.made_s()
        assert made_s is not None
        yard.now_s = max(made_s, yard.now_s) + LEARN_EVERY_S
        assert await yard.learning.look()
        again = yard.store.shapes.catalogue(Normalisation.RATIO)
        assert again is not None
        assert again.version == catalogue.version + 1
        assert [shape.name for shape in again.shapes] == [shape.name for shape in catalogue.shapes]


@pytest.mark.slow
async def test_where_no_task_ran_often_enough_nothing_is_tried(tmp_path: Path) -> None:
    async with a_yard(tmp_path, LEARNS) as yard:
        record(yard.store, SUPPORT - 1)
        assert not await yard.learning.look()
        record(yard.store, SUPPORT)
        # After an attempt this would come only an hour later, but there was none.
        assert await yard.learning.look()


@pytest.mark.parametrize("command", [FAILS, ("/nowhere",)])
async def test_a_failure_is_tried_again_an_hour_later(
    tmp_path: Path, command: Sequence[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_yard(tmp_path, command) as yard:
        record(yard.store, SUPPORT)
        started = 0
        start = asyncio.create_subprocess_exec

        async def counted(*words: str, **how: object) -> asyncio.subprocess.Process:
            nonlocal started
            started += 1
            return await start(*words, **how)  # type: ignore[arg-type]

        monkeypatch.setattr(asyncio, "create_subprocess_exec", counted)
        for minutes, times in ((0, 1), (59, 1), (61, 2)):
            yard.now_s = AFTER_S + 60 * minutes
            assert not await yard.learning.look()
            assert started == times
        assert yard.store.shapes.made_s() is None


@pytest.mark.slow
async def test_a_training_is_waited_for(tmp_path: Path) -> None:
    async with a_yard(tmp_path, FAILS) as yard:
        record(yard.store, SUPPORT)
        async with yard.turn:
            looking = asyncio.create_task(yard.learning.look())
            await asyncio.sleep(0.3)
            assert not looking.done()
        assert not await looking


async def test_whoever_ends_ends_the_process_too(tmp_path: Path) -> None:
    async with a_yard(tmp_path, HANGS) as yard:
        record(yard.store, SUPPORT)
        looking = asyncio.create_task(yard.learning.look())
        async with asyncio.timeout(180):
            while not (children := _learners()):
                await asyncio.sleep(0.05)
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)
        psutil.wait_procs(children, timeout=180)
        assert not _learners()


def _learners() -> list[psutil.Process]:
    """Our children that learn shapes."""
    return [
        each
        for each in psutil.Process().children(recursive=True)
        if "--memory-mib" in each.cmdline()
    ]
