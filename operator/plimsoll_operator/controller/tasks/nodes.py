"""Holds the newest state of each node: its capacity, its type, and its class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from plimsoll_operator.names.quantity import bytes_or_none, millicores_or_none
from plimsoll_operator.pods.spec import conditions_in, labels_of, mapping, sequence
from plimsoll_operator.sizing.bounds.node_groups import NodeGroups, read_seen
from plimsoll_operator.sizing.bounds.nodes import Nodes
from plimsoll_operator.sizing.node_hint import HOST_NAME, is_of_karpenter

Object: TypeAlias = Mapping[str, Any]

PRESSURES: Final = ("MemoryPressure", "DiskPressure", "PIDPressure")
"""Conditions under which a kubelet ends pods."""
TYPE_LABELS: Final = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
CLOSING: Final = ("NoSchedule", "NoExecute")
"""Effects of taints that keep pods without tolerations away."""
_TYPE_CHARS: Final = 63
"""The longest value that a label may have."""


@dataclass(frozen=True, slots=True)
class Capacity:
    """Memory and CPU that may be allocated; None if unknown."""

    memory_bytes: int | None = None
    millicores: int | None = None

    @property
    def cpu(self) -> float:
        """Cores; 0 if unknown."""
        return (self.millicores or 0) / 1000


@dataclass(frozen=True, slots=True)
class Node:
    """One node. type: its instance type; None if no label says it.

    pressed: whether its kubelet says that it is short of memory.
    takes_pods: whether an ordinary pod may go there now.
    host: the name by which pods can prefer it; None if an ordinary pod cannot or should not go
        there now. A node with a taint that only discourages pods has no such name.
    strained: the same name if its kubelet says that it is short of anything; else None.
    """

    capacity: Capacity
    type: str | None
    pressed: bool = False
    takes_pods: bool = False
    host: str | None = None
    strained: str | None = None


NOTHING: Final = Capacity()


class ClusterNodes:
    """The newest state of each node; there are as many as the cluster has."""

    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}
        self._groups = NodeGroups()
        self.has_karpenter = False
        """It stays: Karpenter may remove all of its nodes, and make others."""
        self.total = NOTHING
        """The capacity of all nodes together."""

    def see_karpenter(self) -> None:
        """Karpenter is installed, whether it made a node or not."""
        self.has_karpenter = True

    @property
    def classes(self) -> Nodes:
        """The nodes as pods can tell them apart, for caps."""
        return replace(self._groups.nodes, karpenter=self.has_karpenter)

    def capacity(self, name: str) -> Capacity:
        """The capacity of one node; no capacity if the node is unknown."""
        node = self._nodes.get(name)
        return NOTHING if node is None else node.capacity

    def type_of(self, name: str | None) -> str | None:
        """A node's instance type; None if it is unknown, or says none."""
        node = self._nodes.get(name) if name is not None else None
        return None if node is None else node.type

    def is_pressed(self, name: str) -> bool:
        """Say whether a node is short of memory."""
        node = self._nodes.get(name)
        return node is not None and node.pressed

    def host_of(self, name: str) -> str | None:
        """The name by which pods can prefer a node; None if an ordinary pod cannot go there now."""
        node = self._nodes.get(name)
        return None if node is None else node.host

    def hosts(self) -> Mapping[str, str]:
        """Return the nodes that take any pod now: node -> its host's name. O(nodes)."""
        return {name: node.host for name, node in self._nodes.items() if node.host is not None}

    def strained(self) -> Mapping[str, str]:
        """Return the nodes under pressure: node -> its host's name. O(nodes)."""
        nodes = self._nodes.items()
        return {name: node.strained for name, node in nodes if node.strained is not None}

    def see(self, document: Object, *, gone: bool) -> bool:
        """A node appeared, changed or went. Return whether the classes may have changed."""
        name = str(document["metadata"]["name"])
        before, now = self._nodes.pop(name, None), None if gone else read_node(document)
        if now is not None:
            self._nodes[name] = now
        if before != now:
            lost, won = _capacity_of(before), _capacity_of(now)
            self.total = Capacity(
                (self.total.memory_bytes or 0) - (lost.memory_bytes or 0) + (won.memory_bytes or 0),
                (self.total.millicores or 0) - (lost.millicores or 0) + (won.millicores or 0),
            )
        is_first = not self.has_karpenter and is_of_karpenter(labels_of(document))
        self.has_karpenter = self.has_karpenter or is_first
        return self._groups.see(name, None if gone else read_seen(document)) or is_first


def _capacity_of(node: Node | None) -> Capacity:
    return NOTHING if node is None else node.capacity


def read_node(document: Object) -> Node:
    """Read a node's object; what cannot be read counts as missing."""
    allocatable = mapping(mapping(document.get("status")).get("allocatable"))
    labels = mapping(mapping(document.get("metadata")).get("labels"))
    type_name = next((labels[name] for name in TYPE_LABELS if labels.get(name)), None)
    capacity = Capacity(
        bytes_or_none(allocatable.get("memory")), millicores_or_none(allocatable.get("cpu"))
    )
    short_of = {kind for kind in PRESSURES if _condition(document, kind) == "True"}
    host = labels.get(HOST_NAME)
    host = str(host)[:_TYPE_CHARS] if host else None
    takes_pods = _is_open(document) and not short_of
    return Node(
        capacity,
        type=str(type_name)[:_TYPE_CHARS] if type_name else None,
        pressed="MemoryPressure" in short_of,
        takes_pods=takes_pods,
        host=host if takes_pods and not _taints_of(document) else None,
        strained=host if short_of else None,
    )


def _is_open(document: Object) -> bool:
    """Say whether a pod without tolerations may go there: it is ready and no taint forbids it."""
    spec = mapping(document.get("spec"))
    leaving = mapping(document.get("metadata")).get("deletionTimestamp") is not None
    closing = any(taint.get("effect") in CLOSING for taint in _taints_of(document))
    closed = spec.get("unschedulable") or closing or leaving
    # A node without this condition is a test's, or a virtual one.
    return not closed and _condition(document, "Ready") in (None, "True")


def _taints_of(document: Object) -> list[Object]:
    return [mapping(taint) for taint in sequence(mapping(document.get("spec")).get("taints"))]


def _condition(document: Object, kind: str) -> object:
    """Return a condition's status; None if the node does not have it."""
    for condition in conditions_in(document):
        if condition.get("type") == kind:
            return condition.get("status")
    return None
