"""Reads a namespace's LimitRanges and ResourceQuotas.

A request that breaks them would keep a pod from starting. Amounts whose names have no unit are
bytes of memory or millicores of CPU.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from plimsoll_operator.pods.spec import mapping, sequence
from plimsoll_operator.sizing.bounds.quotas import (
    MEMORY,
    Quota,
    Resource,
    counts_ended_pods,
    counts_sized_pods_only,
    read_quota,
)


@dataclass(frozen=True, slots=True)
class NamespaceBounds:
    """The bounds of one resource by a namespace's LimitRanges and quotas. None bounds nothing.

    least, most: of a container; pod_least, pod_most: of all containers together.
    max_ratio, pod_max_ratio: the most of limit over request, of a container and of all together.
    counts_sized: whether some quota counts a BestEffort pod as soon as it has a size.
    counts_ended: whether some quota counts pods after their end, too.
    """

    least: int | None = None
    most: int | None = None
    pod_least: int | None = None
    pod_most: int | None = None
    max_ratio: float | None = None
    pod_max_ratio: float | None = None
    quotas: tuple[Quota, ...] = ()
    counts_sized: bool = False
    counts_ended: bool = False


UNBOUNDED: Final = NamespaceBounds()


def read_namespace(
    limit_ranges: Sequence[Any], quotas: Sequence[Any], resource: Resource = MEMORY
) -> NamespaceBounds:
    """Read a namespace's LimitRanges and ResourceQuotas; unreadable parts bound nothing.

    limit_ranges, quotas: the objects as the API gives them; only their specs are read.
    """
    items = [
        mapping(item)
        for limit_range in limit_ranges
        for item in sequence(mapping(mapping(limit_range).get("spec")).get("limits"))
    ]
    container = [item for item in items if item.get("type") == "Container"]
    pod = [item for item in items if item.get("type") == "Pod"]
    read = (read_quota(mapping(quota), resource) for quota in quotas)
    return NamespaceBounds(
        least=max(_amounts(container, "min", resource), default=None),
        most=min(_amounts(container, "max", resource), default=None),
        pod_least=max(_amounts(pod, "min", resource), default=None),
        pod_most=min(_amounts(pod, "max", resource), default=None),
        max_ratio=_least_ratio(container, resource),
        pod_max_ratio=_least_ratio(pod, resource),
        quotas=tuple(quota for quota in read if (quota.request, quota.limit) != (None, None)),
        counts_sized=any(counts_sized_pods_only(mapping(quota)) for quota in quotas),
        counts_ended=any(counts_ended_pods(mapping(quota)) for quota in quotas),
    )


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
