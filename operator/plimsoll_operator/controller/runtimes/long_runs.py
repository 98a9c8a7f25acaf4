"""Runs under way, held against what was forecast of them: which of them run long.

One timer over all: runs stand in a heap by their deadlines, and whatever their number, nothing
is done for one before its deadline has passed.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

import structlog

from plimsoll_operator.attempts.running_long import Deadlines, RunForecast, running_long_words
from plimsoll_operator.controller.hub.hub import Hub, RanLong, RunEnded, RunStarted, RuntimeForecast
from plimsoll_operator.metrics.runs import RunMetrics
from plimsoll_operator.pods.spec import Pod, metadata_of
from plimsoll_operator.profile import events

log = structlog.get_logger()

PODS_KEPT: Final = 50_000
LOOK_AGAIN_S: Final = 5.0
"""A run that is late and whose pod was not seen since a restart is looked at again."""
LONGEST_WAIT_S: Final = 60.0
"""Deadlines are times of day, and a clock may be set."""


class LongRuns:
    """Finds the runs that run long. Their pods come from the watch, their forecasts by the hub."""

    def __init__(self, hub: Hub, metrics: RunMetrics, now_s: Callable[[], float]) -> None:
        self._hub = hub
        self._metrics = metrics
        self._now_s = now_s
        self._deadlines = Deadlines()
        self._under_way: dict[str, RunForecast] = {}
        self._long: set[str] = set()
        self._pods: OrderedDict[str, events.Regarding] = OrderedDict()
        self._news = asyncio.Event()
        metrics.watch(lambda: len(self._under_way), lambda: len(self._long))

    def see(self, run: str, pod: Pod) -> None:
        """A run's pod, which its Event is about."""
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

    def runtime_forecast(self, _event: RuntimeForecast) -> None:
        """A forecast was made of a run when it was submitted."""
        self._metrics.served.inc()

    def run_started(self, event: RunStarted) -> None:
        """Wait for its deadline."""
        deadline_s = event.forecast.deadline_s
        if deadline_s is None:
            return
        self._under_way[event.attempt_uid] = event.forecast
        self._deadlines.put(event.attempt_uid, deadline_s)
        self._news.set()

    def run_ended(self, event: RunEnded) -> None:
        """It is not waited for any more."""
        run = event.attempt_uid
        self._under_way.pop(run, None)
        self._long.discard(run)
        self._pods.pop(run, None)
        self._deadlines.drop(run)
        if event.share is not None:
            self._metrics.scored(event.share)

    def look(self) -> None:
        """Publish the runs that have passed their deadlines."""
        now_s = self._now_s()
        for run in self._deadlines.due(now_s):
            made = self._under_way[run]
            self._long.add(run)
            if made.told_s is None and not self._publish(run, made, now_s):
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

    def _publish(self, run: str, made: RunForecast, now_s: float) -> bool:
        """False if its pod is not known: after a restart it is seen again, unless it is gone."""
        pod = self._pods.get(run)
        if pod is None:
            return False
        words = running_long_words(made, now_s)
        log.info("running long", task=str(made.task), attempt=run, words=words)
        self._hub.publish(RanLong(run, made.task, pod, words, now_s))
        return True
