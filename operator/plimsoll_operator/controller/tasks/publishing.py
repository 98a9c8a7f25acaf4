"""The knowledge that decides sizes: what the feed gets, and the same for pods decided here.

The feed gets what is urgent at once, and what is learned now and then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from plimsoll_operator.controller.hub.hub import (
    Hub,
    TaskChanged,
    TaskForgotten,
    TaskLearned,
    TaskPublished,
)
from plimsoll_operator.controller.tasks.book import TaskBook
from plimsoll_operator.controller.tasks.item_needs import ItemNeeds
from plimsoll_operator.controller.tasks.surroundings import ClusterBounds
from plimsoll_operator.controller.tasks.task_policies import TaskPolicies
from plimsoll_operator.pods.identity import identify
from plimsoll_operator.pods.spec import Pod
from plimsoll_operator.sizing.state import AdmissionState, NamespaceState
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.knowledge.knowledge import Knowledge


class Publications:
    """Knows which tasks the feed does not have yet, and what the feed may have of them.

    A run is counted before its experts learn it. If it were published at once, the count would
    pass ``min_runs`` while the rule that decides does not know the run yet.
    """

    def __init__(self, book: TaskBook, hub: Hub) -> None:
        self._book = book
        self._hub = hub
        self._unpublished: dict[TaskId, None] = {}
        self._ahead: Counter[TaskId] = Counter()

    def deciding(self, task: TaskId) -> Knowledge:
        """Return what is known of ``task`` from the runs that its experts have learned."""
        knowledge, ahead = self._book.look(task), self._ahead.get(task)
        return replace(knowledge, runs=max(0, knowledge.runs - ahead)) if ahead else knowledge

    def ahead(self) -> Mapping[TaskId, int]:
        """How many runs each task counts that its experts may not know. All are in the store."""
        return dict(self._ahead)

    def caught_up(self, ahead: Mapping[TaskId, int]) -> None:
        """Note that the experts have learned all runs of ``ahead``; later runs are still ahead."""
        for task in ahead.keys() & self._ahead.keys():
            self._unpublished[task] = None
        self._ahead -= Counter(ahead)

    def publish_learned(self) -> None:
        """Publish what was learned since the last time: once a task, however many attempts ended.

        A publication carries the whole task, without its model; what is urgent goes at once.
        """
        for task in self._unpublished:
            self._hub.publish(TaskPublished(self.deciding(task)))
        self._unpublished.clear()

    def task_learned(self, event: TaskLearned) -> None:
        """Publish the task with the next publication."""
        if event.new_runs:
            self._ahead[event.task] += event.new_runs
        self._unpublished[event.task] = None

    def task_changed(self, event: TaskChanged) -> None:
        """Publish the task now, with all that was learned of it."""
        self._unpublished.pop(event.task, None)
        self._hub.publish(TaskPublished(self.deciding(event.task)))

    def task_forgotten(self, event: TaskForgotten) -> None:
        """Publish nothing of the task any more."""
        self._unpublished.pop(event.task, None)
        self._ahead.pop(event.task, None)


@dataclass(frozen=True, slots=True)
class SizingState:
    """Reads what the controller knows; keeps nothing."""

    publications: Publications
    policies: TaskPolicies
    bounds: ClusterBounds
    items: ItemNeeds

    def of_task(self, task: TaskId) -> AdmissionState:
        """Return all that the sizes of a task's pods depend on."""
        knowledge = self.publications.deciding(task)
        bounds = self.bounds.of_namespace(task.namespace)
        return AdmissionState(
            default_policy=knowledge.policy,
            largest_node_bytes=self.bounds.largest_node_bytes,
            tasks={task: knowledge},
            namespaces={task.namespace: NamespaceState(policy=None, bounds=bounds)},
            siblings=self.items.siblings,
            paused=self.policies.paused,
        )

    def for_pod(self, pod: Pod) -> AdmissionState:
        """Return the same as ``of_task``, for the task of a pod that waits."""
        identity = identify(pod)
        assert identity is not None, "who has no task is not among those that wait"
        return self.of_task(identity.task)
