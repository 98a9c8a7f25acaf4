"""Metrics by task, for the few tasks that waste most; all others share one series.

A label per task would cost a series per task and metric, and 10,000 tasks are not rare. So there is
none unless asked for (``PLIMSOLL_TASK_METRICS``), and then only for a bounded number of tasks.

A shown series only grows, as Prometheus expects of a counter: a newly shown task begins with what
is counted from then on, and a task that is no longer shown goes on in ``other``. What a task
counted while it was not shown stays there.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from plimsoll_predictor.core.task import TaskId

OTHER: Final = "other"
REMEMBERED: Final = 20_000
"""Tasks whose waste is added up to find those that waste most; beyond, the longest idle go."""
OVERTAKES_BY: Final = 1.1
"""A task replaces a shown one once it wastes this much more, so that no two take turns."""


@dataclass(slots=True)
class _Figures:
    wasted_byte_seconds: float = 0.0
    saved_byte_seconds: float = 0.0
    added_byte_seconds: float = 0.0
    oom_kills: int = 0


class TaskMetrics(Collector):
    """``shown``: how many tasks get series of their own; 0 for none, and no ``other`` either."""

    def __init__(self, shown: int) -> None:
        self._most = shown
        self._totals: OrderedDict[TaskId, float] = OrderedDict()
        """Byte-seconds wasted since the start, shown or not."""
        self._shown: dict[TaskId, _Figures] = {}
        self._other = _Figures()
        self._forecasts: OrderedDict[TaskId, Mapping[str, float]] = OrderedDict()

    def forecast(self, task: TaskId, quantiles_s: Mapping[str, float]) -> None:
        """Show what the task's next run may take. quantiles_s: share, as text -> seconds."""
        if not self._most:
            return
        self._forecasts[task] = quantiles_s
        self._forecasts.move_to_end(task)
        if len(self._forecasts) > REMEMBERED:
            self._forecasts.popitem(last=False)

    def wasted(self, task: TaskId, byte_seconds: float) -> None:
        """Add memory-time that an attempt of the task wasted."""
        if not self._most:
            return
        self._totals[task] = self._totals.get(task, 0.0) + byte_seconds
        self._totals.move_to_end(task)
        if len(self._totals) > REMEMBERED:
            del self._totals[next(each for each in self._totals if each not in self._shown)]
        self._maybe_show(task)
        self._figures(task).wasted_byte_seconds += byte_seconds

    def saved(self, task: TaskId, byte_seconds: float) -> None:
        """Add the memory-time by which an attempt got less than it asked for; negative if more."""
        if byte_seconds >= 0:
            self._figures(task).saved_byte_seconds += byte_seconds
        else:
            self._figures(task).added_byte_seconds -= byte_seconds

    def oom_killed(self, task: TaskId) -> None:
        """Count an OOM kill of the task."""
        self._figures(task).oom_kills += 1

    def forget(self, task: TaskId) -> None:
        """Show the task no more, as if it had never run."""
        self._totals.pop(task, None)
        self._shown.pop(task, None)
        self._forecasts.pop(task, None)

    def collect(self) -> Iterator[Metric]:
        """The series as they are now."""
        if not self._most:
            return
        rows = [(t.namespace, t.name, figures) for t, figures in self._shown.items()]
        rows.append(("", OTHER, self._other))
        for name, words, attribute in _FAMILIES:
            family = CounterMetricFamily(f"plimsoll_task_{name}", words, labels=_LABELS)
            for namespace, task, figures in rows:
                family.add_metric([namespace, task], float(getattr(figures, attribute)))
            yield family
        yield self._runtimes()

    def _runtimes(self) -> Metric:
        family = GaugeMetricFamily(
            "plimsoll_run_seconds",
            "What that share of a task's runs stay within, as forecast; of those that waste most.",
            labels=(*_LABELS, "share"),
        )
        for task in self._shown:
            for share, seconds in self._forecasts.get(task, {}).items():
                family.add_metric([task.namespace, task.name, share], seconds)
        return family

    def _figures(self, task: TaskId) -> _Figures:
        return self._shown.get(task, self._other)

    def _maybe_show(self, task: TaskId) -> None:
        if task in self._shown:
            return
        if len(self._shown) < self._most:
            self._shown[task] = _Figures()
            return
        least = min(self._shown, key=lambda each: self._totals.get(each, 0.0))
        if self._totals[task] > OVERTAKES_BY * self._totals.get(least, 0.0):
            del self._shown[least]
            self._shown[task] = _Figures()


_LABELS: Final = ("task_namespace", "task")
"""The label is not ``namespace``, which is the scraped pod's own."""
_FAMILIES: Final = (
    (
        "memory_wasted_byte_seconds",
        "Memory-time reserved and not used, of the tasks that waste most.",
        "wasted_byte_seconds",
    ),
    (
        "memory_saved_byte_seconds",
        "Memory-time reserved less than was asked for, of the tasks that waste most.",
        "saved_byte_seconds",
    ),
    (
        "memory_added_byte_seconds",
        "Memory-time reserved beyond what was asked for, of the tasks that waste most.",
        "added_byte_seconds",
    ),
    ("oom_kills", "OOM kills of the tasks that waste most.", "oom_kills"),
)
