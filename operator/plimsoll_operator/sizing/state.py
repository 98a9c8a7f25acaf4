"""All that sizing knows, held in memory: tasks, namespaces, the cluster's defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from plimsoll_operator.sizing.bounds import NamespaceBounds
from plimsoll_operator.sizing.cpu_bounds import UNBOUNDED, NamespaceCpu
from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.core.siblings import Siblings
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.knowledge.knowledge import Knowledge
from plimsoll_predictor.model.task_model import Model


@dataclass(frozen=True, slots=True)
class NamespaceState:
    """What holds in one namespace.

    policy: for tasks that nobody knows yet; None leaves the cluster's.
    document: the JSON it was read from, for a copy on disk.
    """

    policy: Policy | None
    bounds: NamespaceBounds
    document: Mapping[str, Any] = field(default_factory=dict)
    cpu: NamespaceCpu = UNBOUNDED


UNBOUNDED_NAMESPACE = NamespaceState(policy=None, bounds=NamespaceBounds())


@dataclass(slots=True)
class AdmissionState:
    """The newest state the feed brought. Its values are immutable; keys are replaced whole.

    largest_node_bytes: allocatable memory of the largest node; None if unknown.
    largest_node_millicores: that node's allocatable CPU; None if unknown.
    models: those of ``tasks``, and of tasks that the feed is about to tell of.
    siblings: what was needed for items of workflows; bounded by itself.
    paused: whether all of the cluster is; over every policy and pod.
    """

    default_policy: Policy = field(default_factory=Policy)
    largest_node_bytes: int | None = None
    largest_node_millicores: int | None = None
    tasks: dict[TaskId, Knowledge] = field(default_factory=dict)
    models: dict[TaskId, Model] = field(default_factory=dict)
    namespaces: dict[str, NamespaceState] = field(default_factory=dict)
    siblings: Siblings = field(default_factory=Siblings)
    paused: bool = False

    def replace(self, other: AdmissionState) -> None:
        """Take over everything another state holds, at once."""
        for each in fields(self):
            setattr(self, each.name, getattr(other, each.name))

    def namespace(self, name: str) -> NamespaceState:
        """What holds in a namespace; one that was never heard of bounds nothing."""
        return self.namespaces.get(name, UNBOUNDED_NAMESPACE)

    def knowledge_of(self, task: TaskId) -> Knowledge:
        """What is known of a task; of an unknown one, the policy that holds for it."""
        knowledge = self.tasks.get(task)
        if knowledge is not None:
            return knowledge
        policy = self.namespace(task.namespace).policy or self.default_policy
        return Knowledge(task=task, policy=policy)
