"""Sums what all tasks' sizes held lately, and what their requests would have held.

The last few hundred runs of each task count. Runs that were not sized are not counted, so a fleet
in recommend mode has nothing to report.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.experts.guard import Comparison

ALL: Final = ""
"""Stands for all namespaces together."""
MOST_SHOWN: Final = 100
"""The most namespaces shown, the worst first: each is a series."""


@dataclass(slots=True)
class _Held:
    served_gb_h: float = 0.0
    asked_gb_h: float = 0.0

    @property
    def ratio(self) -> float:
        return self.served_gb_h / self.asked_gb_h


class Fleet:
    """A cache: it is filled again as the experts are restored."""

    def __init__(self) -> None:
        self._tasks: dict[TaskId, tuple[float, float]] = {}

    def note(self, task: TaskId, beside: Comparison) -> None:
        """Take what a task's guard has counted against its requests."""
        if beside.rule > 0:
            self._tasks[task] = beside.served, beside.rule
        else:
            self._tasks.pop(task, None)

    def forget(self, task: TaskId) -> None:
        """Forget a task."""
        self._tasks.pop(task, None)

    def ratios(self) -> Mapping[str, float]:
        """Memory-time held ÷ asked for: in all, and in each namespace where it is above 1.

        It looks at every task. Empty while no run was sized.
        """
        sums: defaultdict[str, _Held] = defaultdict(_Held)
        for task, (served_gb_h, asked_gb_h) in self._tasks.items():
            for name in (ALL, task.namespace):
                sums[name].served_gb_h += served_gb_h
                sums[name].asked_gb_h += asked_gb_h
        ratios = {name: held.ratio for name, held in sums.items()}
        worse = [name for name, ratio in ratios.items() if name != ALL and ratio > 1]
        worse.sort(key=lambda name: -ratios[name])
        return {name: ratios[name] for name in (*sums.keys() & {ALL}, *worse[:MOST_SHOWN])}
