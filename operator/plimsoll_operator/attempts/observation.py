"""Makes an observation of a pod's end and its measured peaks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from plimsoll_operator.attempts.peaks import PeakReport
from plimsoll_operator.attempts.truth_table import AttemptEnd, judge_late_reading
from plimsoll_operator.names.quantity import MAX_BYTES
from plimsoll_operator.pods.status import AttemptStatus
from plimsoll_operator.pods.workflow_items import UNKNOWN_WORK, Work
from plimsoll_predictor.core.bounded_text import MOST_NODE_BYTES, bounded_or_none
from plimsoll_predictor.core.record import Features, Observation, PeakSource
from plimsoll_predictor.core.task import TaskId

END_SEEN_WITHIN_S = 5.0
"""The longest time from the last reading to a container's end. Kubernetes gives whole seconds."""
UNSEEN_SHARE: Final = 0.1
"""The share of a container's life that may be unseen. Of a short life it may be more: the times
below."""
BEGINNING_SEEN_WITHIN_S = 5.0
"""The time from a container's start to the first reading. The first pods of a new node start before
its agent does."""
UNSEEN_WITHIN_S: Final = 15.0
"""All times without an agent. One that is killed forgets its last seconds, and starts again within
some more."""


@dataclass(frozen=True, slots=True)
class Load:
    """The load of watched pods on one node or on all. Shares are of the allocatable amounts.

    None if no node says how much it can hold. waiting_pods: of the whole cluster only.
    """

    memory_share: float | None = None
    cpu_share: float | None = None
    waiting_pods: int | None = None


_UNSEEN: Final = Load()


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The watched pods on an attempt's node when it started, and the loads around it.

    submitted, started: the cluster's load at these times; node: the node's load at the start.
    None if nobody looked in time.
    """

    memory_bytes: int
    cpu: float
    neighbours: tuple[str, ...]
    submitted: Load | None = None
    started: Load | None = None
    node: Load | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt as its author asked for it and as it was sized; None as in ``Observation``.

    request_bytes, request_cores: the user's own, before sizing.
    limit_bytes: the limit that the kernel enforced. written_limit_bytes: the author's; 0 for none.
    containers: how many the pod has; the pod's peak is a container's only if there is one.
    """

    task: TaskId
    run: str
    number: int
    features: Features
    container: str
    request_bytes: int | None
    limit_bytes: int | None
    image: str | None
    model_version: str | None
    containers: int
    work: Work = UNKNOWN_WORK
    request_cores: float | None = None
    allocated_cores: float | None = None
    request_memory_ran_bytes: int | None = None
    limit_cores: float | None = None
    requested_s: float | None = None
    written_limit_bytes: int | None = None
    node_type: str | None = None


def observe(
    attempt: Attempt,
    status: AttemptStatus,
    end: AttemptEnd,
    peak: PeakReport | None,
    surroundings: Surroundings | None,
) -> Observation:
    """Return the attempt's observation. peak, surroundings: None if nobody measured or looked."""
    return Observation(
        attempt_uid=status.attempt_uid,
        task=attempt.task,
        run=attempt.run,
        attempt=attempt.number,
        features=dict(attempt.features),
        outcome=end.outcome,
        cause=end.cause,
        request_bytes=attempt.request_bytes,
        allocation_bytes=attempt.limit_bytes,
        submitted_s=status.submitted_s,
        started_s=status.started_s,
        finished_s=status.finished_s,
        node=bounded_or_none(status.node, MOST_NODE_BYTES),
        node_type=attempt.node_type,
        image=attempt.image,
        exit_code=status.terminated.exit_code if status.terminated else None,
        model_version=attempt.model_version,
        request_cores=attempt.request_cores,
        allocated_cores=attempt.allocated_cores,
        request_memory_ran_bytes=attempt.request_memory_ran_bytes,
        limit_cores=attempt.limit_cores,
        requested_s=attempt.requested_s,
        written_limit_bytes=attempt.written_limit_bytes,
        workflow_run=attempt.work.run,
        item=attempt.work.item,
        **_measured(peak, status.started_s, status.finished_s),
        **_among(surroundings),
    )


def with_peak(observation: Observation, peak: PeakReport) -> Observation:
    """Return the same attempt, with a late peak, and what the peak says about its end."""
    measured = replace(
        observation, **_measured(peak, observation.started_s, observation.finished_s)
    )
    end = judge_late_reading(observation, peak.need_peak_bytes)
    return measured if end is None else replace(measured, outcome=end.outcome, cause=end.cause)


def _measured(
    peak: PeakReport | None, started_s: float | None, finished_s: float | None
) -> dict[str, Any]:
    """Return what was measured; nothing of half a run, which would teach too small a need."""
    if peak is None or not _saw_the_end(peak, finished_s):
        return {}
    if not _saw_enough(peak, started_s, finished_s):
        return {}
    return {
        "peak_bytes": peak.need_peak_bytes,
        "peak_source": PeakSource.AGENT,
        "kernel_peak_bytes": peak.kernel_peak_bytes,
        "working_set_peak_bytes": peak.working_set_peak_bytes,
        "anon_peak_bytes": peak.anon_peak_bytes,
        "cpu_s": peak.cpu_s,
        "peak_cores": peak.peak_cores,
    }


def _saw_the_end(peak: PeakReport, finished_s: float | None) -> bool:
    """Say whether no higher peak could follow."""
    return peak.final and (finished_s is None or peak.measured_s >= finished_s - END_SEEN_WITHIN_S)


def _saw_enough(peak: PeakReport, started_s: float | None, finished_s: float | None) -> bool:
    """Say whether there was no time, or little, in which a higher peak could be before the end."""
    late_s, life_s = 0.0, 0.0
    if started_s is not None:
        late_s = 0.0 if peak.since_s is None else max(0.0, peak.since_s - started_s)
        life_s = 0.0 if finished_s is None else finished_s - started_s
    share_s, unseen_s = UNSEEN_SHARE * life_s, late_s + (peak.unseen_s or 0.0)
    saw_beginning = late_s <= max(BEGINNING_SEEN_WITHIN_S, share_s)
    return saw_beginning and unseen_s <= max(UNSEEN_WITHIN_S, share_s)


def _among(surroundings: Surroundings | None) -> dict[str, Any]:
    if surroundings is None:
        return {}
    submitted, started = surroundings.submitted or _UNSEEN, surroundings.started or _UNSEEN
    node = surroundings.node or _UNSEEN
    return {
        "node_memory_bytes": min(surroundings.memory_bytes, MAX_BYTES),
        "node_cpu": surroundings.cpu,
        "neighbours": surroundings.neighbours,
        "submitted_memory_share": submitted.memory_share,
        "submitted_cpu_share": submitted.cpu_share,
        "submitted_waiting_pods": submitted.waiting_pods,
        "cluster_memory_share": started.memory_share,
        "cluster_cpu_share": started.cpu_share,
        "waiting_pods": started.waiting_pods,
        "node_memory_share": node.memory_share,
        "node_cpu_share": node.cpu_share,
    }
