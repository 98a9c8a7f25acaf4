"""Makes observations of attempts from a past pod that has ended. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from plimsoll_operator.attempts.truth_table import (
    COMPLETED,
    DEADLINE,
    AttemptEnd,
    End,
    Readings,
    judge_end,
)
from plimsoll_operator.pods.features import read_features
from plimsoll_operator.pods.identity import RunIdentity
from plimsoll_operator.prometheus_history.past_pods import (
    PastContainer,
    PastPod,
    ReadingRules,
    as_pod,
    sized_container_of,
)
from plimsoll_predictor.core.bounded_text import (
    MOST_IMAGE_BYTES,
    MOST_NODE_BYTES,
    MOST_RUN_BYTES,
    bounded,
    bounded_or_none,
)
from plimsoll_predictor.core.record import Observation, PeakSource

LEAST_SAMPLES: Final = 3
"""With fewer samples of a container's memory its peak is unknown."""
LEAST_COVERED: Final = 2 / 3
"""The share of a run that its memory samples must cover, or a spike may lie in the gap."""
DEFAULT_GRACE_S: Final = 30.0
"""Kubernetes' terminationGracePeriodSeconds if the author wrote none."""
MET_LATE_S: Final = 120.0
"""If a pod started earlier than this before its first window, its start was not seen."""


def observations_of(
    pod: PastPod, identity: RunIdentity, how: ReadingRules
) -> Iterator[Observation]:
    """The attempts of an ended pod: one, or two if its container was killed and restarted."""
    name = sized_container_of(pod)
    if name is None:
        return
    container = pod.containers[name]
    last = _last(pod, identity, container)
    if container.restarts > 0:
        if container.ended_before is not None:
            end = _end_of_life_before(container)
            yield replace(
                last,
                attempt_uid=_uid(pod, container.restarts - 1),
                outcome=end.outcome,
                cause=end.cause,
                exit_code=container.exit_code_before,
                started_s=None,
                # It was killed when the last life began.
                finished_s=container.started_s,
            )
        yield last
        return
    # A container's series continue over its restarts: without a restart they are of this life.
    started_s = container.started_s or pod.started_s
    watched = _watched(pod, container, started_s, how.interval_s)
    yield replace(
        last,
        started_s=started_s,
        peak_bytes=_peak_bytes(container, how.margin) if watched else None,
        kernel_peak_bytes=_whole(container.kernel_bytes),
        working_set_peak_bytes=_whole(container.working_set_bytes),
        anon_peak_bytes=_whole(container.anon_bytes),
        cpu_s=container.cpu_s,
    )


def _uid(pod: PastPod, restarts: int) -> str:
    return f"{pod.uid}/{restarts}" if restarts else pod.uid


def _end_of_life_before(container: PastContainer) -> AttemptEnd:
    """Judge the life before a restart in place by the rules for living pods: the pod lived on."""
    return judge_end(
        End(
            phase="Running",
            reason=container.ended_before,
            exit_code=container.exit_code_before,
            started=True,
            limit_bytes=_whole(container.limit_bytes),
        )
    )


def _end(pod: PastPod, container: PastContainer) -> AttemptEnd:
    """Judge the last life by the rules for living pods."""
    return judge_end(
        End(
            phase=pod.phase,
            pod_reason=pod.reason or (DEADLINE if _stopped(pod, container) else None),
            taken_away=_taken_away(pod),
            reason=container.ended,
            started=container.started_s is not None,
            limit_bytes=_whole(container.limit_bytes),
            # The kernel's peak is as old as its last sample, so it says nothing about the end.
            readings=Readings(seen_bytes=_whole(container.working_set_bytes)),
        )
    )


def _stopped(pod: PastPod, container: PastContainer) -> bool:
    """Say whether a pod failed though its container succeeded: no series shows a deadline."""
    return pod.phase == "Failed" and len(pod.containers) == 1 and container.ended == COMPLETED


def _taken_away(pod: PastPod) -> bool:
    """Say whether a deletion ended it. No series has its grace period, so the default is used."""
    if pod.deleted_by_s is None:
        return False
    return pod.finished_s is None or pod.finished_s >= pod.deleted_by_s - DEFAULT_GRACE_S


def _watched(
    pod: PastPod, container: PastContainer, started_s: float | None, interval_s: float | None
) -> bool:
    """Whether its memory was read from start to end, with gaps no longer than usual."""
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
    """The highest sample plus a margin, at most the kernel's own peak and the limit."""
    seen_bytes = container.working_set_bytes
    if seen_bytes is None:
        return None
    bounds = [seen_bytes * (1 + margin)]
    bounds += [each for each in (container.kernel_bytes, container.limit_bytes) if each]
    return round(max(seen_bytes, min(bounds)))


def _last(pod: PastPod, identity: RunIdentity, container: PastContainer) -> Observation:
    """The last life of the container, without its measurements."""
    end = _end(pod, container)
    return Observation(
        attempt_uid=_uid(pod, container.restarts),
        task=identity.task,
        run=identity.run or bounded(f"pod:{pod.uid}", MOST_RUN_BYTES),
        features=dict(read_features(as_pod(pod, pod.labels)).values),
        outcome=end.outcome,
        cause=end.cause,
        request_bytes=_whole(container.request_bytes or container.limit_bytes),
        allocation_bytes=_whole(container.limit_bytes),
        peak_source=PeakSource.IMPORTED,
        request_cores=container.request_cores,
        allocated_cores=container.request_cores,
        submitted_s=pod.created_s,
        started_s=container.started_s,
        finished_s=pod.finished_s,
        node=bounded_or_none(pod.node, MOST_NODE_BYTES),
        image=bounded_or_none(container.image, MOST_IMAGE_BYTES),
        workflow_run=identity.work.run,
        item=identity.work.item,
    )


def _whole(size_bytes: float | None) -> int | None:
    return None if not size_bytes else round(size_bytes)
