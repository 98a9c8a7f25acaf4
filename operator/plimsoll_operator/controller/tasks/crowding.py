"""How many tasks a namespace may have.

Labels are written by strangers, and each task costs memory, rows and an object.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from plimsoll_operator.controller.hub.hub import TaskAdded, TaskForgotten
from plimsoll_operator.profile.facts import Ailment, Trouble

TASKS_PER_NAMESPACE: Final = 2_000
"""New ones are not met beyond it; what the store or people know of is kept all the same."""


class Crowding:
    """How many tasks each namespace has."""

    def __init__(self, most_tasks: int = TASKS_PER_NAMESPACE) -> None:
        self.most_tasks = most_tasks
        self._in_namespace: Counter[str] = Counter()

    def is_crowded(self, namespace: str) -> bool:
        """Whether no more tasks are met there."""
        return self._in_namespace[namespace] >= self.most_tasks

    def troubles(self, namespace: str) -> tuple[Trouble, ...]:
        """What people of a crowded namespace have to do."""
        if not self.is_crowded(namespace):
            return ()
        words = (
            f"the namespace has {self.most_tasks} tasks or more: no new ones are learned;"
            " give runs of one task the same plimsoll.dev/task"
        )
        return (Trouble(Ailment.CROWDED, words),)

    def task_added(self, event: TaskAdded) -> None:
        """Count it."""
        self._in_namespace[event.task.namespace] += 1

    def task_forgotten(self, event: TaskForgotten) -> None:
        """Count it no more."""
        self._in_namespace[event.task.namespace] -= 1
