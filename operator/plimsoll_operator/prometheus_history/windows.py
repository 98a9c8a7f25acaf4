"""Reads the past window by window, oldest first: pods whose end was seen become observations.

A window that is too large for the server or the client is halved; after some windows that were
not too large, windows grow again. Memory holds only the pods that ran at the end of a window.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from plimsoll_operator.pods.identity import RunIdentity
from plimsoll_operator.prometheus_history import gathering
from plimsoll_operator.prometheus_history.client import (
    PrometheusClient,
    PrometheusError,
    TooMuch,
)
from plimsoll_operator.prometheus_history.gathering import Pods, Window
from plimsoll_operator.prometheus_history.past_attempts import observations_of, seconds_a_sample
from plimsoll_operator.prometheus_history.past_pods import (
    PastPod,
    ReadingRules,
    identity_of,
    sized_container_of,
    unknown_by,
)
from plimsoll_operator.prometheus_history.promql import Where
from plimsoll_operator.prometheus_history.runs import PastRuns
from plimsoll_predictor.core.record import Observation

LONGEST_WINDOW_S: Final = 6 * 3600
SHORTEST_WINDOW_S: Final = 60
GROWS_AFTER: Final = 4
"""After so many windows in a row with an answer, windows grow."""
STILL_RUNNING: Final = "still running, or no end was seen"
END_UNSEEN: Final = "its end was not seen"


@dataclass(slots=True)
class Progress:
    """The progress of the reading. left_out: reason -> pods of tasks without an observation."""

    done_s: float = 0.0
    pods: int = 0
    left_out: Counter[str] = field(default_factory=Counter)


class PastReader:
    """Reads one period of the past from one server. Used once."""

    def __init__(self, client: PrometheusClient, where: Where, how: ReadingRules) -> None:
        self._client = client
        self._where = where
        self._how = how
        self._running: Pods = {}
        self._named: dict[str, RunIdentity | None] = {}
        self._ended: set[str] = set()
        """UIDs of pods that were yielded and are still in the series."""
        self._runs = PastRuns()
        self._interval_s: dict[str, float] = {}
        """Node -> the shortest time seen there between two samples."""
        self._window_s = LONGEST_WINDOW_S
        self._answered = 0
        self.progress = Progress()

    async def read(self, start_s: float, end_s: float) -> AsyncIterator[list[Observation]]:
        """Observations of pods that ended in this time, one list per window, often empty.

        Raises:
            PrometheusError: if the server cannot be asked; the lists yielded before stay right.

        """
        at_s = start_s
        while at_s < end_s:
            length_s = max(1, int(min(self._window_s, end_s - at_s)))
            async for observations in self._window(Window(at_s + length_s, length_s), start_s):
                yield observations
            at_s += length_s
            self.progress.done_s = min(at_s, end_s) - start_s
            yield []
        self.progress.left_out[STILL_RUNNING] += len(self._running)

    async def _window(self, window: Window, start_s: float) -> AsyncIterator[list[Observation]]:
        try:
            pods = await self._gathered(window)
        except TooMuch as error:
            if window.length_s <= SHORTEST_WINDOW_S:
                raise PrometheusError(
                    f"{error}, not even for {window.length_s} s of the past; ask for less with"
                    " --namespace or --match"
                ) from error
            self._window_s, self._answered = max(SHORTEST_WINDOW_S, window.length_s // 2), 0
            for half in window.halves():
                async for observations in self._window(half, start_s):
                    yield observations
            return
        self._answered += 1
        if self._answered >= GROWS_AFTER:
            self._window_s, self._answered = min(LONGEST_WINDOW_S, self._window_s * 2), 0
        if observations := self._observations_of_ended(pods, start_s):
            yield observations

    async def _gathered(self, window: Window) -> Pods:
        """The tasks' pods of the window that were not yielded yet, filled in.

        A failed window changes nothing, because its halves are asked again.
        """
        there = await gathering.present(self._client, window, self._where)
        fresh = {uid: pod for uid, pod in there.items() if uid not in self._ended}
        # A pod's labels may be scraped a window later, so they are asked for until it has a name.
        unnamed = {uid: pod for uid, pod in fresh.items() if uid not in self._running}
        if unnamed:
            await gathering.name(self._client, window, self._where, unnamed)
        pods = {uid: _copy(pod) for uid, pod in self._running.items()}
        for uid, pod in unnamed.items():
            identity = identity_of(pod, self._how)
            if identity is not None:
                self._named[uid] = identity
                pods[uid] = pod
        if pods:
            await gathering.fill(self._client, window, self._where, pods)
        self._ended &= there.keys()
        self._running = {uid: pod for uid, pod in pods.items() if uid in there}
        self.progress.left_out[END_UNSEEN] += len(pods) - len(self._running)
        return pods

    def _observations_of_ended(self, pods: Pods, start_s: float) -> list[Observation]:
        observations: list[Observation] = []
        ended = [pod for pod in pods.values() if pod.ended]
        self._time_samples(ended)
        for pod in sorted(ended, key=lambda each: each.finished_s or 0.0):
            identity = self._named.get(pod.uid)
            self._running.pop(pod.uid, None)
            self._ended.add(pod.uid)
            if identity is None or (pod.finished_s is not None and pod.finished_s < start_s):
                continue
            self.progress.pods += 1
            if sized_container_of(pod) is None:
                self.progress.left_out["it is not known which of its containers is sized"] += 1
                continue
            if note := unknown_by(pod, self._how):
                self.progress.left_out[_not_shown(note)] += 1
                continue
            how = replace(self._how, interval_s=self._interval_s.get(pod.node or ""))
            observations += [self._runs.place(each) for each in observations_of(pod, identity, how)]
        self._named = {uid: self._named[uid] for uid in self._running}
        return observations

    def _time_samples(self, pods: Iterable[PastPod]) -> None:
        """Learn from a node's densest series how often its containers are read."""
        for pod in pods:
            name, node = sized_container_of(pod), pod.node or ""
            interval_s = seconds_a_sample(pod, pod.containers[name]) if name else None
            if interval_s is not None:
                self._interval_s[node] = min(interval_s, self._interval_s.get(node, interval_s))


def _not_shown(note: str) -> str:
    return (
        f"its task is unknown without its annotation {note}; kube-state-metrics shows that with"
        f" --metric-annotations-allowlist=pods=[{note}]"
    )


def _copy(pod: PastPod) -> PastPod:
    containers = {name: replace(each) for name, each in pod.containers.items()}
    return replace(pod, containers=containers)
