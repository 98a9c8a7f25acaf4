"""Holds what bounds an allocation from outside: LimitRanges, quotas, nodes, other autoscalers.

Watched objects come in one at a time. The feed gets what admission needs of them, together with
the namespaces' policies.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from plimsoll_operator.controller.hub.hub import PolicyChanged
from plimsoll_operator.controller.tasks.nodes import ClusterNodes
from plimsoll_operator.controller.tasks.task_policies import TaskPolicies
from plimsoll_operator.feed.board import FeedBoard
from plimsoll_operator.pods.autoscalers import Autoscaler, Autoscalers, by_target
from plimsoll_operator.pods.spec import Pod
from plimsoll_operator.sizing.bounds.caps import PodAmounts, bounds_of_lift
from plimsoll_operator.sizing.bounds.namespaces import UNBOUNDED, NamespaceBounds, read_namespace
from plimsoll_operator.sizing.bounds.nodes import Nodes
from plimsoll_predictor.core.decision import Bounds
from plimsoll_predictor.core.record import Observation

Object: TypeAlias = Mapping[str, Any]

_NONE: Final[Autoscalers] = {}


class ClusterBounds:
    """The newest LimitRanges, ResourceQuotas and nodes, and the namespaces they bound."""

    def __init__(self, board: FeedBoard, policies: TaskPolicies, nodes: ClusterNodes) -> None:
        self._board = board
        self._policies = policies
        self._objects: dict[str, dict[str, dict[str, Object]]] = {}
        """namespace -> kind ("LimitRange", "ResourceQuota") -> name -> object."""
        self._read: dict[str, NamespaceBounds] = {}
        self._autoscalers: Mapping[str, tuple[Autoscaler, ...]] = {}
        self._by_target: dict[str, Autoscalers] = {}
        self._nodes = nodes
        self.unhealed: str | None = None
        """Why a killed run would not be lifted at present; None if it would."""
        self._publish_defaults()

    @property
    def nodes(self) -> Nodes:
        """The classes of the cluster's nodes; admission has the same."""
        return self._nodes.classes

    def of_lift(self, pod: Pod, killed: Observation, limit_bytes: int | None) -> Bounds:
        """The bounds of the attempt after a kill of ``pod``. limit_bytes: the written one."""
        amounts = PodAmounts(
            request=killed.request_bytes, limit=limit_bytes, killed=killed.allocation_bytes
        )
        return bounds_of_lift(pod, amounts, self.of_namespace(killed.task.namespace), self.nodes)

    def of_namespace(self, namespace: str) -> NamespaceBounds:
        """Return what a namespace's LimitRanges and quotas allow a pod; admission has the same."""
        return self._read.get(namespace, UNBOUNDED)

    def autoscalers_in(self, namespace: str) -> Autoscalers:
        """Return the VerticalPodAutoscalers of a namespace that change pods."""
        return self._by_target.get(namespace, _NONE)

    def set_autoscalers(self, autoscalers: Mapping[str, tuple[Autoscaler, ...]]) -> None:
        """Set all VerticalPodAutoscalers that change pods, by namespace."""
        before, self._autoscalers = self._autoscalers, autoscalers
        self._by_target = {name: by_target(each) for name, each in autoscalers.items()}
        for namespace in before.keys() | autoscalers.keys():
            if before.get(namespace) != autoscalers.get(namespace):
                self._publish(namespace)

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
        """A node appeared, changed or went; it is published if the classes have changed."""
        if self._nodes.see(document, gone=gone):
            self._publish_defaults()

    def see_karpenter(self) -> None:
        """Karpenter is installed: pods prefer no hosts by name."""
        self._nodes.see_karpenter()
        self._publish_defaults()

    def set_unhealed(self, why: str | None) -> None:
        """Tell admission why a killed run would not be lifted; None if it would."""
        self.unhealed = why
        self._publish_defaults()

    def _publish_defaults(self) -> None:
        self._board.set_defaults(
            self._policies.default,
            paused=self._policies.paused,
            unhealed=self.unhealed,
            nodes=self.nodes,
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
            autoscalers=self._autoscalers.get(namespace, ()),
        )
