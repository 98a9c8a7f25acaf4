"""The cluster's nodes as attempts meet them: what each may hold, and of which type it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from plimsoll_operator.names.quantity import bytes_or_none, millicores_or_none
from plimsoll_operator.pods.spec import mapping

TYPE_LABELS: Final = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
_TYPE_CHARS: Final = 63
"""What a label's value may have."""


@dataclass(frozen=True, slots=True)
class Capacity:
    """What may be allocated. 0 where nobody said."""

    memory_bytes: int = 0
    cpu: float = 0.0
    """Cores."""


@dataclass(frozen=True, slots=True)
class Node:
    """One node. type: its instance type; None where no label says."""

    capacity: Capacity
    type: str | None


NOTHING: Final = Capacity()


class ClusterNodes:
    """The newest of each node. Bounded by the nodes there are."""

    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}
        self._total = NOTHING

    @property
    def total(self) -> Capacity:
        """Of all nodes together."""
        return self._total

    def capacity(self, name: str) -> Capacity:
        """Of one node; nothing of an unknown one."""
        node = self._nodes.get(name)
        return NOTHING if node is None else node.capacity

    def type_of(self, name: str | None) -> str | None:
        """A node's instance type; None if it is unknown, or says none."""
        node = self._nodes.get(name) if name is not None else None
        return None if node is None else node.type

    def see(self, document: Mapping[str, Any], *, gone: bool) -> None:
        """A node appeared, changed or went. One that went is forgotten with its type."""
        name = str(document["metadata"]["name"])
        node = None if gone else read_node(document)
        if node == self._nodes.get(name):
            return
        if node is None:
            del self._nodes[name]
        else:
            self._nodes[name] = node
        held = [each.capacity for each in self._nodes.values()]
        self._total = Capacity(
            sum(each.memory_bytes for each in held), sum(each.cpu for each in held)
        )


def read_node(document: Mapping[str, Any]) -> Node:
    """What a node's object says; what cannot be read counts as not said."""
    allocatable = mapping(mapping(document.get("status")).get("allocatable"))
    labels = mapping(mapping(document.get("metadata")).get("labels"))
    found = next((labels[name] for name in TYPE_LABELS if labels.get(name)), None)
    memory_bytes = bytes_or_none(allocatable.get("memory")) or 0
    cores = (millicores_or_none(allocatable.get("cpu")) or 0) / 1000
    return Node(Capacity(memory_bytes, cores), str(found)[:_TYPE_CHARS] if found else None)
