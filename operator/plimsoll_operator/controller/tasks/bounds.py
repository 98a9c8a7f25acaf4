"""Holds what bounds an allocation from outside: LimitRanges, quotas and nodes.

Watched objects come in one at a time. The feed gets what admission needs of them, together with
the namespaces' policies.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from plimsoll_operator.controller.hub.hub import PolicyChanged
from plimsoll_operator.controller.tasks.task_policies import TaskPolicies
from plimsoll_operator.feed.board import FeedBoard
from plimsoll_operator.names.quantity import bytes_or_none, millicores_or_none
from plimsoll_operator.pods.spec import mapping
from plimsoll_operator.sizing.bounds import NamespaceBounds, bounds_of_any_pod, read_namespace
from plimsoll_predictor.core.decision import Bounds

Object = Mapping[str, Any]

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
        self.total = NOTHING
        """The capacity of all nodes together."""

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

        Another node may have more CPU, but a pod with both would fit on neither.
        """
        sized = [capacity for capacity in self._capacities() if capacity.memory_bytes is not None]
        return max(sized, key=lambda one: (one.memory_bytes, one.millicores or 0), default=NOTHING)

    def see(self, document: Object, *, gone: bool) -> bool:
        """A node appeared, changed or went. Return whether anything of it is new."""
        name = str(document["metadata"]["name"])
        node = None if gone else read_node(document)
        if node == self._nodes.get(name):
            return False
        if node is None:
            del self._nodes[name]
        else:
            self._nodes[name] = node
        self.total = Capacity(
            sum(capacity.memory_bytes or 0 for capacity in self._capacities()),
            sum(capacity.millicores or 0 for capacity in self._capacities()),
        )
        return True

    def _capacities(self) -> list[Capacity]:
        return [node.capacity for node in self._nodes.values()]


def read_node(document: Object) -> Node:
    """Read a node's object; what cannot be read counts as missing."""
    allocatable = mapping(mapping(document.get("status")).get("allocatable"))
    labels = mapping(mapping(document.get("metadata")).get("labels"))
    type_name = next((labels[name] for name in TYPE_LABELS if labels.get(name)), None)
    capacity = Capacity(
        bytes_or_none(allocatable.get("memory")), millicores_or_none(allocatable.get("cpu"))
    )
    return Node(capacity, str(type_name)[:_TYPE_CHARS] if type_name else None)


class ClusterBounds:
    """The newest LimitRanges, ResourceQuotas and nodes, and the namespaces they bound."""

    def __init__(self, board: FeedBoard, policies: TaskPolicies, nodes: ClusterNodes) -> None:
        self._board = board
        self._policies = policies
        self._objects: dict[str, dict[str, dict[str, Object]]] = {}
        """namespace -> kind ("LimitRange", "ResourceQuota") -> name -> object."""
        self._read: dict[str, NamespaceBounds] = {}
        self._nodes = nodes
        self._publish_defaults()

    @property
    def largest_node_bytes(self) -> int | None:
        """Allocatable memory of the largest node; None while no node is known."""
        return self._nodes.largest.memory_bytes

    def in_namespace(self, namespace: str) -> Bounds:
        """The bounds of a lift in ``namespace``, whichever of its pods is lifted."""
        return bounds_of_any_pod(self.of_namespace(namespace), self.largest_node_bytes)

    def of_namespace(self, namespace: str) -> NamespaceBounds:
        """Return what a namespace's LimitRanges and quotas allow a pod; admission has the same."""
        return self._read.get(namespace, NamespaceBounds())

    def see(self, kind: str, document: Object, *, gone: bool) -> None:
        """A LimitRange or ResourceQuota appeared, changed or went."""
        meta = document["metadata"]
        named = self._objects.setdefault(meta["namespace"], {}).setdefault(kind, {})
        if gone:
            named.pop(meta["name"], None)
        else:
            named[meta["name"]] = document
        self._publish(meta["namespace"])

    def policy_changed(self, event: PolicyChanged) -> None:
        """Publish the policy. The cluster's policy is the base of every namespace's."""
        if event.namespace is not None:
            self._publish(event.namespace)
            return
        self._publish_defaults()
        for namespace in self._policies.namespaces:
            self._publish(namespace)

    def see_node(self, document: Object, *, gone: bool) -> None:
        """A node appeared, changed or went; only what is new is published."""
        if self._nodes.see(document, gone=gone):
            self._publish_defaults()

    def _publish_defaults(self) -> None:
        largest = self._nodes.largest
        self._board.set_defaults(
            self._policies.default,
            paused=self._policies.paused,
            largest_node_bytes=largest.memory_bytes,
            largest_node_millicores=largest.millicores,
        )

    def _publish(self, namespace: str) -> None:
        kinds = self._objects.get(namespace, {})
        limit_ranges = list(kinds.get("LimitRange", {}).values())
        quotas = list(kinds.get("ResourceQuota", {}).values())
        self._read[namespace] = read_namespace(limit_ranges, quotas)
        has_policy = namespace in self._policies.namespaces
        self._board.set_namespace(
            namespace,
            policy=self._policies.in_namespace(namespace).policy if has_policy else None,
            limit_ranges=limit_ranges,
            quotas=quotas,
        )
