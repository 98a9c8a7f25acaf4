"""Publishes the knowledge that decides sizes, and reads it for pods that are decided here.

The feed gets urgent changes at once, and learned ones now and then.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Final

from plimsoll_operator.controller.hub.habits import Turns
from plimsoll_operator.controller.hub.hub import (
    Hub,
    PolicyChanged,
    ProfileOutdated,
    ProfileSpecChanged,
    TaskChanged,
    TaskForgotten,
    TaskLearned,
    TaskPublished,
)
from plimsoll_operator.controller.tasks.book import TaskBook
from plimsoll_operator.controller.tasks.bounds import ClusterBounds
from plimsoll_operator.controller.tasks.publishing_item_needs import ItemNeeds
from plimsoll_operator.controller.tasks.task_policies import TaskPolicies
from plimsoll_operator.feed.board import FeedBoard
from plimsoll_operator.pods.identity import identify
from plimsoll_operator.pods.spec import Pod
from plimsoll_operator.sizing.state import AdmissionState, NamespaceState
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.knowledge.knowledge import Knowledge
from plimsoll_predictor.store import StoreError

PUBLISH_EVERY_S: Final = 0.5

Work = Callable[[], Awaitable[None]]


class Publications:
    """Knows which tasks the feed does not have yet, and what the feed may have of them.

    A run is counted before its experts learn it. If it were published at once, the count would
    pass ``min_runs`` while the rule that decides does not know the run yet.
    """

    def __init__(
        self, book: TaskBook, fold: Work, board: FeedBoard, hub: Hub, show: Work | None = None
    ) -> None:
        """fold: has the experts learn all runs that are in the store.

        show: tells the book what running attempts show besides these.
        """
        self._book = book
        self._fold = fold
        self._show = show
        self._board = board
        self._hub = hub
        self._unpublished: dict[TaskId, None] = {}
        self._ahead: Counter[TaskId] = Counter()
        """How many runs each task counts that its experts may not know. All are in the store."""
        self._crowded: set[str] = set()

    @property
    def crowded(self) -> frozenset[str]:
        """The namespaces that may soon take no new tasks."""
        return frozenset(self._crowded)

    def deciding(self, task: TaskId) -> Knowledge:
        """Return what is known of ``task`` from the runs that its experts have learned."""
        knowledge, ahead = self._book.look(task), self._ahead.get(task)
        return replace(knowledge, runs=max(0, knowledge.runs - ahead)) if ahead else knowledge

    def is_known(self, task: TaskId) -> bool:
        """Say whether the task is in the book."""
        return task in self._book

    async def run(self) -> None:
        """Publish what was learned, until cancelled."""
        while True:
            await asyncio.sleep(PUBLISH_EVERY_S)
            await self.publish()

    async def publish(self) -> None:
        """Publish what was learned, once a task, when its experts know the runs that it counts."""
        if ahead := self._ahead.copy():
            # If the store cannot be read, ``Standings.run`` says so and tries again.
            with contextlib.suppress(StoreError):
                await self._fold()
                # Runs that were counted during the fold are still ahead.
                self._unpublished.update(dict.fromkeys(ahead.keys() & self._ahead.keys()))
                self._ahead -= ahead
        if self._show is not None:
            await self._show()
        turns = Turns()
        for task in tuple(self._unpublished):
            # While others had their turn, it may have been published, or forgotten.
            if task in self._unpublished:
                self._publish(task)
                await turns.rest()

    def task_learned(self, event: TaskLearned) -> None:
        """Publish the task with the next publication."""
        if event.new_runs:
            self._ahead[event.task] += event.new_runs
        self._unpublished[event.task] = None
        self._count_tasks(event.task.namespace)

    def task_changed(self, event: TaskChanged) -> None:
        """Publish the task now, with all that was learned of it."""
        self._publish(event.task)
        self._count_tasks(event.task.namespace)

    def task_forgotten(self, event: TaskForgotten) -> None:
        """Publish nothing of the task any more."""
        self._unpublished.pop(event.task, None)
        self._ahead.pop(event.task, None)
        self._count_tasks(event.task.namespace)

    def _count_tasks(self, namespace: str) -> None:
        """Tell admission once a namespace may soon take no new tasks, and once it has room."""
        crowded = self._book.crowding.is_nearly_full(namespace)
        if crowded != (namespace in self._crowded):
            self._crowded ^= {namespace}
            self._board.set_crowded(self._crowded)

    def _publish(self, task: TaskId) -> None:
        for without_room in self._board.publish(self.deciding(task)):
            # The store keeps the model. In memory it must not bid for pods that replicas size
            # without it, and no number of tasks may fill the memory with models.
            self._book.serve(without_room, None)
            self._hub.publish(ProfileOutdated(without_room))
        self._unpublished.pop(task, None)
        self._hub.publish(TaskPublished(task))


@dataclass(frozen=True, slots=True)
class SizingState:
    """Reads what the controller knows, and holds nothing itself."""

    publications: Publications
    policies: TaskPolicies
    bounds: ClusterBounds
    items: ItemNeeds

    def of_task(self, task: TaskId) -> AdmissionState:
        """Return all that the sizes of a task's pods depend on."""
        knowledge = self.publications.deciding(task)
        namespace = NamespaceState(
            policy=None,
            bounds=self.bounds.of_namespace(task.namespace),
            autoscalers=self.bounds.autoscalers_in(task.namespace),
        )
        return AdmissionState(
            default_policy=knowledge.policy,
            nodes=self.bounds.nodes,
            tasks={task: knowledge} if self.publications.is_known(task) else {},
            namespaces={task.namespace: namespace},
            siblings=self.items.siblings,
            paused=self.policies.paused,
            unhealed=self.bounds.unhealed,
            crowded=self.publications.crowded,
        )

    def for_pod(self, pod: Pod) -> AdmissionState:
        """Return the same as ``of_task``, for the task of a pod that waits."""
        identity = identify(pod)
        assert identity is not None, "a pod without a task waits for no publishing"
        return self.of_task(identity.task)


def connect_book(hub: Hub, book: TaskBook, publications: Publications) -> None:
    """Subscribe the book to policies, and the publications to the book."""
    hub.subscribe(PolicyChanged, book.namespace_policy_changed)
    hub.subscribe(ProfileSpecChanged, book.profile_spec_changed)
    hub.subscribe(TaskLearned, publications.task_learned)
    hub.subscribe(TaskChanged, publications.task_changed)
    hub.subscribe(TaskForgotten, publications.task_forgotten)
