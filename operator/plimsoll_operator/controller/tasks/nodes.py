"""The cluster's nodes: what each may hold, and of which type it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from plimsoll_operator.names.quantity import bytes_or_none, millicores_or_none
from plimsoll_operator.pods.spec import mapping

TYPE_LABELS: Final = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
_TYPE_CHARS: Final = 63
"""The longest value that a label may have."""


@dataclass(frozen=True, slots=True)
class Capacity:
    """Memory and CPU that may be allocated; None where nobody said."""

    memory_bytes: int | None = None
    millicores: int | None = None

    @property
    def cpu(self) -> float:
        """Cores; 0 where nobody said."""
        return (self.millicores or 0) / 1000


@dataclass(frozen=True, slots=True)
class Node:
    """One node. type: its instance type; None where no label says."""

    capacity: Capacity
    type: str | None


NOTHING: Final = Capacity()


class ClusterNodes:
    """The newest state of each node; there are as many as the cluster has."""

    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}
        self._total = NOTHING

    @property
    def total(self) -> Capacity:
        """The capacity of all nodes together."""
        return self._total

    def capacity(self, name: str) -> Capacity:
        """The capacity of one node; no capacity if the node is unknown."""
        node = self._nodes.get(name)
        return NOTHING if node is None else node.capacity

    def type_of(self, name: str | None) -> str | None:
        """A node's instance type; None if it is unknown, or says none."""
        node = self._nodes.get(name) if name is not None else None
        return None if node is None else node.type

    @property
    def largest(self) -> Capacity:
        """The capacity of the node with the most memory; its parts are None while unknown.

        Its CPU is not the most of any node: a pod raised to that would fit on no node with its
        memory.
        """
        sized = [each for each in self._capacities() if each.memory_bytes is not None]
        return max(
            sized, key=lambda each: (each.memory_bytes, each.millicores or 0), default=NOTHING
        )

    def see(self, document: Mapping[str, Any], *, gone: bool) -> bool:
        """A node appeared, changed or went. True if that changed what is known of the nodes."""
        name = str(document["metadata"]["name"])
        node = None if gone else read_node(document)
        if node == self._nodes.get(name):
            return False
        if node is None:
            del self._nodes[name]
        else:
            self._nodes[name] = node
        self._total = Capacity(
            sum(each.memory_bytes or 0 for each in self._capacities()),
            sum(each.millicores or 0 for each in self._capacities()),
        )
        return True

    def _capacities(self) -> list[Capacity]:
        return [node.capacity for node in self._nodes.values()]


def read_node(document: Mapping[str, Any]) -> Node:
    """Read a node's object; what cannot be read counts as missing."""
    allocatable = mapping(mapping(document.get("status")).get("allocatable"))
    labels = mapping(mapping(document.get("metadata")).get("labels"))
    type_name = next((labels[name] for name in TYPE_LABELS if labels.get(name)), None)
    capacity = Capacity(
        bytes_or_none(allocatable.get("memory")), millicores_or_none(allocatable.get("cpu"))
    )
    return Node(capacity, str(type_name)[:_TYPE_CHARS] if type_name else None)
