"""The truth table says how an attempt ended.

| reason    | exit | the pod                    | outcome    | why                              |
|-----------|------|----------------------------|------------|----------------------------------|
| OOMKilled | 137  |                            | oom-killed | the kernel killed the main process |
| OOMKilled | 0, n |                            | oom-killed | a child was killed               |
| OOMKilled | any  | no limit                   | evicted    | the node ran out, not the task   |
| OOMKilled | any  | kernel peak far from limit | evicted    | the node ran out, not the task   |
| any       | any  | Evicted, preempted, lost   | evicted    | the node or the scheduler did it |
| any       | any  | was deleted before its end | deleted    | however it answered SIGTERM      |
| Completed | 0    |                            | succeeded  |                                  |
| Error     | 137  |                            | failed     | SIGKILL from outside: unknown    |
| Error     | 3    |                            | failed     | a JVM's own way out              |
| Error     | 52   |                            | failed     | Spark's own way out              |
| Error     | n    |                            | failed     | its own mistake                  |
"""

from __future__ import annotations

from dataclasses import dataclass

from plimsoll_operator.pods.status import AttemptStatus
from plimsoll_predictor.core.record import Outcome

NODE_REASONS = frozenset(
    {
        *("Evicted", "NodeAffinity", "NodeLost", "NodeShutdown", "Preempted", "Preempting"),
        *("Shutdown", "Terminated"),
    }
)
"""``status.reason`` of pods that their node or the scheduler ended."""

FAR_FROM_LIMIT = 0.8
"""An OOM kill with a kernel peak below this share of the limit has another cause than the limit."""

OWN_EXITS = {
    3: "exit 3: a JVM that ended itself on OutOfMemoryError; its heap, not the pod, was too small",
    52: "exit 52: a Spark executor that ended itself on OutOfMemoryError",
    137: "exit 137 without OOMKilled: killed from outside; nothing is known of its need",
}


@dataclass(frozen=True, slots=True)
class AttemptEnd:
    """The end of an attempt, in one word and one sentence."""

    outcome: Outcome
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """The signs of an attempt's end, from its pod or from a Prometheus' past.

    phase, pod_reason: of the pod. disruption: what in the cluster ended it; None if nothing did.
    reason, exit_code, limit_bytes: of the sized container; None if unknown, or if unlimited.
    kernel_peak_bytes: the kernel's own final peak; None if not (yet) measured.
    """

    phase: str | None
    pod_reason: str | None = None
    disruption: str | None = None
    taken_away: bool = False
    reason: str | None = None
    exit_code: int | None = None
    limit_bytes: int | None = None
    kernel_peak_bytes: int | None = None


def judge(
    status: AttemptStatus, limit_bytes: int | None, kernel_peak_bytes: int | None = None
) -> AttemptEnd | None:
    """Judge the end of a pod's attempt; None while it has not ended. Amounts: see ``End``."""
    if not status.ended:
        if status.being_deleted and status.disruption is not None:
            return AttemptEnd(Outcome.EVICTED, f"ended by the cluster ({status.disruption})")
        return None
    terminated = status.terminated
    return judge_end(
        End(
            phase=status.phase,
            pod_reason=status.pod_reason,
            disruption=status.disruption,
            taken_away=status.taken_away,
            reason=None if terminated is None else terminated.reason,
            exit_code=None if terminated is None else terminated.exit_code,
            limit_bytes=limit_bytes,
            kernel_peak_bytes=kernel_peak_bytes,
        )
    )


def judge_end(end: End) -> AttemptEnd:
    """Judge the end of an attempt by the table."""
    if end.reason == "OOMKilled":
        return _oom(end)
    if end.pod_reason in NODE_REASONS or end.disruption is not None:
        cause = end.disruption or end.pod_reason
        return AttemptEnd(Outcome.EVICTED, f"ended by the cluster ({cause}), not by itself")
    if end.taken_away:
        # Many tasks answer SIGTERM with exit 0, after half their work and half their need.
        return AttemptEnd(Outcome.DELETED, "deleted before it ended")
    if end.exit_code is None:
        if end.phase == "Succeeded":
            return AttemptEnd(Outcome.SUCCEEDED, "completed")
        return AttemptEnd(Outcome.FAILED, end.pod_reason or "failed before its container started")
    if end.exit_code == 0:
        return AttemptEnd(Outcome.SUCCEEDED, "completed")
    return AttemptEnd(
        Outcome.FAILED,
        OWN_EXITS.get(end.exit_code, f"failed by itself with exit {end.exit_code}"),
    )


def _oom(end: End) -> AttemptEnd:
    if end.limit_bytes is None:
        return AttemptEnd(Outcome.EVICTED, "OOM-killed without a limit: the node ran out of memory")
    peak_bytes = end.kernel_peak_bytes
    if peak_bytes is not None and peak_bytes < FAR_FROM_LIMIT * end.limit_bytes:
        return AttemptEnd(
            Outcome.EVICTED, "OOM-killed far below its limit: the node ran out of memory"
        )
    if end.exit_code in (None, 137):
        return AttemptEnd(Outcome.OOM_KILLED, "the kernel killed it at its limit")
    return AttemptEnd(
        Outcome.OOM_KILLED,
        f"the kernel killed a child at the limit; it ended with exit {end.exit_code}",
    )
