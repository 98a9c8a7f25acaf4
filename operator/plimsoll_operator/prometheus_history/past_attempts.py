"""A pod of the past, ended, made into the observations of its attempts. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from plimsoll_operator.attempts.truth_table import End, judge_end
from plimsoll_operator.pods.features import read_features
from plimsoll_operator.pods.identity import RunIdentity
from plimsoll_operator.prometheus_history.past_pods import (
    PastContainer,
    PastPod,
    ReadingRules,
    as_pod,
    sized_container_of,
)
from plimsoll_predictor.core.record import Features, Observation, Outcome, PeakSource

LEAST_SAMPLES: Final = 3
"""Of a container's memory; fewer, and its peak is anybody's guess."""
LEAST_COVERED: Final = 2 / 3
"""Share of a run in which its memory has to have been read, or a spike may lie in the gap."""
MET_LATE_S: Final = 120.0
"""A pod that started longer before the window that first showed it was not seen from the start."""


def observations_of(
    pod: PastPod, identity: RunIdentity, how: ReadingRules
) -> Iterator[Observation]:
    """The attempts of an ended pod: one, or two where its container was killed and restarted."""
    name = sized_container_of(pod)
    if name is None:
        return
    container = pod.containers[name]
    features = read_features(as_pod(pod, pod.labels)).values
    killed_before = container.ended_before == "OOMKilled" and container.restarts > 0
    if killed_before:
        yield _observation(pod, identity, container, _Life.killed(pod, container), features)
    yield _observation(pod, identity, container, _Life.last(pod, container, how), features)


@dataclass(frozen=True, slots=True)
class _Life:
    """One life of the container. peak_bytes: None where it cannot be known."""

    uid: str
    outcome: Outcome
    started_s: float | None
    finished_s: float | None
    peak_bytes: int | None
    sampled: bool

    @classmethod
    def killed(cls, pod: PastPod, container: PastContainer) -> _Life:
        """The life before the last: killed when the last began, and its start is not told."""
        number = container.restarts - 1
        uid = pod.uid if number == 0 else f"{pod.uid}/{number}"
        outcome = _outcome(pod, container, container.ended_before)
        return cls(uid, outcome, None, container.started_s, None, sampled=False)

    @classmethod
    def last(cls, pod: PastPod, container: PastContainer, how: ReadingRules) -> _Life:
        restarted = container.restarts > 0
        uid = f"{pod.uid}/{container.restarts}" if restarted else pod.uid
        # The series of a container go on over its restarts: whose the highest sample is, is lost.
        started_s = container.started_s or (None if restarted else pod.started_s)
        watched = not restarted and _watched(pod, container, started_s, how.interval_s)
        peak_bytes = _peak_bytes(container, how.margin) if watched else None
        outcome = _outcome(pod, container, container.ended)
        return cls(uid, outcome, started_s, pod.finished_s, peak_bytes, sampled=not restarted)


def _outcome(pod: PastPod, container: PastContainer, reason: str | None) -> Outcome:
    """By the rules for pods that are there. reason: why that life of the container ended."""
    # The kernel's peak is only as new as its last sample, so it says nothing of the end.
    end = End(
        phase=pod.phase,
        pod_reason=pod.reason,
        reason=reason,
        limit_bytes=_whole(container.limit_bytes),
    )
    return judge_end(end).outcome


def _watched(
    pod: PastPod, container: PastContainer, started_s: float | None, interval_s: float | None
) -> bool:
    """Whether its memory was read from its start to its end, but for the usual intervals."""
    if container.samples < LEAST_SAMPLES or started_s is None or pod.finished_s is None:
        return False
    if started_s < pod.met_s - MET_LATE_S:
        return False
    covered_s = container.samples * (interval_s or math.inf)
    return covered_s >= LEAST_COVERED * (pod.finished_s - started_s)


def seconds_a_sample(pod: PastPod, container: PastContainer) -> float | None:
    """Seconds of the run for each sample of its memory; None if too few to tell."""
    started_s = container.started_s or pod.started_s
    if container.samples < 2 * LEAST_SAMPLES or started_s is None or pod.finished_s is None:
        return None
    return max(1.0, pod.finished_s - started_s) / container.samples


def _peak_bytes(container: PastContainer, margin: float) -> int | None:
    """The highest sample and a margin, no more than the kernel's own peak and the limit."""
    seen_bytes = container.working_set_bytes
    if seen_bytes is None:
        return None
    bounds = [seen_bytes * (1 + margin)]
    bounds += [each for each in (container.kernel_bytes, container.limit_bytes) if each]
    return round(max(seen_bytes, min(bounds)))


def _observation(
    pod: PastPod, identity: RunIdentity, container: PastContainer, life: _Life, features: Features
) -> Observation:
    asked_bytes = container.request_bytes or container.limit_bytes
    sampled = container if life.sampled else PastContainer()
    return Observation(
        attempt_uid=life.uid,
        task=identity.task,
        run=identity.run or f"pod:{pod.uid}",
        features=dict(features),
        outcome=life.outcome,
        request_bytes=_whole(asked_bytes),
        allocation_bytes=_whole(container.limit_bytes),
        peak_bytes=life.peak_bytes,
        peak_source=PeakSource.IMPORTED,
        kernel_peak_bytes=_whole(sampled.kernel_bytes),
        working_set_peak_bytes=_whole(sampled.working_set_bytes),
        anon_peak_bytes=_whole(sampled.anon_bytes),
        cpu_s=sampled.cpu_s,
        request_cores=container.request_cores,
        allocated_cores=container.request_cores,
        submitted_s=pod.created_s,
        started_s=life.started_s,
        finished_s=life.finished_s,
        node=pod.node,
        image=container.image,
        workflow_run=identity.work.run,
        item=identity.work.item,
    )


def _whole(size_bytes: float | None) -> int | None:
    return None if not size_bytes else round(size_bytes)
