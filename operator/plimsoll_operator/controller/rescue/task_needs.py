"""Keeps the newest needs of tasks in memory for a while, so that an alarm is answered at once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final

from plimsoll_operator.attempts.grants import MOST_NEEDS
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.experts.standing import Standing
from plimsoll_predictor.store import StoreError

KEPT_S: Final = 10.0
MOST_TASKS: Final = 2_000

Experts = Callable[[TaskId], Awaitable[Standing | None]]


class TaskNeeds:
    """Belongs to one event loop."""

    def __init__(self, experts: Experts, monotonic_s: Callable[[], float]) -> None:
        """experts: reads a task's experts, whose past has the needs of its runs."""
        self._experts = experts
        self._now_s = monotonic_s
        self._needs: OrderedDict[TaskId, tuple[float, tuple[float, ...]]] = OrderedDict()

    async def of(self, task: TaskId) -> tuple[float, ...]:
        """Return the needs of a task's newest runs; the last known ones if the store is away."""
        now_s = self._now_s()
        kept = self._needs.get(task)
        if kept is not None and now_s - kept[0] < KEPT_S:
            return kept[1]
        try:
            standing = await self._experts(task)
        except StoreError:
            return kept[1] if kept is not None else ()
        needs = () if standing is None else tuple(standing.past.needs_bytes)[-MOST_NEEDS:]
        self._needs[task] = (now_s, needs)
        self._needs.move_to_end(task)
        if len(self._needs) > MOST_TASKS:
            self._needs.popitem(last=False)
        return needs

    def latest(self, task: TaskId) -> tuple[float, ...] | None:
        """Return the needs that were read last, however long ago; None if they never were."""
        kept = self._needs.get(task)
        return None if kept is None else kept[1]
