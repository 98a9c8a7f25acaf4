"""Learns that executors of Spark die of memory, and tells admission how much smaller to cut.

None of it is saved: each pod of an application says by how many steps its partitions were smaller,
so the store's newest attempts tell it again after a restart.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from plimsoll_operator.controller.announcing.announcer import Announcer
from plimsoll_operator.controller.hub.hub import AttemptEnded, TaskForgotten
from plimsoll_operator.controller.tasks.task_policies import TaskPolicies
from plimsoll_operator.feed.board import FeedBoard
from plimsoll_operator.pods.spec import labels_of
from plimsoll_operator.splitting.spark_driver import ROLE
from plimsoll_operator.wording.event_words import smaller_partitions
from plimsoll_predictor.core.policy import Mode
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.splitting.spark.given import MOST_STEPS
from plimsoll_predictor.splitting.spark.steps import Ended, driver_of, executors_of, step_after
from plimsoll_predictor.store import Store, Writer

MOST_TASKS: Final = 1_000


class SmallerPartitions:
    """Knows the step of each application's task. All methods belong to one event loop."""

    def __init__(
        self,
        store: Store,
        writer: Writer,
        board: FeedBoard,
        announcer: Announcer,
        policies: TaskPolicies,
    ) -> None:
        self._store = store
        self._writer = writer
        self._board = board
        self._announcer = announcer
        self._policies = policies
        self._steps: OrderedDict[TaskId, int] = OrderedDict()

    async def restore(self) -> None:
        """Tell what the store knows."""
        for ended in await self._writer.read(lambda: list(self._store.spark_ends.newest())):
            self._learn(ended)

    def attempt_ended(self, event: AttemptEnded) -> None:
        """Learn from one pod, if it is Spark's. The same pod again changes nothing."""
        seen = event.observation
        if ROLE in labels_of(event.pod):
            step = self._learn(
                Ended(seen.task, seen.outcome, seen.features, seen.is_lowered, seen.cause)
            )
            if step is not None and self._is_enforced(seen.task):
                self._announcer.announce(smaller_partitions(step, MOST_STEPS), event.pod)

    def task_forgotten(self, event: TaskForgotten) -> None:
        """Tell nothing of the task any more."""
        if self._steps.pop(event.task, None) is not None:
            self._board.set_smaller(event.task, 0)

    def _is_enforced(self, task: TaskId) -> bool:
        return self._policies.of_task(driver_of(task)).policy.spark.mode is Mode.ENFORCE

    def _learn(self, ended: Ended) -> int | None:
        """Return the step if it is new, else None."""
        task, step = executors_of(ended.task), step_after(ended)
        is_new = step > self._steps.get(task, 0)
        if is_new:
            self._steps[task] = step
            self._board.set_smaller(task, step)
        if task in self._steps:
            self._steps.move_to_end(task)
        if len(self._steps) > MOST_TASKS:
            oldest, _ = self._steps.popitem(last=False)
            self._board.set_smaller(oldest, 0)
        return step if is_new else None
