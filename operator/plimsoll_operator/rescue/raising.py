"""How a running pod's memory is changed: the most that it may get, and the patch."""

from __future__ import annotations

from typing import Any

from plimsoll_operator.names.quantity import format_bytes
from plimsoll_operator.pods.spec import Pod, SizedContainer, metadata_of, other_memory_bytes
from plimsoll_operator.sizing.bounds.caps import PodAmounts, bounds_for
from plimsoll_operator.sizing.bounds.namespaces import NamespaceBounds
from plimsoll_operator.sizing.bounds.nodes import NO_NODES
from plimsoll_operator.sizing.patch import Memory
from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.deciding.clamping import Range


def most_bytes(
    pod: Pod, container: SizedContainer, written: Memory, policy: Policy, namespace: NamespaceBounds
) -> int:
    """Return the largest limit that policy, LimitRange and quota allow its container.

    written: its request and limit as their author wrote them. If a quota counts the pod, these are
    the most: another pod would lack whatever this one takes above them.
    """
    other_request, other_limit = other_memory_bytes(pod, container)
    amounts = PodAmounts(
        request=written.request_bytes,
        limit=written.limit_bytes,
        other_request=other_request,
        other_limit=other_limit,
    )
    bounds = bounds_for(pod, amounts, namespace, NO_NODES)
    return Range.of(policy, bounds, written.request_bytes).lift(2**50)


def with_limit(container: SizedContainer, limit_bytes: int) -> Memory:
    """Return request and limit at a new limit: both change alike, so the class stays.

    The scheduler and the kubelet count what a raise adds, so no neighbour loses what it requested.

    >>> with_limit(SizedContainer(0, "main", 100, 100), 120)
    Memory(request_bytes=120, limit_bytes=120)
    >>> with_limit(SizedContainer(0, "main", 60, 100), 120)
    Memory(request_bytes=80, limit_bytes=120)
    >>> with_limit(SizedContainer(0, "main", 80, 120), 100)
    Memory(request_bytes=60, limit_bytes=100)
    """
    added = limit_bytes - (container.limit_bytes or 0)
    return Memory((container.request_bytes or 0) + added, limit_bytes)


def resize_body_by_uid(pod: Pod, container: str, memory: Memory) -> dict[str, Any]:
    """Return the strategic merge patch of the ``resize`` subresource.

    It names the pod's UID and no version: it must not fail because a status changed, and it must
    not change another pod of the same name.
    """
    assert memory.request_bytes is not None
    assert memory.limit_bytes is not None
    resources = {
        "requests": {"memory": format_bytes(memory.request_bytes)},
        "limits": {"memory": format_bytes(memory.limit_bytes)},
    }
    return {
        "metadata": {"uid": metadata_of(pod).get("uid")},
        "spec": {"containers": [{"name": container, "resources": resources}]},
    }
