"""What bounds an allocation from outside: LimitRanges, quotas, nodes; and namespaces' policies.

Watched objects come in one at a time; what admission needs of them goes to the feed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from plimsoll_operator.bounds import NamespaceBounds, read_namespace
from plimsoll_operator.controller.book import TaskBook
from plimsoll_operator.feed.board import FeedBoard
from plimsoll_operator.policies import SIZING_POLICY_NAME
from plimsoll_operator.quantity import BadQuantity, parse_bytes
from plimsoll_predictor.decision import Bounds
from plimsoll_predictor.policy import Policy

Object = Mapping[str, Any]


class ClusterBounds:
    """The newest LimitRanges, ResourceQuotas and nodes, and the namespaces they bound."""

    def __init__(self, default_policy: Policy, board: FeedBoard, book: TaskBook) -> None:
        self._default = default_policy
        self._board = board
        self._book = book
        self._objects: dict[str, dict[str, dict[str, Object]]] = {}
        """namespace -> kind ("LimitRange", "ResourceQuota") -> name -> object."""
        self._read: dict[str, NamespaceBounds] = {}
        self._nodes: dict[str, int] = {}
        self._with_policy: set[str] = set()
        self._publish_defaults()

    @property
    def largest_node_bytes(self) -> int | None:
        """Allocatable memory of the largest node; None while none is known."""
        return max(self._nodes.values(), default=None)

    def in_namespace(self, namespace: str) -> Bounds:
        """The bounds of a lift in ``namespace``; free quota is not one: a lift may wait for it."""
        known = self._read.get(namespace, NamespaceBounds())
        hard = [quota.limit_bytes for quota in known.quotas]
        hard += [quota.request_bytes for quota in known.quotas]
        caps = [known.max_bytes, known.pod_max_bytes, self.largest_node_bytes, *hard]
        return Bounds(
            floor_bytes=known.min_bytes,
            cap_bytes=min((cap for cap in caps if cap is not None), default=None),
        )

    def see(self, kind: str, document: Object, *, gone: bool) -> None:
        """A LimitRange or ResourceQuota appeared, changed or went."""
        meta = document["metadata"]
        named = self._objects.setdefault(meta["namespace"], {}).setdefault(kind, {})
        if gone:
            named.pop(meta["name"], None)
        else:
            named[meta["name"]] = document
        self._publish(meta["namespace"])

    def see_policy(self, document: Object, *, gone: bool) -> None:
        """A SizingPolicy appeared, changed or went; only the one named 'default' counts."""
        meta = document["metadata"]
        if meta["name"] != SIZING_POLICY_NAME:
            return
        namespace = meta["namespace"]
        self._book.set_namespace_spec(namespace, None if gone else document.get("spec") or {})
        (self._with_policy.discard if gone else self._with_policy.add)(namespace)
        self._publish(namespace)

    def see_node(self, document: Object, *, gone: bool) -> None:
        """A node appeared, changed or went."""
        name = document["metadata"]["name"]
        allocatable = ((document.get("status") or {}).get("allocatable") or {}).get("memory")
        before = self.largest_node_bytes
        try:
            size_bytes = None if gone or allocatable is None else parse_bytes(allocatable)
        except BadQuantity:
            size_bytes = None
        if size_bytes is None:
            self._nodes.pop(name, None)
        else:
            self._nodes[name] = size_bytes
        if self.largest_node_bytes != before:
            self._publish_defaults()

    def _publish_defaults(self) -> None:
        self._board.set_defaults(self._default, largest_node_bytes=self.largest_node_bytes)

    def _publish(self, namespace: str) -> None:
        kinds = self._objects.get(namespace, {})
        limit_ranges = list(kinds.get("LimitRange", {}).values())
        quotas = list(kinds.get("ResourceQuota", {}).values())
        self._read[namespace] = read_namespace(limit_ranges, quotas)
        has_policy = namespace in self._with_policy
        self._board.set_namespace(
            namespace,
            policy=self._book.namespace_resolved(namespace).policy if has_policy else None,
            limit_ranges=limit_ranges,
            quotas=quotas,
        )
