"""The times of leases are in the feed after a Job's end, also after a restart, until forgotten."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plimsoll_operator.controller.hub.hub import Hub, LeasedJobEnded, ProfileOutdated, TaskForgotten
from plimsoll_operator.controller.splitting import lease_lessons
from plimsoll_operator.controller.splitting.lease_lessons import LeaseLessons
from plimsoll_operator.feed.applying import apply, steps
from plimsoll_operator.feed.board import FeedBoard
from plimsoll_operator.feed.wire import decode_message
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.splitting.strategies.guided import Guided
from plimsoll_predictor.splitting.strategies.leased_task import LastLeased, taught_document
from plimsoll_predictor.splitting.strategies.strategy import Chunk
from plimsoll_predictor.store import Store, Writer
from tests.builders.stores import JOIN, TRAIN, open_store

LAST = LastLeased(items=9, workers=2, shares=2, done=9, leases=3, taken_back=0, refused=0)


def taught(item_s: float = 3.0) -> dict[str, Any]:
    guided = Guided()
    for items in (1, 2, 4):
        guided.done(Chunk(items, items * item_s, (20 + items) * MIB, items))
    return taught_document(guided, LAST)


@dataclass(frozen=True, slots=True)
class Lessons:
    """A controller's part, its store and its feed."""

    leases: LeaseLessons
    store: Store
    board: FeedBoard
    outdated: list[ProfileOutdated]

    def ended(self, task: TaskId, document: dict[str, Any]) -> None:
        self.store.leased_jobs.close(f"{task}/run", task, document)
        self.leases.leased_job_ended(LeasedJobEnded(task, document))

    @property
    def told(self) -> AdmissionState:
        """The knowledge of an admission that reads the feed for the first time."""
        state = AdmissionState()
        for step in steps(decode_message(self.board.message(0, None))):
            apply(state, *step)
        return state


@asynccontextmanager
async def learning(folder: Path) -> AsyncIterator[Lessons]:
    store, board = open_store(folder), FeedBoard("epoch")
    writer = Writer(store)
    hub, outdated = Hub(), list[ProfileOutdated]()
    hub.subscribe(ProfileOutdated, outdated.append)
    yield Lessons(LeaseLessons(store, writer, board, hub), store, board, outdated)
    await writer.close()
    store.close()


async def test_what_a_job_taught_is_told_and_told_again_after_a_restart(tmp_path: Path) -> None:
    async with learning(tmp_path) as lessons:
        lessons.ended(TRAIN, taught())
        told = lessons.told.leased
        assert set(told) == {TRAIN}
        assert round(told[TRAIN].costs.item_s, 3) == 3.0
        assert told[TRAIN].largest == 4
        assert told[TRAIN].peaks is not None
        assert lessons.outdated == [ProfileOutdated(TRAIN)]
    async with learning(tmp_path) as again:
        await again.leases.restore()
        assert again.told.leased == told
        assert again.outdated == []


async def test_a_job_that_taught_nothing_takes_back_nothing_else(tmp_path: Path) -> None:
    async with learning(tmp_path) as lessons:
        lessons.ended(TRAIN, taught())
        lessons.ended(JOIN, taught_document(Guided(), LAST))
        assert set(lessons.told.leased) == {TRAIN}


async def test_a_task_that_is_forgotten_is_told_no_more(tmp_path: Path) -> None:
    async with learning(tmp_path) as lessons:
        lessons.ended(TRAIN, taught())
        lessons.leases.task_forgotten(TaskForgotten(JOIN))
        assert set(lessons.told.leased) == {TRAIN}
        lessons.leases.task_forgotten(TaskForgotten(TRAIN))
        assert lessons.told.leased == {}


async def test_no_more_tasks_are_told_than_are_borne(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(lease_lessons, "MOST_TASKS", 1)
    async with learning(tmp_path) as lessons:
        lessons.ended(TRAIN, taught())
        lessons.ended(JOIN, taught())
        assert set(lessons.told.leased) == {JOIN}
