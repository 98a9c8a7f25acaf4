"""What a namespace and the nodes allow a pod's CPU request, beside bounds.py for memory.

Caps hold back a raise: a request that no quota or node has room for would turn a pod that starts
into one that does not. They never lower what the user asked; too little CPU is no such danger.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from plimsoll_operator.names.quantity import BadQuantity, millicores_or_none, parse_millicores
from plimsoll_operator.pods.spec import Pod, containers_beside, mapping
from plimsoll_operator.sizing.bounds import Quota, counts, least_ratio, limits_of, read_quota
from plimsoll_predictor.core.cpu import CpuAsk, CpuBounds

NODE_SHARE: Final = 0.9
"""Of a node's cores: on every node, daemons hold some, and nobody could get them all."""
_REQUEST_KEYS: Final = ("requests.cpu", "cpu")


@dataclass(frozen=True, slots=True)
class CpuQuota:
    """One ResourceQuota's CPU requests.

    pods: the quota as memory has it, for which pods it counts.
    hard_millicores, free_millicores: hard, and hard less used when it was last seen.
    """

    pods: Quota
    hard_millicores: int
    free_millicores: int


@dataclass(frozen=True, slots=True)
class NamespaceCpu:
    """A namespace's LimitRanges and ResourceQuotas, their CPU. None where nothing bounds.

    min_millicores, max_millicores: of a container; those of a pod: of all together.
    max_ratio: limit over request at most, of a container.
    """

    min_millicores: int | None = None
    max_millicores: int | None = None
    pod_min_millicores: int | None = None
    pod_max_millicores: int | None = None
    max_ratio: float | None = None
    quotas: tuple[CpuQuota, ...] = ()


UNBOUNDED: Final = NamespaceCpu()


@dataclass(frozen=True, slots=True)
class CpuPlace:
    """Where a pod is to run. largest_node_millicores: None if no node is known."""

    namespace: NamespaceCpu = UNBOUNDED
    largest_node_millicores: int | None = None


@dataclass(frozen=True, slots=True)
class ContainerCpu:
    """One container of a pod, by its place in ``spec.containers``, and what its author asked."""

    pod: Pod
    index: int
    ask: CpuAsk


def read_namespace_cpu(limit_ranges: Sequence[Any], quotas: Sequence[Any]) -> NamespaceCpu:
    """Read a namespace's LimitRange and ResourceQuota objects; what cannot be read bounds nothing.

    limit_ranges, quotas: the objects as the API gives them; only spec and status are looked at.
    """
    container, pod = limits_of(limit_ranges, "Container"), limits_of(limit_ranges, "Pod")
    read = (_quota(mapping(quota)) for quota in quotas)
    return NamespaceCpu(
        min_millicores=max(_known(container, "min"), default=None),
        max_millicores=min(_known(container, "max"), default=None),
        pod_min_millicores=max(_known(pod, "min"), default=None),
        pod_max_millicores=min(_known(pod, "max"), default=None),
        max_ratio=least_ratio(container, "cpu"),
        quotas=tuple(quota for quota in read if quota is not None),
    )


def cpu_bounds_for(container: ContainerCpu, place: CpuPlace) -> CpuBounds:
    """The bounds of the container's CPU request: LimitRanges, quotas, the largest node."""
    namespace, limit = place.namespace, container.ask.limit_millicores
    beside = containers_beside(container.pod, container.index)
    others = sum(_asked_or_nothing(each) for each in beside)
    caps = [namespace.max_millicores]
    if namespace.pod_max_millicores is not None:
        caps.append(namespace.pod_max_millicores - others)
    if place.largest_node_millicores is not None:
        caps.append(int(place.largest_node_millicores * NODE_SHARE) - others)
    for quota in namespace.quotas:
        if counts(quota.pods, container.pod):
            caps.append(min(quota.hard_millicores, quota.free_millicores) - others)
    floor = namespace.min_millicores
    if namespace.pod_min_millicores is not None:
        floor = max(floor or 0, namespace.pod_min_millicores - others)
    if namespace.max_ratio is not None and limit is not None:
        floor = max(floor or 0, -int(-limit // namespace.max_ratio))
    known = [cap for cap in caps if cap is not None]
    return CpuBounds(floor_millicores=floor, cap_millicores=max(0, min(known)) if known else None)


def millicores_asked(container: Mapping[str, Any], kind: str) -> int | None:
    """A container's CPU; None if it says nothing. kind: "requests" or "limits".

    Raises:
        BadQuantity: if what it says is none.
    """
    value = mapping(mapping(container.get("resources")).get(kind)).get("cpu")
    return None if value is None else parse_millicores(value)


def _asked_or_nothing(container: Mapping[str, Any]) -> int:
    try:
        asked = millicores_asked(container, "requests")
        return (millicores_asked(container, "limits") if asked is None else asked) or 0
    except BadQuantity:
        return 0  # the API server will refuse it itself


def _quota(quota: Mapping[str, Any]) -> CpuQuota | None:
    hard = mapping(mapping(quota.get("spec")).get("hard"))
    used = mapping(mapping(quota.get("status")).get("used"))
    found = [
        (millicores_or_none(hard.get(key)), millicores_or_none(used.get(key)))
        for key in _REQUEST_KEYS
    ]
    known = [(size, taken or 0) for size, taken in found if size is not None]
    if not known:
        return None
    return CpuQuota(
        pods=read_quota(quota),
        hard_millicores=min(size for size, _ in known),
        free_millicores=min(max(0, size - taken) for size, taken in known),
    )


def _known(items: Iterable[Mapping[str, Any]], kind: str) -> list[int]:
    found = (millicores_or_none(mapping(item.get(kind)).get("cpu")) for item in items)
    return [each for each in found if each is not None]
