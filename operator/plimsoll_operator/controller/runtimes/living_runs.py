"""Writes down once what the pods of runs under way show, and finds the runs that run long.

All runs share one timer: they stand in a heap by their deadlines, and nothing is done for a run
before its deadline has passed.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from typing import Final

import structlog

from plimsoll_operator.attempts.running_long import Deadlines, RunForecast, running_long_words
from plimsoll_operator.controller.hub.habits import PODS_KEPT
from plimsoll_operator.controller.hub.hub import Hub, RanLong, RunEnded, RunStarted, RuntimeForecast
from plimsoll_operator.controller.runtimes.runtimes import Runtimes
from plimsoll_operator.metrics.runs import RunMetrics
from plimsoll_operator.pods.spec import Pod
from plimsoll_operator.pods.status import AttemptStatus
from plimsoll_operator.wording import event_words
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.runtimes.features.asked import NOTHING_ASKED, AskedRun
from plimsoll_predictor.store import NewSighting, SightingKind, Writer

log = structlog.get_logger()

LOOK_AGAIN_S: Final = 5.0
"""A late run whose pod was not seen since a restart is looked at again after this time."""
LONGEST_WAIT_S: Final = 60.0
"""Deadlines are times of day, and a clock may be set."""
WRITTEN_KEPT: Final = 50_000
"""Living attempts whose sightings are remembered; other attempts' sightings are written again."""
WRITTEN_AT_ONCE: Final = 500
"""Ends in one transaction, where many were missed."""


class LongRuns:
    """Finds the runs that run long. Their pods come from the watch, their forecasts by the hub."""

    def __init__(self, hub: Hub, metrics: RunMetrics, now_s: Callable[[], float]) -> None:
        self._hub = hub
        self._metrics = metrics
        self._now_s = now_s
        self._deadlines = Deadlines()
        self._under_way: dict[str, RunForecast] = {}
        self._long: set[str] = set()
        self._pods: OrderedDict[str, event_words.Regarding] = OrderedDict()
        self._news = asyncio.Event()
        metrics.watch(lambda: len(self._under_way), lambda: len(self._long))

    def see(self, uid: str, pod: Pod) -> None:
        """Note a run's pod, because its Event is about the pod."""
        if uid in self._pods:
            return
        self._pods[uid] = event_words.Regarding.of(pod)
        if len(self._pods) > PODS_KEPT:
            self._pods.popitem(last=False)

    def runtime_forecast(self, _event: RuntimeForecast) -> None:
        """Count the forecast."""
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
        """Stop waiting for the run."""
        uid = event.attempt_uid
        self._under_way.pop(uid, None)
        self._long.discard(uid)
        self._pods.pop(uid, None)
        self._deadlines.drop(uid)
        if event.share is not None:
            self._metrics.scored(event.share)

    def look(self) -> None:
        """Publish the runs that have passed their deadlines."""
        now_s = self._now_s()
        for uid in self._deadlines.due(now_s):
            made = self._under_way[uid]
            self._long.add(uid)
            if made.announced_s is None and not self._publish(uid, made, now_s):
                self._deadlines.put(uid, now_s + LOOK_AGAIN_S)

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

    def _publish(self, uid: str, made: RunForecast, now_s: float) -> bool:
        """Return False if the pod is unknown: after a restart it is seen again, or it is gone."""
        pod = self._pods.get(uid)
        if pod is None:
            return False
        words = running_long_words(made, now_s)
        log.info("running long", task=str(made.task), attempt=uid, words=words)
        self._hub.publish(RanLong(uid, made.task, pod, words, now_s))
        return True


class RunSightings:
    """Writes down what living attempts show, and the ends that no observation reports."""

    def __init__(self, writer: Writer, runtimes: Runtimes, long_runs: LongRuns) -> None:
        self._writer = writer
        self._runtimes = runtimes
        self._long_runs = long_runs
        self._written: OrderedDict[str, SightingKind] = OrderedDict()
        self._seen: set[str] | None = set()
        """Attempts seen since the start; None once runs that were missed are ended."""

    def see(self, attempt_uid: str) -> None:
        """Note that an attempt's pod was there after the start, whether it runs or has ended."""
        if self._seen is not None:
            self._seen.add(attempt_uid)

    async def gone(self, task: TaskId, attempt_uid: str, now_s: float) -> None:
        """End a run without an observation: it never started, or is no longer observed."""
        written = self._written.pop(attempt_uid, None)
        if written is None and self._runtimes.under_way(attempt_uid) is None:
            return
        await self._writer.sight([_sighting(task, attempt_uid, SightingKind.GONE, now_s)])
        self._runtimes.news()

    async def gone_unread(self, attempt_uid: str, now_s: float) -> None:
        """End a run whose pod is gone and cannot be read: its task is known by its forecast."""
        made = self._runtimes.under_way(attempt_uid)
        if made is not None:
            await self.gone(made.task, attempt_uid, now_s)

    async def end_missed(self, now_s: float) -> None:
        """End the runs that were under way before the start, and whose pods are gone since.

        Call it once all pods were seen. Their ends will never be observed; they would run long, and
        be counted among the runs beside others, for weeks.
        """
        if self._seen is None:
            return
        await self._runtimes.fold()  # what was seen before the start may not be folded yet
        seen, self._seen = self._seen, None
        missed = [
            _sighting(made.task, uid, SightingKind.GONE, now_s)
            for uid, made in self._runtimes.all_under_way().items()
            if uid not in seen
        ]
        for start in range(0, len(missed), WRITTEN_AT_ONCE):
            await self._writer.sight(missed[start : start + WRITTEN_AT_ONCE])
        if missed:
            self._runtimes.news()
            log.info("ended while no controller looked", runs=len(missed))

    async def living(
        self, pod: Pod, task: TaskId, status: AttemptStatus, asked: AskedRun = NOTHING_ASKED
    ) -> None:
        """Write down what is new about an attempt that has not ended. asked: at its submission."""
        self._long_runs.see(status.attempt_uid, pod)
        new = self._new(task, status, asked)
        if not new:
            return
        self._written[status.attempt_uid] = new[-1].kind
        if len(self._written) > WRITTEN_KEPT:
            self._written.popitem(last=False)
        await self._writer.sight(new)
        self._runtimes.news()

    def _new(self, task: TaskId, status: AttemptStatus, asked: AskedRun) -> list[NewSighting]:
        """List the sightings not written yet by us or, per the restored state, a former leader."""
        uid, started_s = status.attempt_uid, status.started_s
        # A container restarted in place was submitted when it began, not with its pod.
        submitted_s = started_s if status.restarts else status.submitted_s
        written, forecast = self._written.get(uid), self._runtimes.under_way(uid)
        if written is SightingKind.STARTED or (forecast and forecast.started_s is not None):
            return []
        sightings: list[NewSighting] = []
        if submitted_s is not None and written is None and forecast is None:
            submitted = _sighting(task, uid, SightingKind.SUBMITTED, submitted_s)
            sightings.append(replace(submitted, asked=asked))
        if started_s is not None:
            sightings.append(_sighting(task, uid, SightingKind.STARTED, started_s))
        return sightings


def _sighting(task: TaskId, uid: str, kind: SightingKind, at_s: float) -> NewSighting:
    return NewSighting(task=task, kind=kind, attempt_uid=uid, at_s=at_s)
