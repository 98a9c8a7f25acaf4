"""Holds all that sizing reads in memory: tasks, namespaces, the cluster's defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from plimsoll_operator.pods.autoscalers import Autoscalers
from plimsoll_operator.sizing.bounds.namespaces import UNBOUNDED, NamespaceBounds
from plimsoll_operator.sizing.bounds.nodes import NO_NODES, Nodes
from plimsoll_predictor.core.item_needs import Siblings
from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.knowledge.knowledge import Knowledge
from plimsoll_predictor.model.task_model import Model
from plimsoll_predictor.placing.hinting import Neighbourhoods
from plimsoll_predictor.splitting.chunk_runs import Learned


@dataclass(frozen=True, slots=True)
class NamespaceState:
    """The policy and bounds of one namespace.

    policy: for unknown tasks; None for the cluster's.
    document: the JSON it was read from, for a copy on disk.
    autoscalers: the VerticalPodAutoscalers in it that change pods.
    """

    policy: Policy | None
    bounds: NamespaceBounds
    document: Mapping[str, Any] = field(default_factory=dict)
    cpu: NamespaceBounds = UNBOUNDED
    autoscalers: Autoscalers = field(default_factory=dict)


UNBOUNDED_NAMESPACE = NamespaceState(policy=None, bounds=UNBOUNDED)


@dataclass(slots=True)
class AdmissionState:
    """The newest state from the feed. Its values are immutable; keys are replaced whole.

    nodes: the classes of the cluster's nodes; none if they are unknown.
    models: those of ``tasks``, and of tasks that the feed is about to bring.
    siblings: the needs for items of workflows; it bounds itself.
    paused: whether the whole cluster is paused, whatever a policy or pod says.
    unhealed: why the controller cannot lift a killed run, in words; None if it can.
    placing: which tasks run on which node, by the feed and admission's own hints; it bounds
        itself.
    ordered: tasks, as ``namespace/name``, whose new pods may wait for their turn.
    orders_jobs: whether their new Jobs may wait, too: the controller would resume them.
    chunks: what chunks of tasks took, for Jobs over items.
    leased: what leases took, for Jobs that lease their items.
    smaller: how many times in a row executors of Spark were killed for memory, by their task.
    crowded: the namespaces that may soon take no new tasks: nobody would lift a run of theirs.
    unread: tasks of which more is known than could be read.
    """

    default_policy: Policy = field(default_factory=Policy)
    nodes: Nodes = NO_NODES
    tasks: dict[TaskId, Knowledge] = field(default_factory=dict)
    models: dict[TaskId, Model] = field(default_factory=dict)
    namespaces: dict[str, NamespaceState] = field(default_factory=dict)
    siblings: Siblings = field(default_factory=Siblings)
    paused: bool = False
    unhealed: str | None = None
    placing: Neighbourhoods = field(default_factory=Neighbourhoods, compare=False)
    ordered: frozenset[str] = frozenset()
    orders_jobs: bool = False
    chunks: dict[TaskId, Learned] = field(default_factory=dict)
    leased: dict[TaskId, Learned] = field(default_factory=dict)
    smaller: dict[TaskId, int] = field(default_factory=dict)
    crowded: frozenset[str] = frozenset()
    unread: set[TaskId] = field(default_factory=set)

    def replace(self, other: AdmissionState) -> None:
        """Take over everything another state holds, at once."""
        for part in fields(self):
            setattr(self, part.name, getattr(other, part.name))

    def namespace(self, name: str) -> NamespaceState:
        """Return a namespace's policy and bounds; an unknown one has none."""
        return self.namespaces.get(name, UNBOUNDED_NAMESPACE)

    def knowledge_of(self, task: TaskId) -> Knowledge:
        """Return the knowledge of a task; for an unknown task it holds only the policy.

        A first size is not tried where nobody may lift a run, or where one may be lifted already.
        """
        knowledge = self.tasks.get(task)
        if knowledge is not None:
            return knowledge
        policy = self.namespace(task.namespace).policy or self.default_policy
        if policy.first_size < 1 and (task.namespace in self.crowded or task in self.unread):
            policy = replace(policy, first_size=1.0)
        return Knowledge(task=task, policy=policy)
