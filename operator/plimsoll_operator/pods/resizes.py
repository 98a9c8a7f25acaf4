"""Reads what a pod's spec and status say of the resizes of its containers in place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from plimsoll_operator.names.objects import Pod, conditions_in, mapping, metadata_of, sequence
from plimsoll_operator.names.quantity import BadQuantity, parse_bytes

RESTART: Final = "RestartContainer"
PENDING: Final = "PodResizePending"
IN_PROGRESS: Final = "PodResizeInProgress"


def restarts_when_resized(container: Mapping[str, Any]) -> bool:
    """Say whether a container's ``resizePolicy`` restarts it when its memory is resized."""
    return any(
        mapping(rule).get("resourceName") == "memory"
        and mapping(rule).get("restartPolicy") == RESTART
        for rule in sequence(container.get("resizePolicy"))
    )


def granted_memory(pod: Pod, container: str, kind: str) -> int | None:
    """Return a container's memory as its node has set it; None if its status has none.

    kind: "requests" or "limits".
    """
    amounts = mapping(mapping(_status(pod, container).get("resources")).get(kind))
    try:
        return parse_bytes(amounts.get("memory"))
    except BadQuantity:
        return None


def is_running(pod: Pod, container: str) -> bool:
    """Say whether a container runs, by its pod's status."""
    return bool(mapping(_status(pod, container).get("state")).get("running"))


def is_being_resized(pod: Pod) -> bool:
    """Say whether a resize is under way, or waits for its node; whatever the condition says."""
    return any(each.get("type") in (PENDING, IN_PROGRESS) for each in conditions_in(pod))


def failed_resize(pod: Pod) -> str | None:
    """Return why the node could not carry out the latest resize, in its words; None if it could.

    The node repeats these words until it has carried out another resize.
    """
    for each in conditions_in(pod):
        if _holds(each) and each.get("type") == IN_PROGRESS and each.get("reason") == "Error":
            return str(each.get("message") or "")
    return None


def refusal(pod: Pod, failed_before: str | None = None) -> str | None:
    """Say why the node does not grant a resize: Deferred, Infeasible, or an error; else None.

    A condition may be older than the resize. It is, where it observed an earlier generation of the
    pod, which Kubernetes says from 1.34 on. failed_before: as ``failed_resize`` was just before
    the resize: the same words say nothing of it.
    """
    generation = metadata_of(pod).get("generation")
    for each in conditions_in(pod):
        if not _holds(each) or _is_older(each.get("observedGeneration"), generation):
            continue
        reason = str(each.get("reason") or "")
        if each.get("type") == PENDING and reason in ("Deferred", "Infeasible"):
            return reason
        failed = each.get("type") == IN_PROGRESS and reason == "Error"
        if failed and failed_resize(pod) != failed_before:
            return reason
    return None


def _status(pod: Pod, container: str) -> Mapping[str, Any]:
    statuses = map(mapping, sequence(mapping(pod.get("status")).get("containerStatuses")))
    return next((status for status in statuses if status.get("name") == container), {})


def _is_older(observed: object, generation: object) -> bool:
    return isinstance(observed, int) and isinstance(generation, int) and observed < generation


def _holds(condition: Mapping[str, Any]) -> bool:
    return condition.get("status") == "True"
