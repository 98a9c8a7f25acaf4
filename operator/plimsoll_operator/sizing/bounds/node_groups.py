"""Groups a cluster's nodes into classes, as its nodes come, change and go.

Nodes are in one class if no pod can distinguish them: they have the same taints, the same values of
the labels that count, and the same extended resources, of whatever amount. A label with many values
(a host's name) would make each node a class of its own, so it does not count, and a pod that
selects by it is not capped. The number of classes and their size as JSON are bounded; beyond the
bounds, fewer labels count. The names of a node's extended resources are one more label in all this.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import orjson

from plimsoll_operator.names.quantity import bytes_or_none, millicores_or_none
from plimsoll_operator.pods.spec import mapping, sequence
from plimsoll_operator.sizing.bounds.nodes import NO_NODES, NodeClass, Nodes
from plimsoll_operator.sizing.bounds.selecting import Taint, extended_in
from plimsoll_predictor.core.units import MIB

MOST_VALUES: Final = 32
"""A label with more values than this does not count."""
MOST_CLASSES: Final = 128
MOST_BYTES: Final = 2**16
MEMORY_STEP_BYTES: Final = 64 * MIB
"""Memory is rounded down to a multiple of it: machines of one type differ by a few pages."""

_EXTENDED: Final = ""
"""Stands for the names of a node's extended resources among its labels. No label has this key."""
_AWAY: Final = frozenset({"NoSchedule", "NoExecute"})
_CORDON: Final = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
_LEAVING: Final = "ToBeDeletedByClusterAutoscaler"
"""A taint whose value is a time, which differs from node to node."""
_MOMENTARY: Final = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/")
"""Taints of a node's condition (not ready, out of disk): they do not change its size."""
_SYSTEMS: Final = ("kubernetes.io/os", "beta.kubernetes.io/os")

_Labels: TypeAlias = frozenset[tuple[str, str]]
_Group: TypeAlias = tuple[_Labels, tuple[Taint, ...]]
_Size: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True)
class SeenNode:
    """What pods can see of one node.

    size: memory in bytes, then millicores or -1. extended: its extended resources' names.
    """

    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    size: _Size
    extended: frozenset[str] = frozenset()

    @property
    def traits(self) -> Mapping[str, str]:
        """Its labels, and the names of its extended resources under _EXTENDED if it has any."""
        if not self.extended:
            return self.labels
        return {**self.labels, _EXTENDED: " ".join(sorted(self.extended))}


def read_seen(document: Mapping[str, Any]) -> SeenNode | None:
    """Read a node's object; None if no pod of ours runs there, or if it has no memory field."""
    labels = mapping(mapping(document.get("metadata")).get("labels"))
    if any(labels.get(key, "linux") != "linux" for key in _SYSTEMS):
        return None
    allocatable = mapping(mapping(document.get("status")).get("allocatable"))
    memory_bytes = bytes_or_none(allocatable.get("memory"))
    if memory_bytes is None:
        return None
    millicores = millicores_or_none(allocatable.get("cpu"))
    return SeenNode(
        {str(key): str(value) for key, value in labels.items()},
        _taints(mapping(document.get("spec"))),
        (
            memory_bytes // MEMORY_STEP_BYTES * MEMORY_STEP_BYTES,
            -1 if millicores is None else millicores,
        ),
        frozenset(extended_in(allocatable)),
    )


def _taints(spec: Mapping[str, Any]) -> tuple[Taint, ...]:
    taints = {_CORDON} if spec.get("unschedulable") else set()
    for taint in map(mapping, sequence(spec.get("taints"))):
        key, effect = str(taint.get("key")), str(taint.get("effect"))
        if key == _LEAVING:
            taints.add(_CORDON)
        elif effect in _AWAY and not key.startswith(_MOMENTARY):
            taints.add(Taint(key, str(taint.get("value") or ""), effect))
    return tuple(sorted(taints, key=lambda taint: (taint.key, taint.value, taint.effect)))


class NodeGroups:
    """The classes of the nodes seen so far. A change nearly always costs O(labels of a node)."""

    def __init__(self) -> None:
        self._seen: dict[str, SeenNode] = {}
        self._values: defaultdict[str, Counter[str]] = defaultdict(Counter)
        """label -> value -> how many nodes."""
        self._uncounted: set[str] = set()
        """The labels that do not separate ``_groups``."""
        self._groups: defaultdict[_Group, Counter[_Size]] = defaultdict(Counter)
        self._most_values = MOST_VALUES
        self._nodes: Nodes | None = NO_NODES

    def see(self, name: str, seen: SeenNode | None) -> bool:
        """Note that a node appeared, changed or (None) went; say whether classes may change."""
        before = self._seen.get(name)
        if before == seen:
            return False
        if before is not None:
            del self._seen[name]
            self._count(before, -1)
        if seen is not None:
            self._seen[name] = seen
            self._count(seen, 1)
        touched = {key for node in (before, seen) if node is not None for key in node.traits}
        if any((key in self._uncounted) != self._has_many(key) for key in touched):
            self._regroup()
        return self._nodes is None

    @property
    def nodes(self) -> Nodes:
        """The classes now; none if there are too many even when few labels count."""
        if self._nodes is None:
            self._nodes = self._classes()
        return self._nodes

    def _classes(self) -> Nodes:
        while True:
            if len(self._groups) <= MOST_CLASSES:
                nodes = Nodes.of([_class_of(*each) for each in self._groups.items()])
                if len(orjson.dumps(nodes.to_document())) <= MOST_BYTES:
                    return nodes
            if self._most_values == 0:
                return NO_NODES
            self._most_values //= 2
            self._regroup()

    def _has_many(self, key: str) -> bool:
        return len(self._values.get(key, ())) > self._most_values

    def _count(self, node: SeenNode, by: int) -> None:
        for key, value in node.traits.items():
            values = self._values[key]
            values[value] += by
            if not values[value]:
                del values[value]
            if not values:
                del self._values[key]
        group = self._group_of(node)
        sizes = self._groups[group]
        largest = max(sizes, default=None)
        sizes[node.size] += by
        if not sizes[node.size]:
            del sizes[node.size]
        if not sizes:
            del self._groups[group]
        if largest != max(sizes, default=None):
            self._nodes = None

    def _group_of(self, node: SeenNode) -> _Group:
        labels = ((k, v) for k, v in node.traits.items() if k not in self._uncounted)
        return frozenset(labels), node.taints

    def _regroup(self) -> None:
        if not self._seen:
            self._most_values = MOST_VALUES
        self._uncounted = {key for key in self._values if self._has_many(key)}
        self._groups.clear()
        self._nodes = None
        for node in self._seen.values():
            self._groups[self._group_of(node)][node.size] += 1


def _class_of(group: _Group, sizes: Iterable[_Size]) -> NodeClass:
    memory_bytes, millicores = max(sizes)
    traits, taints = group
    labels = dict(traits)
    extended = frozenset(labels.pop(_EXTENDED, "").split())
    known = None if millicores < 0 else millicores
    return NodeClass(labels, taints, memory_bytes, known, extended)
