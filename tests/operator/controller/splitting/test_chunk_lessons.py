"""Times of chunks are in the feed soon after their end, also after a restart, until forgotten."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest

from plimsoll_operator.controller.hub.hub import ObservationAmended, TaskForgotten
from plimsoll_operator.controller.splitting import chunk_lessons
from plimsoll_operator.controller.splitting.chunk_lessons import ChunkLessons
from plimsoll_operator.feed.board import FeedBoard
from plimsoll_operator.feed.wire import decode_message
from plimsoll_predictor.core.record import Observation
from plimsoll_predictor.splitting.chunk_runs import Learned
from plimsoll_predictor.store import Novelty, Store, StoreError, Writer
from tests.builders.stores import JOIN, TRAIN, an_attempt, open_store
from tests.rigs.servers.admission_servers import until_true


@dataclass(frozen=True, slots=True)
class Lessons:
    """A controller's part, its store and its feed."""

    chunks: ChunkLessons
    store: Store
    board: FeedBoard

    def ended(self, *observed: Observation) -> None:
        self.store.observations.record(list(observed))
        for each in observed:
            self.chunks.attempt_ended(ObservationAmended(each, Novelty(new=True, learned=True)))

    @property
    def told(self) -> dict[str, Learned]:
        message = decode_message(self.board.message(0, None))
        return {name: Learned.from_document(data) for name, data in message.chunks.items()}


def a_chunk(uid: str, items: int, seconds: float = 30.0) -> Observation:
    return an_attempt(uid).knowing(**{"chunk-items": float(items)}).running(0.0, seconds).built


@asynccontextmanager
async def learning(folder: Path, *, beside: bool = True) -> AsyncIterator[Lessons]:
    """beside: whether it learns while the block runs."""
    store, board = open_store(folder), FeedBoard("epoch")
    writer = Writer(store)
    chunks = ChunkLessons(store, writer, board)
    running = [asyncio.create_task(chunks.run())] if beside else []
    yield Lessons(chunks, store, board)
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    await writer.close()
    store.close()


async def test_what_ended_is_told_and_told_again_after_a_restart(tmp_path: Path) -> None:
    async with learning(tmp_path) as lessons:
        lessons.ended(a_chunk("a", 10), a_chunk("b", 20, 60.0), an_attempt("c").of(JOIN).built)
        await until_true(lambda: set(lessons.told) == {str(TRAIN)})
        told = lessons.told
        assert told[str(TRAIN)].costs.item_s == pytest.approx(3.0)
        assert told[str(TRAIN)].largest == 20
    async with learning(tmp_path) as again:
        await again.chunks.restore()
        assert again.told == told


async def test_a_task_that_is_forgotten_is_told_no_more(tmp_path: Path) -> None:
    async with learning(tmp_path) as lessons:
        lessons.ended(a_chunk("a", 10))
        await until_true(lambda: bool(lessons.told))
        lessons.chunks.task_forgotten(TaskForgotten(TRAIN))
        assert lessons.told == {}
        lessons.chunks.task_forgotten(TaskForgotten(TRAIN))


async def test_a_store_that_cannot_be_read_for_a_while_loses_nothing(
    tmp_path: Path, monkeypatch: Any
) -> None:
    def away(*_: Any) -> Any:
        raise StoreError("away")

    async with learning(tmp_path, beside=False) as lessons:
        lessons.ended(a_chunk("a", 10))
        with monkeypatch.context() as without:
            without.setattr(lessons.store.chunk_runs, "of_task", away)
            with pytest.raises(StoreError):
                await lessons.chunks.run()
        assert lessons.told == {}
        again = asyncio.create_task(lessons.chunks.run())
        await until_true(lambda: bool(lessons.told))
        again.cancel()


@pytest.mark.slow
async def test_no_more_tasks_are_told_than_are_borne(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(chunk_lessons, "MOST_TASKS", 1)
    async with learning(tmp_path) as lessons:
        lessons.ended(a_chunk("a", 10))
        await until_true(lambda: set(lessons.told) == {str(TRAIN)})
        joined = an_attempt("b").of(JOIN).knowing(**{"chunk-items": 5.0}).running(0.0, 9.0)
        lessons.ended(joined.built)
        await until_true(lambda: set(lessons.told) == {str(JOIN)})
    assert orjson.loads(lessons.board.message(0, None))["chunks"].keys() == {str(JOIN)}
