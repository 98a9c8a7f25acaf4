"""Says why a running pod may not be rescued, in words; None if it may."""

from __future__ import annotations

from plimsoll_operator.attempts.watched_pod import WatchedPod
from plimsoll_operator.names import labels
from plimsoll_operator.pods.queue_managers import is_counted_by_kueue
from plimsoll_operator.pods.resizes import restarts_when_resized
from plimsoll_operator.pods.spec import (
    Pod,
    SizedContainer,
    annotations_of,
    container_of,
    mapping,
    overhead_of,
    sequence,
    sized_container,
)
from plimsoll_operator.policy.pod_policy import resolve_policy
from plimsoll_predictor.core.policy import Mode, Policy, Rescue


def why_not(pod: Pod, watched: WatchedPod, policy: Policy, *, paused: bool) -> str | None:
    """Say why a pod may not be rescued.

    policy: its task's own, all levels resolved. paused: whether all sizing is paused.
    """
    container = sized_container(pod)
    if not isinstance(container, SizedContainer) or not container.limit_bytes:
        return "it has no memory limit"
    own, _ = resolve_policy(pod, policy)
    status = watched.status
    against = {
        "its policy's rescue is never": own.rescue is not Rescue.AUTO,
        "its mode is not enforce": watched.mode_by(own.mode) is not Mode.ENFORCE,
        "it is paused": paused or own.paused,
        # After a kill, the pod's own cgroup keeps its old limit: a killed pod is replaced.
        "it was restarted in place": bool(status.restarts),
        "it has ended": status.ended or status.being_deleted,
        "its resizePolicy restarts it when its memory is resized": restarts_when_resized(
            container_of(pod, container.index)
        ),
        "its RuntimeClass runs it in a sandbox": bool(overhead_of(pod)),
        "it lends memory": labels.LENT in annotations_of(pod),
        "Kueue counted it, and would delete it at another size": is_counted_by_kueue(pod),
    }
    return next((why for why, holds in against.items() if holds), None)


def is_of_another_container(pod: Pod, watched: WatchedPod, container_id: str) -> bool:
    """Say whether this is the ID of another container of the pod than the sized one."""
    own_id = watched.status.container_id
    if own_id is not None:
        return container_id != own_id
    # It has not started yet, as while its pod's init containers run.
    return container_id in other_containers(pod, watched.attempt.container)


def other_containers(pod: Pod, container: str) -> frozenset[str]:
    """Return the IDs of the pod's containers beside the sized one, without their scheme."""
    status = mapping(pod.get("status"))
    return frozenset(
        str(mapping(each).get("containerID") or "").rpartition("//")[2]
        for kind in ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
        for each in sequence(status.get(kind))
        if kind != "containerStatuses" or mapping(each).get("name") != container
    )
