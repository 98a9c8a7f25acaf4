"""The outer bounds of an allocation: LimitRanges, quotas and nodes.

Watched objects come in one at a time. The feed gets what admission needs of them, together with
the namespaces' policies.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from plimsoll_operator.controller.hub.hub import PolicyChanged
from plimsoll_operator.controller.tasks.nodes import ClusterNodes
from plimsoll_operator.controller.tasks.task_policies import TaskPolicies
from plimsoll_operator.feed.board import FeedBoard
from plimsoll_operator.sizing.bounds import NamespaceBounds, bounds_of_any_pod, read_namespace
from plimsoll_predictor.core.decision import Bounds

Object = Mapping[str, Any]


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
        """A node appeared, changed or went; the board drops what is nothing new."""
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
