"""Tells admission what leases of a task's Jobs took; it chooses the next Job's leases by that."""

from __future__ import annotations

from collections import OrderedDict

from plimsoll_operator.controller.hub.hub import Hub, LeasedJobEnded, ProfileOutdated, TaskForgotten
from plimsoll_operator.feed.board import FeedBoard
from plimsoll_operator.feed.wire import ChangeKind
from plimsoll_operator.splitting.leased_job import WAIT_S
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.splitting.strategies.leased_task import learned_of_leases
from plimsoll_predictor.store import Store, Writer
from plimsoll_predictor.store.attempts.leased_jobs import MOST_TASKS


class LeaseLessons:
    """The newest ``MOST_TASKS`` tasks. All methods belong to one event loop."""

    def __init__(self, store: Store, writer: Writer, board: FeedBoard, hub: Hub) -> None:
        self._store, self._writer, self._board, self._hub = store, writer, board, hub
        self._told: OrderedDict[TaskId, None] = OrderedDict()

    async def restore(self) -> None:
        """Tell what the store knows."""
        for task, taught in await self._writer.read(self._store.leased_jobs.newest_taught):
            self._tell(task, taught)

    def leased_job_ended(self, event: LeasedJobEnded) -> None:
        """Tell what a task's last leased Job taught."""
        self._tell(event.task, event.taught)
        if len(self._told) > MOST_TASKS:
            self._tell(next(iter(self._told)), None)
        self._hub.publish(ProfileOutdated(event.task))

    def task_forgotten(self, event: TaskForgotten) -> None:
        """Tell nothing of the task any more."""
        if event.task in self._told:
            self._tell(event.task, None)

    def _tell(self, task: TaskId, taught: object) -> None:
        learned = learned_of_leases(taught, WAIT_S)
        self._board.set_learned(ChangeKind.LEASED, task, learned)
        self._told.pop(task, None)
        if learned is not None:
            self._told[task] = None
