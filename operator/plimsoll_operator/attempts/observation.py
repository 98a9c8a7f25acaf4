"""A pod's end and its measured peaks, made into an observation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from plimsoll_operator.attempts.peaks import PeakReport
from plimsoll_operator.pods.status import AttemptStatus
from plimsoll_operator.pods.workflow_items import UNKNOWN_WORK, Work
from plimsoll_predictor.core.record import Features, Observation, Outcome, PeakSource
from plimsoll_predictor.core.task import TaskId

END_SEEN_WITHIN_S = 5.0
"""Between a container's last reading and its end, whose time Kubernetes cuts to whole seconds."""


@dataclass(frozen=True, slots=True)
class ClusterLoad:
    """How full the cluster was, of watched pods. Shares are of what may be allocated.

    None where no node says what it may hold.
    """

    memory_share: float | None
    cpu_share: float | None
    waiting_pods: int


@dataclass(frozen=True, slots=True)
class NodeLoad:
    """How full a node was, of watched pods; as ``ClusterLoad``."""

    memory_share: float | None
    cpu_share: float | None


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What an attempt started among: of its node, the labelled pods that Plimsoll watches.

    submitted, started, node: the loads then; None where nobody looked in time.
    """

    memory_bytes: int
    cpu: float
    neighbours: tuple[str, ...]
    submitted: ClusterLoad | None = None
    started: ClusterLoad | None = None
    node: NodeLoad | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt as it was asked for and sized.

    request_bytes: the user's own, before sizing. limit_bytes: what the kernel enforced.
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
    """How many containers the pod has; a pod-level peak speaks for one only."""
    work: Work = UNKNOWN_WORK
    request_cores: float | None = None
    """CPU the user asked for; None if nothing."""
    allocated_cores: float | None = None
    """CPU request that it ran under; None if none."""
    request_memory_ran_bytes: int | None = None
    """Memory request that it ran under; None if none."""
    limit_cores: float | None = None
    """CPU limit that it ran under; None if none."""
    requested_s: float | None = None
    """Seconds that it may run at most; None if nobody said."""
    node_type: str | None = None
    """Of the node that it ran on; None if unknown."""


def observe(
    attempt: Attempt,
    status: AttemptStatus,
    outcome: Outcome,
    peak: PeakReport | None,
    surroundings: Surroundings | None,
) -> Observation:
    """The attempt's observation. peak, surroundings: None where nobody measured or looked."""
    return Observation(
        attempt_uid=status.attempt_uid,
        task=attempt.task,
        run=attempt.run,
        attempt=attempt.number,
        features=dict(attempt.features),
        outcome=outcome,
        request_bytes=attempt.request_bytes,
        allocation_bytes=attempt.limit_bytes,
        submitted_s=status.submitted_s,
        started_s=status.started_s,
        finished_s=status.finished_s,
        node=status.node,
        node_type=attempt.node_type,
        image=attempt.image,
        exit_code=status.terminated.exit_code if status.terminated else None,
        model_version=attempt.model_version,
        request_cores=attempt.request_cores,
        allocated_cores=attempt.allocated_cores,
        request_memory_ran_bytes=attempt.request_memory_ran_bytes,
        limit_cores=attempt.limit_cores,
        requested_s=attempt.requested_s,
        workflow_run=attempt.work.run,
        item=attempt.work.item,
        **_measured(peak, status.finished_s),
        **_among(surroundings),
    )


def with_peak(observation: Observation, peak: PeakReport) -> Observation:
    """The same attempt, with a peak that came later."""
    return replace(observation, **_measured(peak, observation.finished_s))


def _measured(peak: PeakReport | None, finished_s: float | None) -> dict[str, Any]:
    if peak is None or not _saw_the_end(peak, finished_s):
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
    """Whether nothing could have come after it: half a run would teach too small a need."""
    return peak.final and (finished_s is None or peak.measured_s >= finished_s - END_SEEN_WITHIN_S)


def _among(surroundings: Surroundings | None) -> dict[str, Any]:
    if surroundings is None:
        return {}
    return {
        "node_memory_bytes": surroundings.memory_bytes,
        "node_cpu": surroundings.cpu,
        "neighbours": surroundings.neighbours,
        **_loads(surroundings),
    }


def _loads(surroundings: Surroundings) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if (submitted := surroundings.submitted) is not None:
        found |= {
            "submitted_memory_share": submitted.memory_share,
            "submitted_cpu_share": submitted.cpu_share,
            "submitted_waiting_pods": submitted.waiting_pods,
        }
    if (started := surroundings.started) is not None:
        found |= {
            "cluster_memory_share": started.memory_share,
            "cluster_cpu_share": started.cpu_share,
            "waiting_pods": started.waiting_pods,
        }
    if (node := surroundings.node) is not None:
        found |= {"node_memory_share": node.memory_share, "node_cpu_share": node.cpu_share}
    return found
