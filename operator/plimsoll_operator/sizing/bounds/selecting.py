"""Reads which nodes suit a pod, by the scheduler's rules.

These are what it selects, which taints it tolerates, and which extended resources it asks for.

Strangers write pods: if a pod is odd, or costs too much to read, the answer is "unknown" (None).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from plimsoll_operator.names.quantity import bytes_or_none
from plimsoll_operator.pods.spec import mapping, sequence

REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
NAME: Final = "field:metadata.name"
"""Stands for a node's name where conditions name labels. No label can have this key."""
_NATIVE: Final = "kubernetes.io/"
"""Resources with it in their names are Kubernetes' own, and those without a "/" in them."""
_HUGE_PAGES: Final = "hugepages-"
MOST_WANTED: Final = 256
"""The most conditions and values of one pod; with more, the answer is unknown."""


@dataclass(frozen=True, slots=True)
class Taint:
    """A taint that keeps pods away: its effect is NoSchedule or NoExecute."""

    key: str
    value: str
    effect: str


@dataclass(frozen=True, slots=True)
class Toleration:
    """A pod's toleration. key, value, effect: None stands for any."""

    key: str | None
    value: str | None
    effect: str | None

    def tolerates(self, taint: Taint) -> bool:
        """Say whether a pod with this toleration may run despite the taint."""
        return (
            self.key in (None, taint.key)
            and self.value in (None, taint.value)
            and self.effect in (None, taint.effect)
        )


@dataclass(frozen=True, slots=True)
class Condition:
    """One requirement of a node's label, or of its name: then the key is NAME.

    operator: In, NotIn, Exists, DoesNotExist, Gt or Lt.
    """

    key: str
    operator: str
    values: tuple[str, ...]

    def holds(self, labels: Mapping[str, str]) -> bool:
        """Say whether a node with these labels meets it."""
        return _OPERATORS[self.operator](labels.get(self.key), self.values)


@dataclass(frozen=True, slots=True)
class Wanted:
    """The labels of the nodes that a pod may run on.

    all_of: from its nodeSelector. any_of: the terms of its required node affinity, one of which
    must be met in full; None if it has none.
    """

    all_of: tuple[Condition, ...] = ()
    any_of: tuple[tuple[Condition, ...], ...] | None = None

    @property
    def keys(self) -> frozenset[str]:
        """The labels that decide."""
        conditions = [*self.all_of, *(each for term in self.any_of or () for each in term)]
        return frozenset(condition.key for condition in conditions)

    @property
    def names(self) -> frozenset[str] | None:
        """Names of nodes, outside of which there is none for the pod; None if there may be."""
        found: set[str] = set()
        for term in self.any_of or ((),):
            named = [each.values for each in term if (each.key, each.operator) == (NAME, "In")]
            if not named:
                return None
            found.update(named[0])
        return frozenset(found)

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Say whether the pod may run on a node with these labels, and its name under NAME."""
        if not all(condition.holds(labels) for condition in self.all_of):
            return False
        # An empty term matches no node.
        return self.any_of is None or any(
            term and all(condition.holds(labels) for condition in term) for term in self.any_of
        )


def read_tolerations(spec: Mapping[str, Any], taint_keys: frozenset[str]) -> list[Toleration]:
    """Return the pod's tolerations of taints with these keys; most pods have none."""
    found: list[Toleration] = []
    if not taint_keys:
        return found
    for entry in sequence(spec.get("tolerations")):
        entry = mapping(entry)
        key = str(entry.get("key") or "")
        if not key or key in taint_keys:
            equal = entry.get("operator") in (None, "", "Equal")
            value = str(entry.get("value") or "") if equal else None
            found.append(Toleration(key or None, value, entry.get("effect") or None))
    return found


def extended_in(amounts: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of the extended resources and huge pages of which there is an amount.

    amounts: quantities by the names of resources, of a node or of a container.
    """
    for name, amount in amounts.items():
        of_others = "/" in name and _NATIVE not in name
        if (of_others or name.startswith(_HUGE_PAGES)) and bytes_or_none(amount):
            yield name


def read_extended(spec: Mapping[str, Any], known: frozenset[str]) -> frozenset[str]:
    """Return those of the known extended resources that the pod asks for; most pods have none."""
    if not known:
        return known
    containers = (*sequence(spec.get("containers")), *sequence(spec.get("initContainers")))
    resources = [mapping(mapping(each).get("resources")) for each in (spec, *containers)]
    amounts = [mapping(each.get(kind)) for each in resources for kind in ("requests", "limits")]
    return known.intersection(name for each in amounts for name in extended_in(each))


def read_wanted(spec: Mapping[str, Any]) -> Wanted | None:
    """Return how the pod selects nodes by labels and by name; None if they do not show it.

    Pods of a DaemonSet select their node by its name. A class of nodes has no name: there, NAME is
    a label that is not known.
    """
    selector = mapping(spec.get("nodeSelector"))
    all_of = tuple(Condition(str(key), "In", (str(value),)) for key, value in selector.items())
    affinity = mapping(mapping(spec.get("affinity")).get("nodeAffinity"))
    required = affinity.get(REQUIRED)
    if required is None:
        return Wanted(all_of) if len(all_of) <= MOST_WANTED else None
    terms = []
    budget = MOST_WANTED - len(all_of)
    for term in sequence(mapping(required).get("nodeSelectorTerms")):
        term = mapping(term)
        by_labels = _conditions(sequence(term.get("matchExpressions")))
        by_name = _conditions(sequence(term.get("matchFields")), _FIELDS)
        if by_labels is None or by_name is None:
            return None
        conditions = (*by_labels, *by_name)
        budget -= 1 + sum(1 + len(condition.values) for condition in conditions)
        if budget < 0:
            return None
        terms.append(conditions)
    return Wanted(all_of, tuple(terms))


def _conditions(
    expressions: Sequence[Any], keys: Mapping[str, str] | None = None
) -> tuple[Condition, ...] | None:
    """The conditions of one term; None if one of them is unknown.

    keys: those that are known, and what stands for them; None if each stands for itself.
    """
    read = []
    for expression in map(mapping, expressions):
        key, operator = expression.get("key"), str(expression.get("operator"))
        values = sequence(expression.get("values"))
        if keys is not None:
            key = keys.get(str(key))
        if not isinstance(key, str) or operator not in _OPERATORS or len(values) > MOST_WANTED:
            return None
        read.append(Condition(key, operator, tuple(str(value) for value in values)))
    return tuple(read)


def _number(text: str | None) -> int | None:
    # A label's value has at most 63 characters.
    if text is None or len(text) > 63 or not text.removeprefix("-").isdecimal():
        return None
    return int(text)


def _is_above(value: str | None, values: tuple[str, ...]) -> bool:
    return _is_beyond(value, values, 1)


def _is_below(value: str | None, values: tuple[str, ...]) -> bool:
    return _is_beyond(value, values, -1)


def _is_beyond(value: str | None, values: tuple[str, ...], sign: int) -> bool:
    label, bound = _number(value), _number(values[0] if len(values) == 1 else None)
    return label is not None and bound is not None and sign * label > sign * bound


_FIELDS: Final[Mapping[str, str]] = {"metadata.name": NAME}

_OPERATORS: Final[Mapping[str, Callable[[str | None, tuple[str, ...]], bool]]] = {
    "In": lambda value, values: value in values,
    "NotIn": lambda value, values: value not in values,
    "Exists": lambda value, _values: value is not None,
    "DoesNotExist": lambda value, _values: value is None,
    "Gt": _is_above,
    "Lt": _is_below,
}
