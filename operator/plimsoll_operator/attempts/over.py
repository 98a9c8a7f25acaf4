"""Says whether a pod is over before its phase says so, and whether its result is known. Pure.

A kubelet first writes that the containers have ended, then takes the pod down, and a second or so
later it writes that the pod has failed. Meanwhile nothing in it runs, and nothing can start again.
Only then does it write why: that it evicted the pod, that its node shuts down, or that the pod's
deadline is over.

Kueue uses the phase: until then the pod holds its quota, and its next attempt would be one too
many in its group, and be deleted. The kubelet goes by the phase, too, where the author names the
node: until then it counts the pod as running there, and refuses for good a next one that does not
fit beside it.
"""

from __future__ import annotations

from typing import Any, Final

from plimsoll_operator.attempts.truth_table import OOM_KILLED, START_ERRORS
from plimsoll_operator.pods.creation import author_chose_node
from plimsoll_operator.pods.identity import Retrier
from plimsoll_operator.pods.queue_managers import is_counted_by_kueue
from plimsoll_operator.pods.spec import (
    Pod,
    RestartPolicy,
    conditions_in,
    mapping,
    restart_policy,
    sequence,
    spec_of,
)
from plimsoll_operator.pods.status import (
    DISRUPTION_TARGET,
    SCHEDULED,
    AttemptStatus,
    has_final_phase,
    read_time,
)

_STATUSES: Final = "containerStatuses"
_LISTS: Final = {
    "containers": _STATUSES,
    "initContainers": "initContainerStatuses",
    "ephemeralContainers": "ephemeralContainerStatuses",
}
"""Containers in a spec, and their states in a status."""
_FINAL_REASONS: Final = START_ERRORS | {OOM_KILLED}
_ANSWERS_TO_SIGTERM: Final = (0, 143)
"""Exit codes of a program that saves its work, and of one that does nothing about it."""


def is_over(pod: Pod) -> bool:
    """Say whether no container of a pod runs, and none is ever started again.

    >>> ended = {"name": "main", "state": {"terminated": {"exitCode": 137}}}
    >>> is_over({"spec": {"restartPolicy": "Never", "containers": [{"name": "main"}]},
    ...          "status": {"phase": "Running", "containerStatuses": [ended]}})
    True
    """
    if has_final_phase(pod):
        return True
    if restart_policy(pod) is not RestartPolicy.NEVER:
        return False
    if is_counted_by_kueue(pod) or author_chose_node(pod):
        return False
    return _all_have_ended(pod)


def waits_for_its_reason(pod: Pod, status: AttemptStatus, retrier: Retrier) -> bool:
    """Say whether the pod's next state tells why its present attempt ended.

    That is its phase, or a restart of its container. Meanwhile an eviction looks like a success, a
    failure by itself or a kill, whatever the program answers to SIGTERM. A deletion is known
    beforehand, and no later state changes a kill at the limit or a failed start.

    An engine may make the next pod before the phase is final, as Tekton does, and that pod needs
    its lift. Of an engine's pods only those wait that ended as programs mostly answer SIGTERM.

    >>> from plimsoll_operator.pods.status import read_status
    >>> ended = {"name": "main", "state": {"terminated": {"reason": "Completed", "exitCode": 0}}}
    >>> pod = {"spec": {"containers": [{"name": "main"}]},
    ...        "status": {"phase": "Running", "containerStatuses": [ended]}}
    >>> waits_for_its_reason(pod, read_status(pod, "main"), Retrier.JOB)
    True
    """
    ended = status.terminated
    if status.has_final_phase or status.being_deleted or ended is None:
        return False
    if retrier is Retrier.ENGINE and ended.exit_code not in _ANSWERS_TO_SIGTERM:
        return False
    return ended.reason not in _FINAL_REASONS and _all_have_ended(pod)


def is_decided(pod: Pod) -> bool:
    """Say whether a pod is over, and whether it succeeded is known, too.

    One whose containers all exited with 0 succeeds, or fails if its node evicts it: its phase says.

    >>> ended = {"name": "main", "state": {"terminated": {"exitCode": 0}}}
    >>> is_decided({"spec": {"restartPolicy": "Never", "containers": [{"name": "main"}]},
    ...             "status": {"phase": "Running", "containerStatuses": [ended]}})
    False
    """
    if has_final_phase(pod):
        return True
    status = mapping(pod.get("status"))
    states = (mapping(mapping(each).get("state")) for each in sequence(status.get(_STATUSES)))
    return is_over(pod) and any(mapping(each.get("terminated")).get("exitCode") for each in states)


def ended_s(pod: Pod, status: AttemptStatus) -> float | None:
    """Return when an attempt ended. None if unknown, and it may have ended just now."""
    if status.finished_s is not None or not status.has_final_phase:
        return status.finished_s
    return changed_s(pod)


def changed_s(pod: Pod) -> float | None:
    """Return when a pod was disrupted, else when it was last ready or not, else when it was bound.

    If the kubelet does not say when the containers ended, this is the best guess. None if unknown.
    """
    times = {
        str(each.get("type")): read_time(each.get("lastTransitionTime"))
        for each in conditions_in(pod)
    }
    found = (times.get(kind) for kind in (DISRUPTION_TARGET, "Ready", SCHEDULED))
    return next((time_s for time_s in found if time_s is not None), None)


def _all_have_ended(pod: Pod) -> bool:
    status = mapping(pod.get("status"))
    return all(
        _have_ended(sequence(spec_of(pod).get(listed)), sequence(status.get(shown)))
        for listed, shown in _LISTS.items()
    )


def _have_ended(containers: Any, statuses: Any) -> bool:
    ended = {
        mapping(each).get("name")
        for each in statuses
        if "terminated" in mapping(mapping(each).get("state"))
    }
    return all(mapping(each).get("name") in ended for each in containers)
