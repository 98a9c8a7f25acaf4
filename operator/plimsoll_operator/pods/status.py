"""Reads the state of an attempt from its pod's status."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from plimsoll_operator.pods.spec import EMPTY, Pod, conditions_in, mapping

DISRUPTION_TARGET = "DisruptionTarget"
"""The condition of a pod that was ended by something other than itself (KEP-3329)."""
FINAL_PHASES: Final = ("Succeeded", "Failed")
"""A pod never leaves these phases. It runs nothing more, and takes no room on its node."""
NOT_FINAL: Final = ",".join(f"status.phase!={phase}" for phase in FINAL_PHASES)
"""Selects the pods in other phases, as a field selector."""
SCHEDULED: Final = "PodScheduled"
"""The condition by which a scheduler says whether it found a node."""
SIGNALLED: Final = 128
"""The exit code of a program that a signal ended is this plus the signal's number."""
NOT_FOUND: Final = "ContainerStatusUnknown"
"""The reason that a kubelet makes up for a container that it cannot find any more."""
MAX_MESSAGE: Final = 4096
"""The kubelet keeps no more of a termination message; others may write a longer one."""


@dataclass(frozen=True, slots=True)
class Termination:
    """The end of one container.

    exit_code: 128 plus the signal's number if only the signal is known.
    message: the end of its termination message, at most MAX_MESSAGE characters: the file that it
        wrote, or its last lines of log.
    """

    reason: str
    exit_code: int
    started_s: float | None
    finished_s: float | None
    container_id: str | None
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptStatus:
    """One attempt as the API server shows it.

    restarts: of the sized container; each restart is an attempt.
    terminated: the end of the sized container's current or last life; None while it lives.
    ended: whether the attempt is over.
    deletion_s: the time of the request to delete it; None if there was none.
    pod_message: why its node or the scheduler ended it; at most MAX_MESSAGE characters.
    """

    uid: str
    phase: str
    pod_reason: str | None
    disruption: str | None
    restarts: int
    ended: bool
    terminated: Termination | None
    container_id: str | None
    submitted_s: float | None
    started_s: float | None
    finished_s: float | None
    node: str | None
    being_deleted: bool
    deletion_s: float | None = None
    pod_message: str = ""

    @property
    def has_final_phase(self) -> bool:
        """Say whether the pod's phase is final; the attempt may have ended before."""
        return self.phase in FINAL_PHASES

    @property
    def taken_away(self) -> bool:
        """Say whether a deletion ended it.

        Both times are whole seconds; within the same second, the deletion counts as the cause.
        """
        if self.deletion_s is None:
            return False
        return self.finished_s is None or self.finished_s >= self.deletion_s

    @property
    def attempt_uid(self) -> str:
        """Return the pod's UID; with the restart's number after an in-place restart."""
        return self.uid if self.restarts == 0 else f"{self.uid}/{self.restarts}"


def pod_uid(attempt_uid: str) -> str:
    """Return the UID of an attempt's pod.

    >>> pod_uid("6f1c2a8e/1")
    '6f1c2a8e'
    """
    return attempt_uid.partition("/")[0]


def has_final_phase(pod: Pod) -> bool:
    """Say whether the pod's phase is final. Its containers may have ended a little before."""
    return mapping(pod.get("status")).get("phase") in FINAL_PHASES


def unscheduled(pod: Pod) -> Mapping[str, Any]:
    """Return the condition that says why no node was found; empty if none says so."""
    for each in conditions_in(pod):
        if each.get("type") == SCHEDULED and each.get("status") == "False":
            return each
    return EMPTY


def read_time(text: object) -> float | None:
    """Read RFC 3339 as Unix seconds; None for absent or unreadable text.

    1970 and the year 1 are times that nobody set: containerd writes the first as the start of a
    container that it could not start.

    >>> read_time("2026-01-01T00:01:00.500000Z"), read_time(None)
    (1767225660.5, None)
    """
    if not isinstance(text, str):
        return None
    try:
        at_s = datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None
    return at_s if at_s > 0 else None


def read_status(pod: Pod, container: str) -> AttemptStatus:
    """Return the current attempt of the container named ``container`` in ``pod``."""
    return _read(pod, _container_status(pod, container))


def last_life(pod: Pod, container: str) -> AttemptStatus | None:
    """Return the life before the current one, after an in-place restart; None if there was none.

    The current one may have ended, too. What ended the pod ended only that one.
    """
    status = _container_status(pod, container)
    restarts = int(status.get("restartCount") or 0)
    state, ended = status.get("state") or {}, (status.get("lastState") or {}).get("terminated")
    if restarts == 0 or not ended or not (state.get("running") or state.get("terminated")):
        return None
    if _is_told_twice(status):
        return None
    earlier = dict(
        status,
        restartCount=restarts - 1,
        state={"terminated": ended},
        lastState=None,
        containerID=ended.get("containerID"),
    )
    life = _read(pod, earlier)
    return replace(life, pod_reason=None, disruption=None, pod_message="")


def _read(pod: Pod, status: Mapping[str, Any]) -> AttemptStatus:
    meta, pod_status = pod.get("metadata") or {}, pod.get("status") or {}
    state = status.get("state") or {}
    terminated = _termination(state.get("terminated") or _before_restart(status))
    phase = str(pod_status.get("phase") or "Pending")
    running_since = read_time((state.get("running") or {}).get("startedAt"))
    return AttemptStatus(
        uid=str(meta.get("uid") or ""),
        phase=phase,
        pod_reason=pod_status.get("reason"),
        disruption=_disruption(pod_status),
        restarts=_restarts(status),
        ended=phase in FINAL_PHASES or terminated is not None,
        terminated=terminated,
        container_id=_bare_id(status.get("containerID"))
        or (terminated.container_id if terminated else None),
        submitted_s=read_time(meta.get("creationTimestamp")),
        started_s=terminated.started_s if terminated else running_since,
        finished_s=terminated.finished_s if terminated else None,
        node=(pod.get("spec") or {}).get("nodeName"),
        being_deleted=bool(meta.get("deletionTimestamp")),
        deletion_s=_deletion_s(meta),
        pod_message=_bounded(pod_status.get("message")),
    )


def _deletion_s(meta: Mapping[str, Any]) -> float | None:
    """Return when deletion was requested; ``deletionTimestamp`` is later by the grace period."""
    by_s = read_time(meta.get("deletionTimestamp"))
    return None if by_s is None else by_s - float(meta.get("deletionGracePeriodSeconds") or 0)


def _container_status(pod: Pod, container: str) -> Mapping[str, Any]:
    statuses: list[dict[str, Any]] = (pod.get("status") or {}).get("containerStatuses") or []
    return next((status for status in statuses if status.get("name") == container), {})


def _restarts(status: Mapping[str, Any]) -> int:
    """Return how often the container had restarted before the present life or end.

    If a kubelet finds no container, it counts the restart together with the end that it makes up.
    """
    restarts = int(status.get("restartCount") or 0)
    return max(0, restarts - 1) if _is_told_twice(status) else restarts


def _is_told_twice(status: Mapping[str, Any]) -> bool:
    """Say whether a container that was not found has not run since: its last life is this one."""
    state, last = status.get("state") or {}, status.get("lastState") or {}
    if (last.get("terminated") or {}).get("reason") != NOT_FOUND:
        return False
    return bool(state.get("waiting")) or (state.get("terminated") or {}).get("reason") == NOT_FOUND


def _before_restart(status: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the life that ended, while its restart still waits (CrashLoopBackOff)."""
    waits = (status.get("state") or {}).get("waiting")
    return (status.get("lastState") or {}).get("terminated") if waits else None


def _termination(data: Mapping[str, Any] | None) -> Termination | None:
    if not data:
        return None
    return Termination(
        reason=str(data.get("reason") or ""),
        exit_code=_exit_code(data),
        started_s=read_time(data.get("startedAt")),
        finished_s=read_time(data.get("finishedAt")),
        container_id=_bare_id(data.get("containerID")),
        message=_bounded(data.get("message")),
    )


def _exit_code(data: Mapping[str, Any]) -> int:
    signal = int(data.get("signal") or 0)
    return int(data.get("exitCode") or 0) or (SIGNALLED + signal if signal else 0)


def _bounded(message: object) -> str:
    """Return the end of a message: what a program wrote last says what ended it."""
    return message[-MAX_MESSAGE:] if isinstance(message, str) else ""


def _disruption(pod_status: Mapping[str, Any]) -> str | None:
    for condition in pod_status.get("conditions") or []:
        if condition.get("type") == DISRUPTION_TARGET and condition.get("status") == "True":
            return str(condition.get("reason") or DISRUPTION_TARGET)
    return None


def _bare_id(container_id: str | None) -> str | None:
    """Return ``abc`` of ``containerd://abc``."""
    return container_id.rpartition("//")[2] or None if container_id else None
