"""What bounds an allocation from outside: LimitRanges, quotas and nodes.

Watched objects come in one at a time; what admission needs of them goes to the feed, and the
namespaces' policies with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from plimsoll_operator.controller.hub.hub import PolicyChanged
from plimsoll_operator.controller.tasks.task_policies import TaskPolicies
from plimsoll_operator.feed.board import FeedBoard
from plimsoll_operator.names.quantity import bytes_or_none, millicores_or_none
from plimsoll_operator.sizing.bounds import NamespaceBounds, bounds_of_any_pod, read_namespace
from plimsoll_predictor.core.decision import Bounds

Object = Mapping[str, Any]


class ClusterBounds:
    """The newest LimitRanges, ResourceQuotas and nodes, and the namespaces they bound."""

    def __init__(self, board: FeedBoard, policies: TaskPolicies) -> None:
        self._board = board
        self._policies = policies
        self._objects: dict[str, dict[str, dict[str, Object]]] = {}
        """namespace -> kind ("LimitRange", "ResourceQuota") -> name -> object."""
        self._read: dict[str, NamespaceBounds] = {}
        self._nodes: dict[str, int] = {}
        self._cores: dict[str, int] = {}
        """node -> allocatable millicores."""
        self._publish_defaults()

    @property
    def largest_node_bytes(self) -> int | None:
        """Allocatable memory of the largest node; None while none is known."""
        return max(self._nodes.values(), default=None)

    @property
    def largest_node_millicores(self) -> int | None:
        """Allocatable CPU of the node with the most memory; None while it is not known.

        Not the most of any node: a pod raised to that would fit on no node with its memory.
        """
        largest_bytes = self.largest_node_bytes
        cores = [self._cores.get(n) for n, size in self._nodes.items() if size == largest_bytes]
        return max((each for each in cores if each is not None), default=None)

    def in_namespace(self, namespace: str) -> Bounds:
        """The bounds of a lift in ``namespace``, whichever of its pods is lifted."""
        return bounds_of_any_pod(self.of_namespace(namespace), self.largest_node_bytes)

    def of_namespace(self, namespace: str) -> NamespaceBounds:
        """What a namespace's LimitRanges and quotas allow a pod, as admission is told it."""
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
        """Tell admission; the cluster's policy lies below every namespace's."""
        if event.namespace is not None:
            self._publish(event.namespace)
            return
        self._publish_defaults()
        for namespace in self._policies.namespaces:
            self._publish(namespace)

    def see_node(self, document: Object, *, gone: bool) -> None:
        """A node appeared, changed or went."""
        name = document["metadata"]["name"]
        allocatable = {} if gone else (document.get("status") or {}).get("allocatable") or {}
        before = self.largest_node_bytes, self.largest_node_millicores
        _put(self._nodes, name, bytes_or_none(allocatable.get("memory")))
        _put(self._cores, name, millicores_or_none(allocatable.get("cpu")))
        if (self.largest_node_bytes, self.largest_node_millicores) != before:
            self._publish_defaults()

    def _publish_defaults(self) -> None:
        self._board.set_defaults(
            self._policies.default,
            paused=self._policies.paused,
            largest_node_bytes=self.largest_node_bytes,
            largest_node_millicores=self.largest_node_millicores,
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


def _put(sizes: dict[str, int], name: str, size: int | None) -> None:
    if size is None:
        sizes.pop(name, None)
    else:
        sizes[name] = size
