"""Learns what chunks of Jobs over items take, and tells admission.

None of it is saved: the store has every attempt with its chunk, and news of a task has its newest
attempts fitted again.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Final

from plimsoll_operator.controller.hub.hub import (
    AttemptEnded,
    ObservationAmended,
    TaskForgotten,
)
from plimsoll_operator.feed.board import FeedBoard
from plimsoll_operator.feed.wire import ChangeKind
from plimsoll_operator.names.labels import CHUNK_ITEMS
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.splitting.chunk_runs import Learned, learned_of
from plimsoll_predictor.store import Store, Writer
from plimsoll_predictor.store.attempts.chunk_runs import MOST_TASKS

LEARN_EVERY_S: Final = 2.0


class ChunkLessons:
    """Knows the tasks with news. All methods belong to one event loop."""

    def __init__(self, store: Store, writer: Writer, board: FeedBoard) -> None:
        self._store = store
        self._writer = writer
        self._board = board
        self._new: dict[TaskId, None] = {}
        self._told: OrderedDict[TaskId, None] = OrderedDict()
        self._news = asyncio.Event()

    async def restore(self) -> None:
        """Tell what the store knows."""
        tasks = await self._writer.read(self._store.chunk_runs.tasks, CHUNK_ITEMS)
        for task in reversed(tasks):
            await self._learn(task)

    def attempt_ended(self, event: AttemptEnded | ObservationAmended) -> None:
        """Note that a task has news, if the attempt was a chunk."""
        if CHUNK_ITEMS in event.observation.features:
            self._new[event.observation.task] = None
            self._news.set()

    def task_forgotten(self, event: TaskForgotten) -> None:
        """Tell nothing of the task any more."""
        if event.task in self._told:
            self._tell(event.task, None)
            # A read under way may tell it once more, so it is learned again.
            self._new[event.task] = None
            self._news.set()

    async def run(self) -> None:
        """Learn what is new, until cancelled. Cost: a query for each task with news, in 2 s."""
        while True:
            await self._news.wait()
            self._news.clear()
            new, self._new = self._new, {}
            try:
                while new:
                    await self._learn(next(iter(new)))
                    new.pop(next(iter(new)))
            finally:
                # If the store cannot be read, the news is kept.
                self._new = {**new, **self._new}
                if self._new:
                    self._news.set()
            await asyncio.sleep(LEARN_EVERY_S)

    async def _learn(self, task: TaskId) -> None:
        runs = await self._writer.read(self._store.chunk_runs.of_task, task, CHUNK_ITEMS)
        self._tell(task, learned_of(runs))

    def _tell(self, task: TaskId, learned: Learned | None) -> None:
        self._board.set_learned(ChangeKind.CHUNKS, task, learned)
        self._told.pop(task, None)
        if learned is None:
            return
        self._told[task] = None
        if len(self._told) > MOST_TASKS:
            oldest, _ = self._told.popitem(last=False)
            self._board.set_learned(ChangeKind.CHUNKS, oldest, None)
