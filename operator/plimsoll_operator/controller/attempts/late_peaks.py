"""Amends observations by peaks that come after the attempt was observed.

A late reading may also explain an end that nobody could explain before.

A pod's cgroup outlives its containers, so its last report comes after their end, or after a
restart of the controller.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from plimsoll_operator.attempts.observation import with_peak
from plimsoll_operator.attempts.peaks import within_sandbox
from plimsoll_operator.controller.attempts.peak_book import PeakBook
from plimsoll_operator.controller.hub.hub import (
    AttemptEnded,
    FinalPeakReported,
    Hub,
    ObservationAmended,
)
from plimsoll_predictor.core.record import Cause, Observation
from plimsoll_predictor.store import Writer
from plimsoll_predictor.store.writer import MAX_QUEUED

PODS_KEPT: Final = 2 * MAX_QUEUED
"""Pods that ended lately; a late peak amends their observations. After an outage of the store, all
that waited for it are committed within seconds, and agents can deliver their reports only then,
while others end. A pod takes up 2.4 kB."""
AMENDED_AT_ONCE: Final = 100
"""These share a commit. One after the other, they would fall behind hundreds of ends a second."""
UNEXPLAINED_KEPT: Final = 200
"""Ends that may be judged again. They are remembered with their pods, which may be large."""


@dataclass(frozen=True, slots=True)
class _Observed:
    """An observation as it was recorded, and the container whose peaks may amend it."""

    observation: Observation
    container_id: str | None
    containers: int
    sandbox_limit_bytes: int | None


class LatePeaks:
    """Amends the observations of pods that ended lately."""

    def __init__(
        self,
        writer: Writer,
        peaks: PeakBook,
        hub: Hub,
        look_again: Callable[[AttemptEnded], Awaitable[None]],
    ) -> None:
        """look_again: records an end again, with the peaks that are known by now."""
        self._writer = writer
        self._look_again = look_again
        self._peaks = peaks
        self._hub = hub
        self._observed: OrderedDict[str, dict[str, _Observed]] = OrderedDict()
        """Pod UID -> attempt UID -> what was recorded."""
        self._unexplained: OrderedDict[str, AttemptEnded] = OrderedDict()
        """Attempt UID -> its end, if a late reading may explain it."""
        self._late: dict[str, None] = {}
        self._news = asyncio.Event()

    @property
    def unexplained(self) -> int:
        """How many ends may be judged again."""
        return len(self._unexplained)

    def attempt_ended(self, event: AttemptEnded) -> None:
        """Wait for the pod's last report, unless it is there already."""
        status = event.status
        attempts = self._observed.setdefault(status.uid, {})
        watched = event.watched
        measured = watched.measured_container(status)
        attempts[status.attempt_uid] = _Observed(
            event.observation,
            measured,
            watched.attempt.containers,
            watched.sandbox_limit_bytes,
        )
        self._unexplained.pop(status.attempt_uid, None)
        if event.observation.cause is Cause.KILLED:
            self._unexplained[status.attempt_uid] = event
            if len(self._unexplained) > UNEXPLAINED_KEPT:
                self._unexplained.popitem(last=False)
        self._observed.move_to_end(status.uid)
        if len(self._observed) > PODS_KEPT:
            self._observed.popitem(last=False)
        if self._peaks.final(status.uid):
            self._amend_soon(status.uid)

    def final_peak_reported(self, event: FinalPeakReported) -> None:
        """Amend the observation of the report's pod if it is written already."""
        if event.pod_uid in self._observed:
            self._amend_soon(event.pod_uid)

    async def run(self) -> None:
        """Amend until cancelled."""
        while True:
            await self._news.wait()
            self._news.clear()
            while self._late:
                some = tuple(islice(self._late, AMENDED_AT_ONCE))
                for pod_uid in some:
                    del self._late[pod_uid]
                await asyncio.gather(*map(self.amend, some))

    async def amend(self, pod_uid: str) -> None:
        """Record again the observations that the peaks known by now change."""
        attempts = self._observed.get(pod_uid, {})
        for attempt_uid, observed in list(attempts.items()):
            best = self._peaks.best(pod_uid, observed.container_id, observed.containers)
            peak = within_sandbox(best, observed.sandbox_limit_bytes)
            if peak is None:
                continue
            observation = with_peak(observed.observation, peak)
            if observation == observed.observation:
                continue
            if observation.cause is not Cause.KILLED and attempt_uid in self._unexplained:
                # This comes back to ``attempt_ended``, with the observation as it is then.
                await self._look_again(self._unexplained.pop(attempt_uid))
                continue
            novelty = await self._writer.record(observation)
            self._hub.publish(ObservationAmended(observation, novelty))
            attempts[attempt_uid] = replace(observed, observation=observation)
        if self._peaks.final(pod_uid):
            for attempt_uid in attempts:
                self._unexplained.pop(attempt_uid, None)

    def _amend_soon(self, pod_uid: str) -> None:
        self._late[pod_uid] = None
        self._news.set()
