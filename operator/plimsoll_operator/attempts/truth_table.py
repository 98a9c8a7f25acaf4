"""The truth table: how an attempt ended, and why, for watched pods and for the past.

| reason     | exit | the pod, its memory, its words     | outcome    | cause                      |
|------------|------|------------------------------------|------------|----------------------------|
| OOMKilled  | any  | no limit                           | evicted    | node-pressure              |
| OOMKilled  | any  | kernel peak far from limit         | evicted    | node-pressure              |
| OOMKilled  | 137  |                                    | oom-killed | own-limit                  |
| OOMKilled  | 0, n |                                    | oom-killed | child                      |
| StartError | any  | says that the limit is too low     | oom-killed | own-limit                  |
| any        | any  | Evicted, for its node's memory     | evicted    | node-pressure              |
| any        | any  | Evicted, preempted, lost           | evicted    | by the reason              |
| any        | any  | its activeDeadlineSeconds are over | failed     | deadline                   |
| any        | any  | was deleted before its end         | deleted    | deleted                    |
| any        | any  | reason ContainerStatusUnknown      | evicted    | node-lost                  |
| Completed  | 0    |                                    | succeeded  |                            |
| none       | none | failed                             | failed     | never-started              |
| StartError | any  |                                    | failed     | never-started              |
| Error      | n    | says that a GPU's memory was full  | failed     | cuda                       |
| Error      | 137  | last reading near the limit        | oom-killed | near-limit                 |
| Error      | n    | says that its own memory was full  | failed     | jvm, spark ... allocation  |
| Error      | 3    |                                    | failed     | jvm                        |
| Error      | 52   |                                    | failed     | spark                      |
| Error      | 137  |                                    | failed     | killed                     |
| Error      | n    |                                    | failed     | own-mistake                |

The first row that fits counts. A past may lack some signs (exit codes, words); then a later row
fits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from plimsoll_operator.attempts.termination_messages import cause_said, limit_stopped_start
from plimsoll_operator.pods.status import NOT_FOUND, AttemptStatus
from plimsoll_operator.wording.cause_words import words_for_cause
from plimsoll_predictor.core.record import Cause, Observation, Outcome

CLUSTER_REASONS: Final = {
    # ``status.reason`` of pods that their node or the scheduler ended.
    "Evicted": Cause.EVICTED,
    "NodeAffinity": Cause.NODE_LOST,
    "NodeLost": Cause.NODE_LOST,
    "NodeShutdown": Cause.NODE_LOST,
    "Shutdown": Cause.NODE_LOST,
    "Terminated": Cause.NODE_LOST,
    "Preempted": Cause.PREEMPTED,
    "Preempting": Cause.PREEMPTED,
    # Reasons of the condition DisruptionTarget; any other one counts as an eviction.
    "DeletionByPodGC": Cause.NODE_LOST,
    "PreemptionByKubeScheduler": Cause.PREEMPTED,
    "PreemptionByScheduler": Cause.PREEMPTED,
    "DeletionByTaintManager": Cause.EVICTED,
    "EvictionByEvictionAPI": Cause.EVICTED,
    "TerminationByKubelet": Cause.EVICTED,
}
DEADLINE: Final = "DeadlineExceeded"
"""``status.reason`` of a pod whose activeDeadlineSeconds were over."""
OOM_KILLED: Final = "OOMKilled"
COMPLETED: Final = "Completed"
START_ERRORS: Final = frozenset({"StartError", "ContainerCannotRun"})
"""Reasons of a container whose program never ran."""
SIGKILLED: Final = 137

FAR_FROM_LIMIT: Final = 0.8
"""An OOM kill with a kernel peak below this share of the limit has another cause than the limit."""
NEAR_LIMIT: Final = 0.9
"""SIGKILL after a reading of at least this share of the limit counts as caused by the limit."""
_OF_MEMORY: Final = "low on resource: memory"
"""In the kubelet's message if it evicted for lack of memory, not, for example, of disk."""

_OWN_EXITS: Final = {
    3: (
        Cause.JVM,
        "exit 3: a JVM that ended itself on OutOfMemoryError; its heap, not the pod, was too small",
    ),
    52: (Cause.SPARK, "exit 52: a Spark executor that ended itself on OutOfMemoryError"),
    SIGKILLED: (
        Cause.KILLED,
        "exit 137 without OOMKilled: killed from outside; nothing is known of its need",
    ),
}


_NEAR: Final = "SIGKILL with its last reading near the limit"


@dataclass(frozen=True, slots=True)
class AttemptEnd:
    """The end of an attempt: in one word, in one sentence, and why; None if it succeeded."""

    outcome: Outcome
    why: str
    cause: Cause | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Readings:
    """What is known about an attempt's memory when its end is judged; None if unknown.

    final_kernel_bytes: the kernel's own peak, read after the end, so that it grows no more.
    seen_bytes: the highest need seen so far; without page cache if possible.
    """

    final_kernel_bytes: int | None = None
    seen_bytes: int | None = None


UNREAD: Final = Readings()


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """The signs of an attempt's end, from its pod, from Prometheus or from a history file.

    phase, pod_reason, pod_message: of the pod. disruption: what in the cluster ended it; None if
        nothing did.
    reason, exit_code, message, limit_bytes: of the sized container; None if unknown, or unlimited.
    started: whether the container is known to have run.
    """

    phase: str | None
    pod_reason: str | None = None
    pod_message: str = ""
    disruption: str | None = None
    taken_away: bool = False
    reason: str | None = None
    exit_code: int | None = None
    message: str = ""
    started: bool = False
    limit_bytes: int | None = None
    readings: Readings = UNREAD


def judge(
    status: AttemptStatus, limit_bytes: int | None, readings: Readings = UNREAD
) -> AttemptEnd | None:
    """Judge the end of a pod's attempt; None while it has not ended. Amounts: see ``End``."""
    terminated = status.terminated
    if not status.ended and not (status.being_deleted and status.disruption is not None):
        return None
    return judge_end(
        End(
            phase=status.phase,
            pod_reason=status.pod_reason,
            pod_message=status.pod_message,
            disruption=status.disruption,
            taken_away=status.taken_away,
            reason=None if terminated is None else terminated.reason,
            exit_code=None if terminated is None else terminated.exit_code,
            message="" if terminated is None else terminated.message,
            started=status.started_s is not None,
            limit_bytes=limit_bytes,
            readings=readings,
        )
    )


def judge_row(row: Observation) -> AttemptEnd:
    """Judge the end of a row of a history file, which has the outcome and may have the cause."""
    said = row.outcome
    if row.cause is not None:
        return _end(row.cause)
    end = judge_end(
        End(
            phase="Succeeded" if said is Outcome.SUCCEEDED else "Failed",
            pod_reason="Evicted" if said is Outcome.EVICTED else None,
            taken_away=said is Outcome.DELETED,
            reason=OOM_KILLED if said is Outcome.OOM_KILLED else None,
            exit_code=None if said is Outcome.SUCCEEDED else row.exit_code,
            started=True,
            limit_bytes=row.allocation_bytes,
            readings=Readings(seen_bytes=row.peak_bytes),
        )
    )
    # For example a deadline that its program answered with exit 0.
    return _end(Cause.OWN_MISTAKE) if end.cause is None and said is Outcome.FAILED else end


def judge_late_reading(row: Observation, seen_bytes: int) -> AttemptEnd | None:
    """Judge again a SIGKILL that came before the last reading; None if that changes nothing."""
    if row.cause is not Cause.KILLED or not _is_near(seen_bytes, row.allocation_bytes):
        return None
    return _end(Cause.NEAR_LIMIT, _NEAR)


def judge_end(end: End) -> AttemptEnd:
    """Judge the end of an attempt by the table."""
    if end.reason == OOM_KILLED:
        return _oom(end)
    if end.reason in START_ERRORS and end.limit_bytes and limit_stopped_start(end.message):
        return _end(Cause.OWN_LIMIT, "its limit was too small for the container to start")
    return _by_cluster(end) or _by_itself(end)


def _oom(end: End) -> AttemptEnd:
    if end.limit_bytes is None:
        return _end(Cause.NODE_PRESSURE, "OOM-killed without a limit: the node ran out of memory")
    peak_bytes = end.readings.final_kernel_bytes
    if peak_bytes is not None and peak_bytes < FAR_FROM_LIMIT * end.limit_bytes:
        why = "OOM-killed far below its limit: the node ran out of memory"
        return _end(Cause.NODE_PRESSURE, why)
    if end.exit_code in (None, SIGKILLED):
        return _end(Cause.OWN_LIMIT, "the kernel killed it at its limit")
    why = f"the kernel killed a child at the limit; it ended with exit {end.exit_code}"
    return _end(Cause.CHILD, why)


def _by_cluster(end: End) -> AttemptEnd | None:
    if end.pod_reason in CLUSTER_REASONS or end.disruption is not None:
        cause = CLUSTER_REASONS.get(end.pod_reason or "") or CLUSTER_REASONS.get(
            end.disruption or "", Cause.EVICTED
        )
        if cause is Cause.EVICTED and _OF_MEMORY in end.pod_message:
            cause = Cause.NODE_PRESSURE
        said = end.disruption or end.pod_reason
        return _end(cause, f"ended by the cluster ({said}), not by itself")
    if DEADLINE in (end.pod_reason, end.reason):
        return _end(Cause.DEADLINE, "stopped at its activeDeadlineSeconds")
    if end.taken_away:
        # Many tasks answer SIGTERM with exit 0, after half their work and half their need.
        return _end(Cause.DELETED)
    if end.reason == NOT_FOUND:
        # The kubelet makes up the exit code of a SIGKILL, too.
        return _end(Cause.NODE_LOST, "its kubelet did not find its container any more")
    return None


def _by_itself(end: End) -> AttemptEnd:
    exit_code = end.exit_code
    if exit_code is None and end.reason == COMPLETED:
        exit_code = 0
    if exit_code == 0 or (exit_code is None and end.phase == "Succeeded"):
        return AttemptEnd(Outcome.SUCCEEDED, "completed", None)
    if end.reason in START_ERRORS or (exit_code is None and not (end.reason or end.started)):
        return _end(Cause.NEVER_STARTED, end.pod_reason or "failed before its container started")
    said = cause_said(end.message)
    if said is Cause.CUDA:
        return _end(said, f"{words_for_cause(said)}; more memory of the host would not help")
    if exit_code == SIGKILLED and _was_near_limit(end):
        return _end(Cause.NEAR_LIMIT, _NEAR)
    if said is not None:
        return _end(said, f"{words_for_cause(said)}: it said so and ended itself")
    if exit_code in _OWN_EXITS:
        return _end(*_OWN_EXITS[exit_code])
    how = "" if exit_code is None else f" with exit {exit_code}"
    return _end(Cause.OWN_MISTAKE, f"{words_for_cause(Cause.OWN_MISTAKE)}{how}")


def _was_near_limit(end: End) -> bool:
    seen_bytes = end.readings.seen_bytes
    if seen_bytes is None:
        seen_bytes = end.readings.final_kernel_bytes
    return _is_near(seen_bytes, end.limit_bytes)


def _is_near(seen_bytes: int | None, limit_bytes: int | None) -> bool:
    return bool(seen_bytes and limit_bytes and seen_bytes >= NEAR_LIMIT * limit_bytes)


def _end(cause: Cause, why: str | None = None) -> AttemptEnd:
    return AttemptEnd(cause.outcome, why or words_for_cause(cause), cause)
