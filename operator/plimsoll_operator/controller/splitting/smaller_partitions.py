"""Learns that executors of Spark die of memory, and tells admission how much smaller to cut.

Nothing of it is kept: each pod of an application says by how many steps its partitions were
smaller, so that the store's newest attempts tell it again after a restart.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from plimsoll_operator.controller.hub.hub import AttemptEnded, TaskForgotten
from plimsoll_operator.feed.board import FeedBoard
from plimsoll_operator.pods.spec import labels_of
from plimsoll_operator.splitting.spark_driver import ROLE
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.splitting.spark.steps import Ended, executors_of, step_after
from plimsoll_predictor.store import Store, Writer

MOST_TASKS: Final = 1_000


class SmallerPartitions:
    """Knows the step of each application's task. All methods belong to one event loop."""

    def __init__(self, store: Store, writer: Writer, board: FeedBoard) -> None:
        self._store = store
        self._writer = writer
        self._board = board
        self._steps: OrderedDict[TaskId, int] = OrderedDict()

    async def restore(self) -> None:
        """Tell what the store knows."""
        for ended in await self._writer.read(lambda: list(self._store.spark_ends.newest())):
            self._learn(ended)

    def attempt_ended(self, event: AttemptEnded) -> None:
        """Learn from one pod, if it is Spark's. The same pod again changes nothing."""
        seen = event.observation
        if ROLE in labels_of(event.pod):
            self._learn(Ended(seen.task, seen.outcome, seen.features, seen.is_lowered))

    def task_forgotten(self, event: TaskForgotten) -> None:
        """Tell nothing of the task any more."""
        if self._steps.pop(event.task, None) is not None:
            self._board.set_smaller(event.task, 0)

    def _learn(self, ended: Ended) -> None:
        task, step = executors_of(ended.task), step_after(ended)
        if step > self._steps.get(task, 0):
            self._steps[task] = step
            self._board.set_smaller(task, step)
        if task in self._steps:
            self._steps.move_to_end(task)
        if len(self._steps) > MOST_TASKS:
            oldest, _ = self._steps.popitem(last=False)
            self._board.set_smaller(oldest, 0)
