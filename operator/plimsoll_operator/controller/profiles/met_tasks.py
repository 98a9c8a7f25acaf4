"""Which tasks are met by their pods, and which of them nothing keeps any more."""

from __future__ import annotations

from collections.abc import Collection

from plimsoll_operator.controller.announcing.announcer import Announcer
from plimsoll_operator.controller.hub.first_times import FirstTimes
from plimsoll_operator.controller.profiles.profiles import ProfileKeeper
from plimsoll_operator.controller.tasks.book import TaskBook
from plimsoll_operator.controller.tasks.crowding import Crowding
from plimsoll_operator.pods.spec import Pod, metadata_of
from plimsoll_predictor.core.task import TaskId


class MetTasks:
    """Meets the tasks of pods that are seen."""

    def __init__(
        self, book: TaskBook, crowding: Crowding, profiles: ProfileKeeper, announcer: Announcer
    ) -> None:
        self._book = book
        self._crowding = crowding
        self._profiles = profiles
        self._announcer = announcer
        self._met: set[TaskId] = set()
        self._turned_away = FirstTimes()

    def meet(self, pod: Pod, task: TaskId) -> bool:
        """A pod of the task was seen; the first time, the task's profile is made.

        False if the task is not taken in, because its namespace has as many as it may.
        """
        if task not in self._book:
            if self._crowding.is_crowded(task.namespace):
                if self._turned_away.add(str(metadata_of(pod)["uid"])):
                    self._announcer.crowded(pod, self._crowding.most_tasks)
                return False
            self._book.get(task)
            self._profiles.mark(task, after_s=0.0)
        self._met.add(task)
        return True

    def idle(self, stored: Collection[TaskId]) -> list[TaskId]:
        """Tasks that nothing keeps: not stored, and no pod of them seen since the last call.

        Also those of which only a profile is left, as after a restart.
        """
        wanted = {*stored, *self._met}
        self._met.clear()
        tasks = dict.fromkeys([*self._book, *self._profiles.tasks_shown])
        return [t for t in tasks if t not in wanted and not self._book.policies.has_own(t)]
