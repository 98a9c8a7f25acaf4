"""Reads ResourceQuotas, and says which of them count a pod, by Kubernetes' rules for scopes.

The free part of a quota is not read: it is of an earlier moment, and belongs to the pods that come
next. See ``caps``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from plimsoll_operator.names.quantity import bytes_or_none, millicores_or_none
from plimsoll_operator.pods.other_namespaces import reaches_other_namespaces
from plimsoll_operator.pods.spec import Pod, Qos, mapping, qos_of, sequence, spec_of


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource as LimitRanges and quotas name it, and the reader of its quantities.

    sets_limit: whether Plimsoll also sets its limit; else bounds of limits alone do not count.
    """

    name: str
    read: Callable[[object], int | None]
    sets_limit: bool


MEMORY: Final = Resource("memory", bytes_or_none, sets_limit=True)
CPU: Final = Resource("cpu", millicores_or_none, sets_limit=False)


@dataclass(frozen=True, slots=True)
class Scope:
    """One condition of a quota. operator: In, NotIn, Exists or DoesNotExist."""

    name: str
    operator: str = "Exists"
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Quota:
    """One ResourceQuota, as far as it bounds one resource.

    scopes: the quota counts only pods that meet all of them; see ``counts``.
    request, limit: the hard amounts; None if the quota does not bound it.
    """

    scopes: tuple[Scope, ...]
    request: int | None
    limit: int | None


def read_quota(quota: Mapping[str, Any], resource: Resource) -> Quota:
    """Read a ResourceQuota object's spec; unreadable parts bound nothing."""
    spec = mapping(quota.get("spec"))
    hard, name = mapping(spec.get("hard")), resource.name

    def least(*keys: str) -> int | None:
        sizes = (resource.read(hard.get(key)) for key in keys)
        return min((size for size in sizes if size is not None), default=None)

    limit_keys = (f"limits.{name}",) if resource.sets_limit else ()
    return Quota(_scopes(spec), least(f"requests.{name}", name), least(*limit_keys))


def counts_sized_pods_only(quota: Mapping[str, Any]) -> bool:
    """Say whether a quota, of any resource, counts a BestEffort pod once it has a size."""
    return any(scope.name == "NotBestEffort" for scope in _scopes(mapping(quota.get("spec"))))


def counts_ended_pods(quota: Mapping[str, Any]) -> bool:
    """Say whether a quota counts pods until they are deleted. ``pods`` leaves out ended ones."""
    return "count/pods" in mapping(mapping(quota.get("spec")).get("hard"))


def counts(quota: Quota, pod: Pod) -> bool:
    """Say whether the quota counts a pod that asks for something."""
    return all(_meets(scope, pod) for scope in quota.scopes)


def _scopes(spec: Mapping[str, Any]) -> tuple[Scope, ...]:
    """Return ``spec.scopes`` (all Exists) and ``spec.scopeSelector``; a pod must meet both."""
    named = [Scope(str(name)) for name in sequence(spec.get("scopes"))]
    selector = mapping(spec.get("scopeSelector"))
    for expression in map(mapping, sequence(selector.get("matchExpressions"))):
        values = tuple(str(value) for value in sequence(expression.get("values")))
        name, operator = expression.get("scopeName"), expression.get("operator")
        named.append(Scope(str(name), str(operator), values))
    return tuple(named)


def _meets(scope: Scope, pod: Pod) -> bool:
    check = _CHECKS.get(scope.name)
    # A scope of a later Kubernetes: the quota may count the pod.
    return True if check is None else check(scope, spec_of(pod))


def _has_class(scope: Scope, spec: Mapping[str, Any]) -> bool:
    name = spec.get("priorityClassName") or None
    if scope.operator == "In":
        return name in scope.values
    if scope.operator == "NotIn":
        return name not in scope.values
    return (name is None) == (scope.operator == "DoesNotExist")


def _is_terminating(_: Scope, spec: Mapping[str, Any]) -> bool:
    return spec.get("activeDeadlineSeconds") is not None


_CHECKS: Final[Mapping[str, Callable[[Scope, Mapping[str, Any]], bool]]] = {
    "BestEffort": lambda _scope, _spec: False,  # a pod with a size is not BestEffort
    "NotBestEffort": lambda _scope, _spec: True,
    "Terminating": _is_terminating,
    "NotTerminating": lambda scope, spec: not _is_terminating(scope, spec),
    "PriorityClass": _has_class,
    "CrossNamespacePodAffinity": lambda _scope, spec: reaches_other_namespaces(spec),
    "VolumeAttributesClass": lambda _scope, _spec: False,  # it counts claims, never pods
}


def is_best_effort(pod: Pod) -> bool:
    """Say whether the pod asks for nothing at all."""
    return qos_of(pod) is Qos.BEST_EFFORT
