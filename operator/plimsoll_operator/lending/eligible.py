"""Says why a running pod may not lend, in words; None if it may."""

from __future__ import annotations

from plimsoll_operator.attempts.watched_pod import WatchedPod
from plimsoll_operator.pods.queue_managers import is_counted_by_kueue
from plimsoll_operator.pods.resizes import (
    granted_memory,
    is_being_resized,
    restarts_when_resized,
)
from plimsoll_operator.pods.spec import (
    Pod,
    Qos,
    SizedContainer,
    container_of,
    overhead_of,
    qos_of,
    sized_container,
)
from plimsoll_operator.policy.pod_policy import resolve_policy
from plimsoll_operator.sizing.bounds.namespaces import NamespaceBounds
from plimsoll_operator.sizing.patch import Memory, pod_with
from plimsoll_predictor.core.policy import Lending, Mode, Policy
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.knowledge.knowledge import Knowledge


def is_running(watched: WatchedPod) -> bool:
    """Say whether the pod's container runs, so that its memory is measured."""
    status = watched.status
    return (
        status.phase == "Running"
        and status.node is not None
        and status.started_s is not None
        and not status.ended
        and not status.being_deleted
    )


def why_not_by_pod(pod: Pod, watched: WatchedPod) -> str | None:
    """Say what in the pod itself forbids it; that changes only with the pod's events."""
    container = sized_container(pod)
    if not isinstance(container, SizedContainer) or not container.request_bytes:
        return "it has no memory request"
    lower = Memory(MIB, container.limit_bytes)
    against = {
        "it has no memory limit": not container.limit_bytes,
        "it is Guaranteed, which a lower request would change": qos_of(pod) is Qos.GUARANTEED,
        "a lower request would change its QoS class": qos_of(pod_with(pod, container, lower))
        is not qos_of(pod),
        "its resizePolicy restarts it when its memory is resized": restarts_when_resized(
            container_of(pod, container.index)
        ),
        "its RuntimeClass runs it in a sandbox": bool(overhead_of(pod)),
        "it was restarted in place": bool(watched.status.restarts),
        "it is not its run's first attempt": watched.attempts.number > 1,
        "Kueue counted it, and would delete it at another size": is_counted_by_kueue(pod),
        "it is being resized": is_being_resized(pod),
    }
    return next((why for why, holds in against.items() if holds), None)


def why_not_held(
    pod: Pod, watched: WatchedPod, policy: Policy, bounds: NamespaceBounds
) -> str | None:
    """Say why a pod must stop lending: what people have set against it by now.

    policy: the task's own. bounds: of the pod's namespace.
    """
    own, _ = resolve_policy(pod, policy)
    against = {
        "its policy's lending is never": own.lending is not Lending.AUTO,
        "its mode is not enforce": watched.mode_by(own.mode) is not Mode.ENFORCE,
        "it is critical": own.critical,
        "it is paused": own.paused,
        "a ResourceQuota on requests.memory could refuse to give it back": any(
            quota.request is not None for quota in bounds.quotas
        ),
    }
    return next((why for why, holds in against.items() if holds), None)


def is_known(knowledge: Knowledge) -> bool:
    """Say whether the need of a task is known, so that sizes save what lending would."""
    return knowledge.runs > 0 or knowledge.model is not None


def is_granted(pod: Pod, container: str, request_bytes: int) -> bool:
    """Say whether the node has granted a container's request, as its status shows it."""
    granted = granted_memory(pod, container, "requests")
    return granted is not None and granted >= request_bytes
