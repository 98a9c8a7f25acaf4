"""Keeps a pod's quality-of-service class, whatever its size.

The class decides which pod is evicted first, which quotas count the pod, and whether the node's CPU
manager gives it processors of its own: a Guaranteed pod with whole CPUs is pinned to them. A class
that changes with a size would surprise everybody, so the size gives way.

https://kubernetes.io/docs/concepts/workloads/pods/pod-qos
"""

from __future__ import annotations

from plimsoll_operator.pods.spec import (
    Pod,
    Qos,
    SizedContainer,
    container_of,
    mapping,
    qos_of,
)
from plimsoll_operator.sizing.patch import Memory, pod_with
from plimsoll_predictor.core.policy import Limits
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.deciding.cpu import CpuAsk


def limits_in_class(written: Pod, container: SizedContainer, was: Memory, limits: Limits) -> Limits:
    """Return how a size sets the limit: as the policy says, unless that changes the class.

    written: the pod as its author wrote it, with the memory ``was``.
    """
    if not _may_be_guaranteed(written, container):
        return limits
    if limits is Limits.KEEP:
        return Limits.EQUAL if qos_of(written) is Qos.GUARANTEED else limits
    if was.request_bytes == was.limit_bytes and was.request_bytes:
        return limits
    equal = pod_with(written, container, Memory(MIB, MIB))
    return Limits.KEEP if qos_of(equal) is Qos.GUARANTEED else limits


def memory_in_class(
    written: Pod, container: SizedContainer, was: Memory, wanted: Memory
) -> Memory | None:
    """Return the memory nearest to ``wanted`` that keeps the class; None if every size changes it.

    written: the pod as its author wrote it, with the memory ``was``.
    The result is None only for a BestEffort pod: any size would make it Burstable.
    """
    if not _may_change_class(written, container, was, wanted):
        return wanted
    own = qos_of(written)
    for memory in (wanted, *_near(was, wanted)):
        if qos_of(pod_with(written, container, memory)) is own:
            return memory
    return None


def cpu_keeps_class(written: Pod, container: SizedContainer, memory: Memory, cpu: CpuAsk) -> bool:
    """Say whether the pod, as written, keeps its class with this memory and CPU request."""
    return qos_of(pod_with(written, container, memory, cpu)) is qos_of(written)


def _may_change_class(written: Pod, container: SizedContainer, was: Memory, wanted: Memory) -> bool:
    """Say whether the class must be checked. This is cheap, and most pods need no more."""
    if wanted == was:
        return False
    if not was.request_bytes and not was.limit_bytes:
        return True
    if (was.request_bytes == was.limit_bytes) == (wanted.request_bytes == wanted.limit_bytes):
        return False
    return _may_be_guaranteed(written, container)


def _may_be_guaranteed(written: Pod, container: SizedContainer) -> bool:
    """Say whether the container has a CPU limit: without one, no memory makes it Guaranteed."""
    resources = mapping(container_of(written, container.index).get("resources"))
    return "cpu" in mapping(resources.get("limits"))


def _near(was: Memory, wanted: Memory) -> tuple[Memory, ...]:
    """Return the alternatives, the nearest first: the request and the limit must differ.

    The limit as written never harms a run. If it is not above the request, the request becomes a
    little less than the limit, because the cluster's bounds may end at the limit.
    ``limits_in_class`` has already taken the first way where bounds depend on it.
    """
    if wanted.request_bytes is None:
        return ()
    above = None if was.limit_bytes is None else max(was.limit_bytes, wanted.request_bytes)
    below_bytes = max(was.request_bytes or 0, wanted.request_bytes - MIB)
    return Memory(wanted.request_bytes, above), Memory(below_bytes, wanted.limit_bytes)
