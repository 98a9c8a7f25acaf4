"""Reads the bounds that a namespace and the nodes set for one container's memory and CPU.

A request above a LimitRange, a quota or every node would turn a pod that starts into one that does
not. Amounts whose names have no unit are bytes of memory or millicores of CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from plimsoll_operator.names.quantity import bytes_or_none, millicores_or_none
from plimsoll_operator.pods.spec import Pod, mapping, other_millicores, sequence, spec_of
from plimsoll_predictor.core.cpu import CpuAsk, CpuBounds
from plimsoll_predictor.core.decision import Bounds

NODE_SHARE: Final = 0.9
"""The share of a node's cores that a pod can get: on every node, daemons hold some."""


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource as LimitRanges and quotas name it, and the reader of its quantities.

    sets_limit: whether Plimsoll sets a limit of it too; else bounds of limits alone do not count.
    """

    name: str
    read: Callable[[object], int | None]
    sets_limit: bool


MEMORY: Final = Resource("memory", bytes_or_none, sets_limit=True)
CPU: Final = Resource("cpu", millicores_or_none, sets_limit=False)


@dataclass(frozen=True, slots=True)
class Quota:
    """One ResourceQuota, as far as it bounds one resource.

    scopes: the quota counts only pods that match all of them; see ``counts``.
    priority_classes: the quota counts only pods of these classes; None counts all.
    request, limit: the hard amounts; None if the quota does not bound it.
    free_request, free_limit: the hard amounts less what was used when the quota was last seen.
    """

    scopes: tuple[str, ...]
    priority_classes: tuple[str, ...] | None
    request: int | None
    free_request: int | None
    limit: int | None
    free_limit: int | None


@dataclass(frozen=True, slots=True)
class NamespaceBounds:
    """The bounds of one resource by a namespace's LimitRanges and quotas. None bounds nothing.

    least, most: of a container; pod_least, pod_most: of all containers together.
    max_ratio, pod_max_ratio: limit over request at most, of a container and of all together.
    """

    least: int | None = None
    most: int | None = None
    pod_least: int | None = None
    pod_most: int | None = None
    max_ratio: float | None = None
    pod_max_ratio: float | None = None
    quotas: tuple[Quota, ...] = ()


UNBOUNDED: Final = NamespaceBounds()


@dataclass(frozen=True, slots=True, kw_only=True)
class PodAmounts:
    """The amounts in one pod that bounds depend on.

    request: what the user asked for the sized container; None if nothing.
    fixed_limit: a limit that stays while the request changes; None if there is none.
    other_request, other_limit: of what runs beside the sized container.
    may_wait: True for a lifted attempt, which should wait for quota and not be killed again.
    """

    request: int | None = None
    fixed_limit: int | None = None
    other_request: int = 0
    other_limit: int = 0
    may_wait: bool = False


def read_namespace(
    limit_ranges: Sequence[Any], quotas: Sequence[Any], resource: Resource = MEMORY
) -> NamespaceBounds:
    """Read a namespace's LimitRange and ResourceQuota objects; what cannot be read bounds nothing.

    limit_ranges, quotas: the objects as the API gives them; only spec and status are read.
    """
    items = [
        mapping(item)
        for limit_range in limit_ranges
        for item in sequence(mapping(mapping(limit_range).get("spec")).get("limits"))
    ]
    container = [item for item in items if item.get("type") == "Container"]
    pod = [item for item in items if item.get("type") == "Pod"]
    read = (_read_quota(mapping(quota), resource) for quota in quotas)
    return NamespaceBounds(
        least=max(_amounts(container, "min", resource), default=None),
        most=min(_amounts(container, "max", resource), default=None),
        pod_least=max(_amounts(pod, "min", resource), default=None),
        pod_most=min(_amounts(pod, "max", resource), default=None),
        max_ratio=_least_ratio(container, resource),
        pod_max_ratio=_least_ratio(pod, resource) if resource.sets_limit else None,
        quotas=tuple(quota for quota in read if (quota.request, quota.limit) != (None, None)),
    )


def bounds_for(
    pod: Pod, memory: PodAmounts, namespace: NamespaceBounds, largest_node_bytes: int | None
) -> Bounds:
    """Return the bounds of the allocation by LimitRanges, quotas and the largest node."""
    quotas = [quota for quota in namespace.quotas if counts(quota, pod)]
    return Bounds(
        floor_bytes=_floor(memory, namespace),
        cap_bytes=_cap(memory, namespace, quotas, largest_node_bytes),
    )


def bounds_of_any_pod(namespace: NamespaceBounds, largest_node_bytes: int | None) -> Bounds:
    """Return the bounds of an allocation in a namespace, whichever pod gets it.

    All its quotas count, and they count in full: a lifted attempt may wait for free quota.
    """
    cap_bytes = _cap(PodAmounts(may_wait=True), namespace, namespace.quotas, largest_node_bytes)
    # A pod's least is not one container's: what runs beside it counts as well.
    return Bounds(floor_bytes=namespace.least, cap_bytes=cap_bytes)


def cpu_bounds_for(
    pod: Pod, index: int, ask: CpuAsk, namespace: NamespaceBounds, node_millicores: int | None
) -> CpuBounds:
    """Return the bounds of the CPU request of ``spec.containers[index]``.

    The cap holds back a raise and never lowers what the user asked: too little CPU kills nothing.

    node_millicores: of the largest node; None if no node is known.
    """
    others = other_millicores(pod, index)
    cpu = PodAmounts(fixed_limit=ask.limit_millicores, other_request=others, other_limit=others)
    quotas = [quota for quota in namespace.quotas if counts(quota, pod)]
    node = None if node_millicores is None else int(node_millicores * NODE_SHARE)
    return CpuBounds(_floor(cpu, namespace), _cap(cpu, namespace, quotas, node))


def _cap(
    amounts: PodAmounts,
    namespace: NamespaceBounds,
    quotas: Iterable[Quota],
    largest_node: int | None,
) -> int | None:
    caps = [
        namespace.most,
        _less(namespace.pod_most, amounts.other_limit),
        _less(largest_node, amounts.other_request),
    ]
    for quota in quotas:
        caps.append(_quota_cap(quota.request, quota.free_request, amounts.other_request, amounts))
        caps.append(_quota_cap(quota.limit, quota.free_limit, amounts.other_limit, amounts))
    return min((cap for cap in caps if cap is not None), default=None)


def _floor(amounts: PodAmounts, namespace: NamespaceBounds) -> int | None:
    limit, others = amounts.fixed_limit, amounts.other_request
    floors = [namespace.least, _less(namespace.pod_least, others)]
    if limit is not None and namespace.max_ratio is not None:
        floors.append(-int(-limit // namespace.max_ratio))
    if limit is not None and namespace.pod_max_ratio is not None:
        pod_limit = limit + amounts.other_limit
        floors.append(-int(-pod_limit // namespace.pod_max_ratio) - others)
    return max((floor for floor in floors if floor), default=None)


def _quota_cap(hard: int | None, free: int | None, others: int, amounts: PodAmounts) -> int | None:
    cap, room = _less(hard, others), _less(free, others)
    if cap is None or room is None or amounts.may_wait:
        return cap
    # Used quota must not turn a raise into a refusal. Nor must it lower the user's own request: if
    # that does not fit, the pod waits as it would without Plimsoll.
    return min(cap, max(room, amounts.request or 0))


def counts(quota: Quota, pod: Pod) -> bool:
    """Say whether the quota counts a pod that asks for something."""
    spec = spec_of(pod)
    for scope in quota.scopes:
        if scope == "BestEffort":
            return False  # a pod with a size is not BestEffort
        if scope == "Terminating" and spec.get("activeDeadlineSeconds") is None:
            return False
        if scope == "NotTerminating" and spec.get("activeDeadlineSeconds") is not None:
            return False
    classes = quota.priority_classes
    return classes is None or spec.get("priorityClassName") in classes


def _read_quota(quota: Mapping[str, Any], resource: Resource) -> Quota:
    spec, used = mapping(quota.get("spec")), mapping(mapping(quota.get("status")).get("used"))
    hard, name = mapping(spec.get("hard")), resource.name

    def smallest(*keys: str) -> tuple[int | None, int | None]:
        sizes = {key: size for key in keys if (size := resource.read(hard.get(key))) is not None}
        free = (max(0, size - (resource.read(used.get(key)) or 0)) for key, size in sizes.items())
        return min(sizes.values(), default=None), min(free, default=None)

    limit_keys = (f"limits.{name}",) if resource.sets_limit else ()
    return Quota(
        tuple(str(scope) for scope in sequence(spec.get("scopes"))),
        _priority_classes(mapping(spec.get("scopeSelector"))),
        *smallest(f"requests.{name}", name),
        *smallest(*limit_keys),
    )


def _priority_classes(selector: Mapping[str, Any]) -> tuple[str, ...] | None:
    for expression in sequence(selector.get("matchExpressions")):
        expression = mapping(expression)
        if expression.get("scopeName") == "PriorityClass" and expression.get("operator") == "In":
            return tuple(str(value) for value in sequence(expression.get("values")))
    return None


def _amounts(items: Iterable[Mapping[str, Any]], kind: str, resource: Resource) -> list[int]:
    amounts = (resource.read(mapping(item.get(kind)).get(resource.name)) for item in items)
    return [amount for amount in amounts if amount is not None]


def _least_ratio(items: Iterable[Mapping[str, Any]], resource: Resource) -> float | None:
    """Return the tightest maxLimitRequestRatio of a LimitRange's items; None if there is none."""
    written = (mapping(item.get("maxLimitRequestRatio")).get(resource.name) for item in items)
    ratios = map(_ratio, written)
    return min((ratio for ratio in ratios if ratio is not None), default=None)


def _ratio(value: object) -> float | None:
    try:
        ratio = float(Decimal(str(value)))
    except InvalidOperation:
        return None
    return ratio if ratio >= 1 else None


def _less(amount: int | None, others: int) -> int | None:
    return None if amount is None else max(0, amount - others)
