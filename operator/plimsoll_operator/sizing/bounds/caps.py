"""Returns the bounds of one pod's memory and CPU by its namespace and the nodes.

LimitRanges and quotas refuse a pod. A LimitRange's maximum is the same for every pod, but a quota
is shared: what one pod takes above its request, a later pod lacks that would have been admitted as
its author wrote it. Nobody knows how many pods come before the quota's use is counted again, nor
what other replicas of admission answer meanwhile. So a first attempt asks for no more than its
author did wherever a quota counts it: then, whatever happens, the quota is no fuller than without
Plimsoll. A run that was killed at its request may ask for more, and waits until the quota has it.
The same holds for a pod whose author names its node, which nobody makes wait until there is room.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from plimsoll_operator.pods.spec import (
    NotSizable,
    Pod,
    metadata_of,
    other_memory_bytes,
    other_millicores,
    overhead_of,
    sized_container,
    spec_of,
)
from plimsoll_operator.sizing.bounds.namespaces import NamespaceBounds
from plimsoll_operator.sizing.bounds.nodes import Nodes
from plimsoll_operator.sizing.bounds.quotas import (
    CPU,
    MEMORY,
    Quota,
    Resource,
    counts,
    is_best_effort,
)
from plimsoll_predictor.core.cpu import CpuAsk, CpuBounds
from plimsoll_predictor.core.decision import Bounds

NODE_SHARE: Final = 0.9
"""The share of a node's memory and cores that one pod can get: on every node, daemons hold some."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodAmounts:
    """The amounts in one pod that bounds depend on.

    request, limit: of the sized container, as its author wrote them; None if absent.
    sets_limit: whether the limit follows the size; else it stays as it is.
    other_request, other_limit: of what runs beside the sized container.
    overhead: of the pod's RuntimeClass, which quotas and nodes count as well.
    killed: the allocation that was too small for the attempt before; None for a first attempt.
    """

    request: int | None = None
    limit: int | None = None
    sets_limit: bool = True
    other_request: int = 0
    other_limit: int = 0
    overhead: int = 0
    killed: int | None = None


@dataclass(frozen=True, slots=True)
class _Room:
    """The most for a size above the request. of: what sets it, in words."""

    most: int
    of: str


def bounds_for(pod: Pod, memory: PodAmounts, namespace: NamespaceBounds, nodes: Nodes) -> Bounds:
    """Return the bounds of the allocation by LimitRanges, quotas and the nodes for this pod."""
    node = nodes.largest_for(pod)
    memory = _with_overhead(memory, pod, MEMORY)
    rooms = _rooms(pod, memory, namespace, None if node is None else node.memory_bytes)
    room = min(rooms, key=lambda room: room.most, default=None)
    return Bounds(
        floor_bytes=_floor(memory, namespace),
        cap_bytes=_cap(memory, namespace),
        room_bytes=None if room is None else room.most,
        room_of="" if room is None else room.of,
        written_bytes=memory.limit if memory.sets_limit else 0,
    )


def bounds_of_lift(
    pod: Pod, memory: PodAmounts, namespace: NamespaceBounds, nodes: Nodes
) -> Bounds:
    """Return the bounds of the attempt after a kill of ``pod``; its other containers are read."""
    container = sized_container(pod)
    if not isinstance(container, NotSizable):
        request_bytes, limit_bytes = other_memory_bytes(pod, container)
        memory = replace(memory, other_request=request_bytes, other_limit=limit_bytes)
    return bounds_for(pod, memory, namespace, nodes)


def cpu_bounds_for(
    pod: Pod, index: int, ask: CpuAsk, namespace: NamespaceBounds, nodes: Nodes
) -> CpuBounds:
    """Return the bounds of the CPU request of ``spec.containers[index]``.

    The cap holds back a raise and never lowers what the user asked: too little CPU kills nothing.
    """
    others = other_millicores(pod, index)
    cpu = PodAmounts(
        request=ask.request_millicores,
        limit=ask.limit_millicores,
        sets_limit=False,
        other_request=others,
        other_limit=others,
    )
    cpu = _with_overhead(cpu, pod, CPU)
    node = nodes.largest_for(pod)
    floor = _floor(cpu, namespace)
    if namespace.pod_max_ratio is not None and ask.request_millicores is not None:
        # The limits of the other containers are not read: as it was written, the pod is admitted.
        floor = max(floor or 0, ask.request_millicores)
    caps = [room.most for room in _rooms(pod, cpu, namespace, node.millicores if node else None)]
    cap = _cap(cpu, namespace)
    return CpuBounds(floor, min(caps if cap is None else [*caps, cap], default=None))


def _with_overhead(amounts: PodAmounts, pod: Pod, resource: Resource) -> PodAmounts:
    overhead = overhead_of(pod)
    if not overhead:
        return amounts
    return replace(amounts, overhead=resource.read(overhead.get(resource.name)) or 0)


def _cap(amounts: PodAmounts, namespace: NamespaceBounds) -> int | None:
    caps = (namespace.most, _less(namespace.pod_most, amounts.other_limit))
    return min((cap for cap in caps if cap is not None), default=None)


def _floor(amounts: PodAmounts, namespace: NamespaceBounds) -> int | None:
    limit = None if amounts.sets_limit else amounts.limit
    others = amounts.other_request
    floors = [namespace.least, _less(namespace.pod_least, others)]
    if limit is not None and namespace.max_ratio is not None:
        floors.append(-int(-limit // namespace.max_ratio))
    if namespace.pod_max_ratio is not None:
        floors.append(_least_by_pod_ratio(amounts, namespace.pod_max_ratio))
    return max((floor for floor in floors if floor), default=None)


def _least_by_pod_ratio(amounts: PodAmounts, ratio: float) -> int | None:
    """Return the least request with which the pod's limits are not too large a multiple of it."""
    others, other_limit = amounts.other_request, amounts.other_limit
    if not amounts.sets_limit:
        if amounts.limit is None:
            return None
        return -int(-(amounts.limit + other_limit) // ratio) - others
    if other_limit <= others * ratio:
        return None  # with a limit equal to it, no request makes the pod's ratio larger than it is
    return (
        amounts.request if ratio <= 1 else math.ceil((other_limit - ratio * others) / (ratio - 1))
    )


def _rooms(
    pod: Pod, amounts: PodAmounts, namespace: NamespaceBounds, node: int | None
) -> list[_Room]:
    rooms = []
    if node is not None:
        beside = amounts.other_request + amounts.overhead
        most = max(0, int(node * NODE_SHARE) - beside)
        rooms.append(_Room(most, "the room on the largest node for it"))
    if namespace.counts_sized and amounts.request is None and is_best_effort(pod):
        # With a size it would be counted by quotas that do not count it now.
        rooms.append(_Room(0, "a BestEffort pod's share of a quota"))
    if _is_put_on_a_node(pod) and not _was_killed_as_written(amounts, amounts.request):
        # No scheduler looks for room: the kubelet refuses a pod for good that has too little.
        rooms.append(_Room(amounts.request or 0, "its request (its author names its node)"))
    counted = [quota for quota in namespace.quotas if counts(quota, pod)]
    return rooms + list(_quota_rooms(amounts, counted))


def _is_put_on_a_node(pod: Pod) -> bool:
    """Say whether whoever creates the pod names its node. Of one that is there, a scheduler may."""
    return bool(spec_of(pod).get("nodeName")) and "resourceVersion" not in metadata_of(pod)


def _was_killed_as_written(amounts: PodAmounts, written: int | None) -> bool:
    return amounts.killed is not None and amounts.killed >= (written or 0)


def _quota_rooms(amounts: PodAmounts, quotas: Iterable[Quota]) -> Iterable[_Room]:
    for quota in quotas:
        for hard, others, written, kind in (
            (quota.request, amounts.other_request, amounts.request, "request"),
            (quota.limit, amounts.other_limit, amounts.limit, "limit"),
        ):
            if hard is None:
                continue
            # What Plimsoll made smaller waits for no quota that its author would not wait for.
            if _was_killed_as_written(amounts, written):
                yield _Room(max(0, hard - others - amounts.overhead), "its quota")
            else:
                yield _Room(written or 0, f"its {kind} (a quota counts it)")


def _less(amount: int | None, others: int) -> int | None:
    return None if amount is None else max(0, amount - others)
