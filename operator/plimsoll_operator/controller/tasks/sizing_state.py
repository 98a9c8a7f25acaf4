"""What sizing depends on, as admission has it from the feed: for pods that are decided here."""

from __future__ import annotations

from dataclasses import dataclass

from plimsoll_operator.controller.tasks.item_needs import ItemNeeds
from plimsoll_operator.controller.tasks.publishing import Publications
from plimsoll_operator.controller.tasks.surroundings import ClusterBounds
from plimsoll_operator.controller.tasks.task_policies import TaskPolicies
from plimsoll_operator.pods.identity import identify
from plimsoll_operator.pods.spec import Pod
from plimsoll_operator.sizing.state import AdmissionState, NamespaceState
from plimsoll_predictor.core.task import TaskId


@dataclass(frozen=True, slots=True)
class SizingState:
    """Reads what the controller knows; keeps nothing."""

    publications: Publications
    policies: TaskPolicies
    bounds: ClusterBounds
    items: ItemNeeds

    def of_task(self, task: TaskId) -> AdmissionState:
        """All that sizing a task's pods depends on."""
        known = self.publications.deciding(task)
        bounds = self.bounds.of_namespace(task.namespace)
        return AdmissionState(
            default_policy=known.policy,
            largest_node_bytes=self.bounds.largest_node_bytes,
            tasks={task: known},
            namespaces={task.namespace: NamespaceState(policy=None, bounds=bounds)},
            siblings=self.items.siblings,
            paused=self.policies.paused,
        )

    def for_pod(self, pod: Pod) -> AdmissionState:
        """As ``of_task``, for the task of a pod that waits."""
        identity = identify(pod)
        assert identity is not None, "who has no task is not among those that wait"
        return self.of_task(identity.task)
