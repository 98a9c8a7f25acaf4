"""Remembers since when each task's next training is due, for its profile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from plimsoll_operator.controller.hub.hub import Hub, TaskForgotten, TrainingDue, TrainingEnded
from plimsoll_predictor.core.task import TaskId


@dataclass(slots=True)
class _Due:
    """Unix seconds. first_s: when it became due. last_s: when it was asked for last."""

    first_s: float
    last_s: float


class DueTrainings:
    """Subscribes to the hub. A controller that has just begun counts from its start."""

    def __init__(self, hub: Hub, now_s: Callable[[], float]) -> None:
        self._now_s = now_s
        self._due: dict[TaskId, _Due] = {}
        hub.subscribe(TrainingDue, self.training_due)
        hub.subscribe(TrainingEnded, self.training_ended)
        hub.subscribe(TaskForgotten, self.task_forgotten)

    def since_s(self, task: TaskId) -> float | None:
        """Return since when one is due or under way, in Unix seconds; None if none is."""
        due = self._due.get(task)
        return None if due is None else due.first_s

    def training_due(self, event: TrainingDue) -> None:
        """Note that it is due; if it was due already, its time stays."""
        now_s = self._now_s()
        self._due.setdefault(event.task, _Due(now_s, now_s)).last_s = now_s

    def training_ended(self, event: TrainingEnded) -> None:
        """Forget it, unless it was asked for again while it was under way."""
        result = event.result
        due = self._due.pop(result.task, None)
        if due is not None and due.last_s > self._now_s() - result.duration_s:
            self._due[result.task] = _Due(due.last_s, due.last_s)

    def task_forgotten(self, event: TaskForgotten) -> None:
        """Forget all of it, so that no flood of names can fill the memory."""
        self._due.pop(event.task, None)
