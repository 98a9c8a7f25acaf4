"""What is known of tasks goes to the feed: what is urgent at once, what is learned now and then."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from plimsoll_operator.controller.hub.hub import (
    Hub,
    TaskChanged,
    TaskForgotten,
    TaskLearned,
    TaskPublished,
)
from plimsoll_operator.controller.tasks.book import TaskBook
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.knowledge.knowledge import Knowledge


class Publications:
    """Which tasks the feed has still to hear of, and what it may hear.

    A run is counted before its experts learn it. Published at once, the run that makes enough of
    them would be the first to decide, by a rule that does not know it.
    """

    def __init__(self, book: TaskBook, hub: Hub) -> None:
        self._book = book
        self._hub = hub
        self._unpublished: dict[TaskId, None] = {}
        self._ahead: Counter[TaskId] = Counter()

    def deciding(self, task: TaskId) -> Knowledge:
        """What is known of ``task``, of the runs that its experts have learned."""
        known, ahead = self._book.look(task), self._ahead.get(task)
        return replace(known, runs=max(0, known.runs - ahead)) if ahead else known

    def ahead(self) -> Mapping[TaskId, int]:
        """How many runs each task counts that its experts may not know. All are in the store."""
        return dict(self._ahead)

    def caught_up(self, ahead: Mapping[TaskId, int]) -> None:
        """The experts have learned all that was ``ahead``; what came since is still."""
        for task in ahead.keys() & self._ahead.keys():
            self._unpublished[task] = None
        self._ahead -= Counter(ahead)

    def publish_learned(self) -> None:
        """Publish what was learned since the last time: once a task, however many attempts ended.

        A publication carries the whole task, without its model; what is urgent goes at once.
        """
        for task in self._unpublished:
            self._hub.publish(TaskPublished(self.deciding(task)))
        self._unpublished.clear()

    def task_learned(self, event: TaskLearned) -> None:
        """Publish the task with the next publication."""
        if event.new_runs:
            self._ahead[event.task] += event.new_runs
        self._unpublished[event.task] = None

    def task_changed(self, event: TaskChanged) -> None:
        """Publish the task now, with all that was learned of it."""
        self._unpublished.pop(event.task, None)
        self._hub.publish(TaskPublished(self.deciding(event.task)))

    def task_forgotten(self, event: TaskForgotten) -> None:
        """Nothing of it is to be published."""
        self._unpublished.pop(event.task, None)
        self._ahead.pop(event.task, None)
