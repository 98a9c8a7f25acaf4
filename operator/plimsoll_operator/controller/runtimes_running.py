"""Runs under way, held against what was forecast of them: which run long, and who is told.

One timer over all: runs stand in a heap by their deadlines, and whatever their number, nothing
is done for one before its deadline has passed.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import structlog

from plimsoll_operator import events
from plimsoll_operator.podspec import Pod, metadata_of
from plimsoll_operator.run_metrics import RunMetrics
from plimsoll_operator.running_long import Deadlines, RunForecast, running_long_words
from plimsoll_predictor.task import TaskId

log = structlog.get_logger()

PODS_KEPT: Final = 50_000
LOOK_AGAIN_S: Final = 5.0
"""A run that is late and whose pod was not seen since a restart is looked at again."""
LONGEST_WAIT_S: Final = 60.0
"""Deadlines are times of day, and a clock may be set."""


@dataclass(frozen=True, slots=True)
class Told:
    """What follows from a run: for people, and for its task's profile.

    event: tells an Event. learned: more is known of a task's runtimes.
    """

    event: Callable[[events.Happening, events.Regarding, TaskId], None]
    learned: Callable[[TaskId], None]


class RunningRuns:
    """Hears of runs from ``Runtimes``, and of their pods from the watch."""

    def __init__(self, told: Told, metrics: RunMetrics, now_s: Callable[[], float]) -> None:
        self._told = told
        self._metrics = metrics
        self._now_s = now_s
        self._deadlines = Deadlines()
        self._running: dict[str, RunForecast] = {}
        self._long: set[str] = set()
        self._pods: OrderedDict[str, events.Regarding] = OrderedDict()
        self._news = asyncio.Event()
        metrics.watch(lambda: len(self._running), lambda: len(self._long))
        self.noted: Callable[[str, float], None] = lambda _run, _at_s: None
        """Called with a run that was told to run long, and when."""

    def see(self, run: str, pod: Pod) -> None:
        """A run's pod, where its Event is told."""
        if run in self._pods:
            return
        meta = metadata_of(pod)
        self._pods[run] = events.Regarding(
            kind="Pod",
            namespace=str(meta.get("namespace")),
            name=str(meta.get("name")),
            uid=str(meta.get("uid")),
        )
        if len(self._pods) > PODS_KEPT:
            self._pods.popitem(last=False)

    def served(self) -> None:
        """A forecast was made of a run when it was submitted."""
        self._metrics.served.inc()

    def started(self, run: str, made: RunForecast) -> None:
        """The run of a forecast began, maybe before a restart."""
        deadline_s = made.deadline_s
        if deadline_s is None:
            return
        self._running[run] = made
        self._deadlines.put(run, deadline_s)
        self._news.set()

    def ended(self, run: str, share: float | None) -> None:
        """A run ended; share: of its forecast below its runtime, None if it left none."""
        self._running.pop(run, None)
        self._long.discard(run)
        self._pods.pop(run, None)
        self._deadlines.drop(run)
        if share is not None:
            self._metrics.scored(share)

    def learned(self, task: TaskId) -> None:
        """More is known of the task's runtimes."""
        self._told.learned(task)

    def look(self) -> None:
        """Tell of the runs that have passed their deadlines."""
        now_s = self._now_s()
        for run in self._deadlines.due(now_s):
            made = self._running[run]
            self._long.add(run)
            if made.told_s is None and not self._tell(run, made, now_s):
                self._deadlines.put(run, now_s + LOOK_AGAIN_S)

    async def run(self) -> None:
        """Look whenever a deadline passes, until cancelled."""
        while True:
            self.look()
            next_s = self._deadlines.next_s()
            wait_s = LONGEST_WAIT_S if next_s is None else next_s - self._now_s()
            self._news.clear()
            try:
                async with asyncio.timeout(min(max(wait_s, 0.05), LONGEST_WAIT_S)):
                    await self._news.wait()
            except TimeoutError:
                continue

    def _tell(self, run: str, made: RunForecast, now_s: float) -> bool:
        """False if its pod is not known: after a restart it is seen again, unless it is gone."""
        pod = self._pods.get(run)
        if pod is None:
            return False
        words = running_long_words(made, now_s)
        log.info("running long", task=str(made.task), attempt=run, words=words)
        self._told.event(events.running_long(words, run), pod, made.task)
        self.noted(run, now_s)
        return True
