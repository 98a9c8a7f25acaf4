"""What a namespace and the nodes allow a pod, as bounds for one container's allocation.

Asking for more than a LimitRange, a quota or any node has would turn a pod that starts into one
that does not: bounds keep a decision within them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from plimsoll_operator.names.quantity import bytes_or_none
from plimsoll_operator.pods.spec import Pod, mapping, sequence, spec_of
from plimsoll_predictor.core.decision import Bounds

_HARD_KEYS: Final = {
    "requests.memory": "request",
    "memory": "request",
    "limits.memory": "limit",
}


@dataclass(frozen=True, slots=True)
class Quota:
    """One ResourceQuota's memory.

    scopes: it counts only pods that match all of them; see ``counts``.
    priority_classes: as a scope: only pods of these classes; None counts all.
    request_bytes, limit_bytes: hard; None if it does not bound it.
    free_request_bytes, free_limit_bytes: hard less used, when it was last seen; None if unknown.
    """

    scopes: tuple[str, ...] = ()
    priority_classes: tuple[str, ...] | None = None
    request_bytes: int | None = None
    limit_bytes: int | None = None
    free_request_bytes: int | None = None
    free_limit_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class NamespaceBounds:
    """A namespace's LimitRanges and ResourceQuotas, read once. None where nothing bounds.

    min_bytes, max_bytes: of a container; pod_min_bytes, pod_max_bytes: of all containers together.
    max_ratio, pod_max_ratio: limit over request at most, of a container and of all together.
    """

    min_bytes: int | None = None
    max_bytes: int | None = None
    pod_min_bytes: int | None = None
    pod_max_bytes: int | None = None
    max_ratio: float | None = None
    pod_max_ratio: float | None = None
    quotas: tuple[Quota, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PodMemory:
    """What bounds depend on in one pod.

    request_bytes: what the user asked for the sized container; None if nothing.
    kept_limit_bytes: a limit that will stay while the request changes; None if none stays.
    other_request_bytes, other_limit_bytes: of what runs beside the sized container.
    may_wait: True for a lifted attempt: it had better wait for quota than be killed again.
    """

    request_bytes: int | None
    kept_limit_bytes: int | None = None
    other_request_bytes: int = 0
    other_limit_bytes: int = 0
    may_wait: bool = False


def read_namespace(limit_ranges: Sequence[Any], quotas: Sequence[Any]) -> NamespaceBounds:
    """Read a namespace's LimitRange and ResourceQuota objects; what cannot be read bounds nothing.

    limit_ranges, quotas: the objects as the API gives them; only spec and status are looked at.
    """
    container, pod = limits_of(limit_ranges, "Container"), limits_of(limit_ranges, "Pod")
    return NamespaceBounds(
        min_bytes=_largest(_memory(item, "min") for item in container),
        max_bytes=_least(_memory(item, "max") for item in container),
        pod_min_bytes=_largest(_memory(item, "min") for item in pod),
        pod_max_bytes=_least(_memory(item, "max") for item in pod),
        max_ratio=least_ratio(container, "memory"),
        pod_max_ratio=least_ratio(pod, "memory"),
        quotas=tuple(read_quota(mapping(quota)) for quota in quotas),
    )


def bounds_for(
    pod: Pod, memory: PodMemory, namespace: NamespaceBounds, largest_node_bytes: int | None
) -> Bounds:
    """The bounds of the sized container's allocation: LimitRanges, quotas, the largest node."""
    quotas = [quota for quota in namespace.quotas if counts(quota, pod)]
    return Bounds(
        floor_bytes=_floor_bytes(memory, namespace),
        cap_bytes=_cap_bytes(memory, namespace, quotas, largest_node_bytes),
    )


def bounds_of_any_pod(namespace: NamespaceBounds, largest_node_bytes: int | None) -> Bounds:
    """The bounds of an allocation in a namespace, whichever pod gets it.

    All its quotas count, and they count in full: a lifted attempt may wait for free quota.
    """
    memory = PodMemory(request_bytes=None, may_wait=True)
    return Bounds(
        # A pod's least is not one container's: what runs beside it counts as well.
        floor_bytes=namespace.min_bytes,
        cap_bytes=_cap_bytes(memory, namespace, namespace.quotas, largest_node_bytes),
    )


def _cap_bytes(
    memory: PodMemory,
    namespace: NamespaceBounds,
    quotas: Iterable[Quota],
    largest_node_bytes: int | None,
) -> int | None:
    caps = [
        namespace.max_bytes,
        _less(namespace.pod_max_bytes, memory.other_limit_bytes),
        _less(largest_node_bytes, memory.other_request_bytes),
    ]
    for quota in quotas:
        caps += _quota_caps(quota, memory)
    return _least(caps)


def _floor_bytes(memory: PodMemory, namespace: NamespaceBounds) -> int | None:
    kept_bytes, others_bytes = memory.kept_limit_bytes, memory.other_request_bytes
    floors = [namespace.min_bytes, _less(namespace.pod_min_bytes, others_bytes)]
    if kept_bytes is not None and namespace.max_ratio is not None:
        floors.append(-int(-kept_bytes // namespace.max_ratio))
    if kept_bytes is not None and namespace.pod_max_ratio is not None:
        pod_bytes = kept_bytes + memory.other_limit_bytes
        floors.append(-int(-pod_bytes // namespace.pod_max_ratio) - others_bytes)
    return _largest(floor for floor in floors if floor)


def _quota_caps(quota: Quota, memory: PodMemory) -> list[int | None]:
    caps = []
    for hard, free, others in (
        (quota.request_bytes, quota.free_request_bytes, memory.other_request_bytes),
        (quota.limit_bytes, quota.free_limit_bytes, memory.other_limit_bytes),
    ):
        cap = _less(hard, others)
        room = _less(free, others)
        if cap is not None and room is not None and not memory.may_wait:
            # Used quota must not turn a raise into a refusal; nor is it a reason to lower what
            # the user asked: when that does not fit, the pod waits as it would without us.
            cap = min(cap, max(room, memory.request_bytes or 0))
        caps.append(cap)
    return caps


def counts(quota: Quota, pod: Pod) -> bool:
    """Whether the quota counts a pod that asks for something."""
    spec = spec_of(pod)
    for scope in quota.scopes:
        if scope == "BestEffort":
            return False  # a pod that gets a size is none
        if scope == "Terminating" and spec.get("activeDeadlineSeconds") is None:
            return False
        if scope == "NotTerminating" and spec.get("activeDeadlineSeconds") is not None:
            return False
    classes = quota.priority_classes
    return classes is None or spec.get("priorityClassName") in classes


def read_quota(quota: Mapping[str, Any]) -> Quota:
    """One ResourceQuota; what cannot be read bounds nothing."""
    spec, status = mapping(quota.get("spec")), mapping(quota.get("status"))
    hard, used = mapping(spec.get("hard")), mapping(status.get("used"))
    found: dict[str, int] = {}
    for key, field in _HARD_KEYS.items():
        size_bytes = bytes_or_none(hard.get(key))
        if size_bytes is None:
            continue
        found[f"{field}_bytes"] = min(size_bytes, found.get(f"{field}_bytes", size_bytes))
        used_bytes = bytes_or_none(used.get(key))
        if used_bytes is not None:
            found[f"free_{field}_bytes"] = max(0, size_bytes - used_bytes)
    return Quota(
        scopes=tuple(str(scope) for scope in sequence(spec.get("scopes"))),
        priority_classes=_priority_classes(mapping(spec.get("scopeSelector"))),
        **found,
    )


def _priority_classes(selector: Mapping[str, Any]) -> tuple[str, ...] | None:
    for expression in sequence(selector.get("matchExpressions")):
        expression = mapping(expression)
        if expression.get("scopeName") == "PriorityClass" and expression.get("operator") == "In":
            return tuple(str(value) for value in sequence(expression.get("values")))
    return None


def _memory(item: Mapping[str, Any], kind: str) -> int | None:
    return bytes_or_none(mapping(item.get(kind)).get("memory"))


def limits_of(limit_ranges: Iterable[Any], kind: str) -> list[Mapping[str, Any]]:
    """What a namespace's LimitRanges say of a kind. kind: Container or Pod."""
    items = (
        mapping(item)
        for limit_range in limit_ranges
        for item in sequence(mapping(mapping(limit_range).get("spec")).get("limits"))
    )
    return [item for item in items if item.get("type") == kind]


def least_ratio(items: Iterable[Mapping[str, Any]], resource: str) -> float | None:
    """The tightest maxLimitRequestRatio of a LimitRange's items; None if there is none."""
    found = (read_ratio(mapping(item.get("maxLimitRequestRatio")).get(resource)) for item in items)
    return min((ratio for ratio in found if ratio is not None), default=None)


def read_ratio(value: object) -> float | None:
    """A LimitRange's maxLimitRequestRatio; None if it is none."""
    try:
        ratio = float(Decimal(str(value)))
    except InvalidOperation:
        return None
    return ratio if ratio >= 1 else None


def _less(cap_bytes: int | None, others_bytes: int) -> int | None:
    return None if cap_bytes is None else max(0, cap_bytes - others_bytes)


def _least(values: Iterable[int | None]) -> int | None:
    return min((value for value in values if value is not None), default=None)


def _largest(values: Iterable[int | None]) -> int | None:
    return max((value for value in values if value is not None), default=None)
