"""Returns the bounds of one pod's memory and CPU by its namespace and the nodes.

LimitRanges and quotas refuse a pod. A LimitRange's maximum is the same for every pod, but a quota
is shared: if one pod takes more than its request, a later pod may be refused that would have been
admitted as its author wrote it. Nobody knows how many pods come before the quota's use is counted
again, or what other replicas of admission answer meanwhile. So where a quota counts a pod, it
asks for no more than its author did: then the quota is never fuller than without Plimsoll. Only a
run that was killed at the most that its author let it use may ask for more, and waits until the
quota has it. The same holds for a pod whose author names its node, because it does not wait for
room, and for one that Kueue counts by itself, because its queue is a quota, too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from plimsoll_operator.pods.creation import author_chose_node, is_put_on_a_node
from plimsoll_operator.pods.queue_managers import is_counted_by_kueue
from plimsoll_operator.pods.spec import (
    NotSizable,
    Pod,
    init_limit_bytes,
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
from plimsoll_predictor.core.decision import Bounds
from plimsoll_predictor.deciding.cpu import CpuAsk, CpuBounds

NODE_SHARE: Final = 0.9
"""The share of a node's memory and cores that one pod can get: daemons hold some on every node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodAmounts:
    """The amounts in one pod that bounds depend on: bytes of memory, or millicores of CPU.

    resource: whose amounts they are.
    request, limit: of the sized container, as its author wrote them; None if absent.
    sets_limit: whether the limit follows the size; else it stays as it is.
    other_request, other_limit: of the containers beside the sized one.
    overhead: of the pod's RuntimeClass, which quotas and nodes count, too.
    killed: the allocation that was too small for the previous attempt; None for a first attempt.
    init_limit: of the init containers, while the pod starts; it is read where a ratio needs it.
    """

    resource: Resource = MEMORY
    request: int | None = None
    limit: int | None = None
    sets_limit: bool = True
    other_request: int = 0
    other_limit: int = 0
    overhead: int = 0
    killed: int | None = None
    init_limit: int = 0


@dataclass(frozen=True, slots=True)
class _Room:
    """The most for a size above the request.

    of: what sets it, in words. remedy: what people can do about it.
    """

    most: int
    of: str
    remedy: str = "raise the request in its template"


def bounds_for(pod: Pod, memory: PodAmounts, namespace: NamespaceBounds, nodes: Nodes) -> Bounds:
    """Return the bounds of the allocation by LimitRanges, quotas and the nodes for this pod."""
    node = nodes.largest_for(pod)
    memory = _with_overhead(memory, pod)
    if namespace.pod_max_ratio is not None:
        memory = replace(memory, init_limit=init_limit_bytes(pod))
    rooms = _rooms(pod, memory, namespace, None if node is None else node.memory_bytes)
    room = min(rooms, key=lambda room: room.most, default=None)
    return Bounds(
        floor_bytes=_floor(memory, namespace),
        cap_bytes=_cap(memory, namespace),
        room_bytes=None if room is None else room.most,
        room_of="" if room is None else room.of,
        room_remedy="" if room is None else room.remedy,
        written_bytes=memory.limit if memory.sets_limit else 0,
    )


def bounds_of_lift(
    pod: Pod, memory: PodAmounts, namespace: NamespaceBounds, nodes: Nodes
) -> Bounds:
    """Return the bounds of the attempt after a kill of ``pod``; read its other containers."""
    if not author_chose_node(pod):
        # A scheduler finds a node for each attempt, so the next one may run on any.
        spec = {name: value for name, value in spec_of(pod).items() if name != "nodeName"}
        pod = {**pod, "spec": spec}
    container = sized_container(pod)
    if not isinstance(container, NotSizable):
        request_bytes, limit_bytes = other_memory_bytes(pod, container)
        memory = replace(memory, other_request=request_bytes, other_limit=limit_bytes)
    return bounds_for(pod, memory, namespace, nodes)


def cpu_bounds_for(
    pod: Pod, index: int, ask: CpuAsk, namespace: NamespaceBounds, nodes: Nodes
) -> CpuBounds:
    """Return the bounds of the CPU request of ``spec.containers[index]``.

    The cap limits a raise and never lowers the user's request: too little CPU kills nothing.
    """
    others = other_millicores(pod, index)
    cpu = PodAmounts(
        resource=CPU,
        request=ask.request_millicores,
        limit=ask.limit_millicores,
        sets_limit=False,
        other_request=others,
        other_limit=others,
    )
    cpu = _with_overhead(cpu, pod)
    node = nodes.largest_for(pod)
    floor = _floor(cpu, namespace)
    if namespace.pod_max_ratio is not None and ask.request_millicores is not None:
        # The other containers' limits are not read: the pod is admitted with its written request.
        floor = max(floor or 0, ask.request_millicores)
    caps = [room.most for room in _rooms(pod, cpu, namespace, node.millicores if node else None)]
    cap = _cap(cpu, namespace)
    return CpuBounds(floor, min(caps if cap is None else [*caps, cap], default=None))


def _with_overhead(amounts: PodAmounts, pod: Pod) -> PodAmounts:
    overhead = overhead_of(pod)
    if not overhead:
        return amounts
    resource = amounts.resource
    return replace(amounts, overhead=resource.read(overhead.get(resource.name)) or 0)


def _cap(amounts: PodAmounts, namespace: NamespaceBounds) -> int | None:
    caps = (namespace.most, _less(namespace.pod_most, amounts.other_limit))
    return min((cap for cap in caps if cap is not None), default=None)


def _floor(amounts: PodAmounts, namespace: NamespaceBounds) -> int | None:
    limit = None if amounts.sets_limit else amounts.limit
    others = amounts.other_request
    if amounts.sets_limit:
        others = min(others, amounts.other_limit)  # the pod's limits must reach the minimum, too
    floors = [namespace.least, _less(namespace.pod_least, others)]
    if limit is not None and namespace.max_ratio is not None:
        floors.append(-int(-limit // namespace.max_ratio))
    if namespace.pod_max_ratio is not None:
        floors.append(_least_by_pod_ratio(amounts, namespace.pod_max_ratio))
        floors.append(_least_by_init_ratio(amounts, namespace.pod_max_ratio))
    return max((floor for floor in floors if floor), default=None)


def _least_by_pod_ratio(amounts: PodAmounts, ratio: float) -> int | None:
    """Return the least request at which the pod's limits over its requests keep to the ratio."""
    others, other_limit = amounts.other_request, amounts.other_limit
    if not amounts.sets_limit:
        if amounts.limit is None:
            return None
        return -int(-(amounts.limit + other_limit) // ratio) - others
    if other_limit <= others * ratio:
        return None  # the limit equals the request, so no request makes the pod's ratio too large
    return (
        amounts.request if ratio <= 1 else math.ceil((other_limit - ratio * others) / (ratio - 1))
    )


def _least_by_init_ratio(amounts: PodAmounts, ratio: float) -> int:
    """Return the least request at which the init containers' limit keeps to the pod's ratio.

    An init container's own request may keep to it, too, so no more is needed than was written.
    """
    least = -int(-amounts.init_limit // ratio) - amounts.other_request
    return least if amounts.request is None else min(least, amounts.request)


def _rooms(
    pod: Pod, amounts: PodAmounts, namespace: NamespaceBounds, node: int | None
) -> list[_Room]:
    rooms = []
    if node is not None:
        beside = amounts.other_request + amounts.overhead
        most = max(0, int(node * NODE_SHARE) - beside)
        rooms.append(_Room(most, "nine tenths of the largest node for it", "add a larger node"))
    if namespace.pod_most is not None and amounts.other_request > amounts.other_limit:
        # The pod's requests may not be above it either, and a limit as large as its author wrote
        # may be: so this holds back a raise, and cuts nothing.
        most, whose = namespace.pod_most - amounts.other_request, "the LimitRange's maximum"
        rooms.append(_Room(max(0, most), f"{whose} for the pod", f"raise {whose}"))
    if namespace.counts_sized and amounts.request is None and is_best_effort(pod):
        # With a size, quotas would count it that do not count it now.
        share = "a BestEffort pod's share of a quota"
        rooms.append(_Room(0, share, "request memory in its template"))
    no_more = not _was_killed_as_written(amounts)
    if no_more and is_put_on_a_node(pod):
        # No scheduler looks for room: the kubelet refuses a pod for good if there is too little.
        rooms.append(_Room(amounts.request or 0, "its request (its author names its node)"))
    if no_more and is_counted_by_kueue(pod):
        # Its queue may never have more, and nobody may give a raise back while the pod waits.
        rooms.append(_Room(amounts.request or 0, "its request (Kueue counts it)"))
    counted = [quota for quota in namespace.quotas if counts(quota, pod)]
    return rooms + list(_quota_rooms(amounts, counted))


def _was_killed_as_written(amounts: PodAmounts) -> bool:
    """Say whether the attempt before was killed at the most that its author let it use.

    A run that was killed at its request may need no more than its limit allows. Without a limit,
    it might have had all memory of its node.
    """
    if amounts.killed is None or not amounts.limit:
        return False
    return amounts.killed >= max(amounts.request or 0, amounts.limit)


def _quota_rooms(amounts: PodAmounts, quotas: Iterable[Quota]) -> Iterable[_Room]:
    needs_more = _was_killed_as_written(amounts)
    # A quota of limits takes no pod without one, so as written the pod would not have come at all.
    over_limit = needs_more or (amounts.killed is not None and not amounts.limit)
    for quota in quotas:
        for hard, others, written, kind, may_wait in (
            (quota.request, amounts.other_request, amounts.request, "request", needs_more),
            (quota.limit, amounts.other_limit, amounts.limit, "limit", over_limit),
        ):
            if hard is None:
                continue
            # A pod that Plimsoll made smaller must not wait for a quota where the written one would
            # not wait.
            if may_wait:
                room = max(0, hard - others - amounts.overhead)
                yield _Room(room, "its quota", "raise the quota")
            else:
                yield _Room(written or 0, f"its {kind} (a quota counts it)")


def _less(amount: int | None, others: int) -> int | None:
    return None if amount is None else max(0, amount - others)
