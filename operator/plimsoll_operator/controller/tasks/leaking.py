"""Knows the tasks that had a run given up and have not succeeded since.

It is only shown: their next runs are sized and lifted as before.
"""

from __future__ import annotations

from collections.abc import Iterable

from plimsoll_operator.controller.hub.hub import (
    AttemptEnded,
    Hub,
    ObservationAmended,
    ProfileOutdated,
    TaskForgotten,
)
from plimsoll_operator.profile.conditions import Leak
from plimsoll_predictor.core.record import Observation, Outcome
from plimsoll_predictor.core.task import TaskId


class LeakingTasks:
    """Says for each such task why a run of it was given up."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._why: dict[TaskId, str] = {}
        self._succeeded_s: dict[TaskId, float] = {}
        self._leaked_s: dict[TaskId, float] = {}

    def __len__(self) -> int:
        return len(self._why)

    def why(self, task: TaskId) -> str | None:
        """Return why a run of the task was given up; None if none was, since its last success."""
        return self._why.get(task)

    def leaked(self, killed: Observation, why: str) -> None:
        """Note that a run cannot be lifted further, unless one has succeeded since."""
        self._leaks(killed.task, why, killed.finished_s or 0.0)

    def restore(self, task: TaskId, leak: Leak, latest: Iterable[Observation]) -> None:
        """Go on with a leak that a status tells of: the killed pod may be gone.

        latest: the task's attempts as they are stored. A success among them may have ended the leak
        without a new status.
        """
        for each in latest:
            if each.outcome is Outcome.SUCCEEDED:
                self._succeeded(task, each.finished_s or 0.0)
        self._leaks(task, leak.why, leak.since_s)

    def _leaks(self, task: TaskId, why: str, at_s: float) -> None:
        if at_s >= self._succeeded_s.get(task, 0.0):
            self._leaked_s[task] = at_s
            self._set(task, why)

    def observed(self, event: AttemptEnded | ObservationAmended) -> None:
        """End the leak that came before a success."""
        if event.observation.outcome is not Outcome.SUCCEEDED:
            return
        task, at_s = event.observation.task, event.observation.finished_s or 0.0
        self._succeeded(task, at_s)
        if at_s >= self._leaked_s.get(task, 0.0):
            self._set(task, None)

    def _succeeded(self, task: TaskId, at_s: float) -> None:
        # Pods come in any order after a restart: only the last success counts.
        self._succeeded_s[task] = max(at_s, self._succeeded_s.get(task, 0.0))

    def task_forgotten(self, event: TaskForgotten) -> None:
        """Forget all of it."""
        self._why.pop(event.task, None)
        self._succeeded_s.pop(event.task, None)
        self._leaked_s.pop(event.task, None)

    def _set(self, task: TaskId, why: str | None) -> None:
        if self._why.get(task) == why:
            return
        self._why.pop(task, None)
        if why is not None:
            self._why[task] = why
        self._hub.publish(ProfileOutdated(task))
