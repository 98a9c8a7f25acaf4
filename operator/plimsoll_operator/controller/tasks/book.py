"""The controller's knowledge of every task, in memory.

A cache: everything in it is rebuilt from the store and the API server after a restart.
One change costs O(1), whatever the number of tasks and observations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from plimsoll_operator.controller.hub.hub import (
    AttemptEnded,
    Hub,
    ObservationAmended,
    PolicyChanged,
    ProfileSpecChanged,
    TaskChanged,
    TaskForgotten,
    TaskLearned,
)
from plimsoll_operator.controller.tasks.crowding import Crowding
from plimsoll_operator.controller.tasks.fleet import Fleet
from plimsoll_operator.controller.tasks.task_policies import TaskPolicies
from plimsoll_operator.names.profile_names import profile_name
from plimsoll_predictor.core.shares import Shares
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.experts.standing import Standing
from plimsoll_predictor.knowledge.knowledge import Knowledge, Lift
from plimsoll_predictor.model.task_model import Model
from plimsoll_predictor.store.attempts import lifts

LIFTS_KEPT = lifts.KEPT_PER_TASK
LIFTS_IN_ALL = lifts.KEPT_IN_ALL

ForgottenLift = tuple[TaskId, str, Lift]
"""The task and the run of a lift, and the lift itself."""


class TaskBook:
    """Knowledge per task; each new version is published."""

    def __init__(self, policies: TaskPolicies, hub: Hub) -> None:
        self.policies = policies
        self.fleet = Fleet()
        self._hub = hub
        self._crowded_out: list[tuple[TaskId, str]] = []
        """Lifts without room that their tasks still have."""
        self._tasks: dict[TaskId, Knowledge] = {}
        self._by_profile: dict[tuple[str, str], TaskId] = {}
        self._lift_room = Shares[tuple[TaskId, str]](LIFTS_IN_ALL)
        self._tasks_in: Counter[str] = Counter()
        self.crowding = Crowding(self._tasks_in)

    def __iter__(self) -> Iterator[TaskId]:
        return iter(tuple(self._tasks))

    def __len__(self) -> int:
        return len(self._tasks)

    def __contains__(self, task: TaskId) -> bool:
        return task in self._tasks

    def look(self, task: TaskId) -> Knowledge:
        """Return what is known of ``task``. A look does not add the task to the book."""
        return self._tasks.get(task) or self._unmet(task)

    def get(self, task: TaskId) -> Knowledge:
        """Return what is known of ``task``. A task that was never met is added now."""
        if task not in self._tasks:
            self._change(self._unmet(task))
        return self._tasks[task]

    def forget(self, task: TaskId) -> None:
        """Forget all that is known of the task."""
        knowledge = self._tasks.pop(task, None)
        if knowledge is not None:
            self.fleet.forget(task)
            self._note_lifts(knowledge.lifts, {}, task)
            self._by_profile.pop((task.namespace, profile_name(task)), None)
            self._tasks_in[task.namespace] -= 1
            self._hub.publish(TaskForgotten(task))

    def restore(self, knowledge: Knowledge) -> None:
        """Put in what the store knew. It is published once the experts are restored as well."""
        self._learn(replace(knowledge, policy=self._unmet(knowledge.task).policy))
        self._make_room()

    def observed(self, event: AttemptEnded | ObservationAmended) -> None:
        """Count the run if its need became known by this observation."""
        observation, new_runs = event.observation, int(event.novelty.learned)
        if observation.need is None:
            return
        knowledge = self.get(observation.task)
        max_need_bytes = max(knowledge.max_need_bytes or 0, observation.need.size_bytes)
        runs = knowledge.runs + new_runs
        self._learn(replace(knowledge, runs=runs, max_need_bytes=max_need_bytes), new_runs)

    def learn(self, knowledge: Knowledge) -> None:
        """Note what is known of a task now, if it is new. Runs and needs come by ``observed``."""
        if knowledge != self.get(knowledge.task):
            self._learn(knowledge)

    def inform(self, task: TaskId, standing: Standing) -> None:
        """Note what the task's experts say now. Runs and needs are counted by ``observed``."""
        if self.policies.leave_alone(task.namespace):
            return  # excluded since the store learned it: not shown or served
        knowledge = self.get(task)
        self.fleet.note(task, standing.guard.request)
        informed = standing.inform(knowledge)
        self.learn(replace(informed, runs=knowledge.runs, max_need_bytes=knowledge.max_need_bytes))

    def add_up(self, task: TaskId, runs: int, max_need_bytes: int | None) -> None:
        """Note the store's sums after an import. The experts learn first; see ``Publications``."""
        self._replace(self.get(task), runs=runs, max_need_bytes=max_need_bytes)

    def serve(self, task: TaskId, model: Model | None) -> None:
        """Let a newly trained model bid; the experts' costs decide which one serves."""
        self._change(replace(self.get(task), model=model))

    def lift(self, task: TaskId, run: str, lift: Lift) -> list[ForgottenLift]:
        """Give the run's next attempt more. Return the lifts that are forgotten for lack of room.

        A task with too many loses its oldest; if there are too many in all, the namespace with the
        most lifts loses its oldest.
        """
        knowledge = self.get(task)
        told = knowledge.lifts.get(run) == lift
        lifts = {**_without(knowledge.lifts, run), run: lift}
        oldest = tuple(lifts)[: max(0, len(lifts) - LIFTS_KEPT)]
        gone = [(task, old, lifts.pop(old)) for old in oldest]
        lifted = replace(knowledge, lifts=lifts)
        if told:
            self._keep(lifted)  # the same size after another kill concerns only the book
        else:
            self._change(lifted)
        return gone + self._make_room()

    def settle(
        self, task: TaskId, run: str, attempt: int | None, submitted_s: float | None
    ) -> Lift | None:
        """Forget and return the run's lift, if the attempt that succeeded ends it.

        attempt, submitted_s: as in ``Lift.is_answered_by``.
        """
        knowledge = self.get(task)
        lift = knowledge.lifts.get(run)
        if lift is None or not lift.is_answered_by(attempt, submitted_s):
            return None
        self._replace(knowledge, lifts=_without(knowledge.lifts, run))
        return lift

    def drop_lifts_except(self, stored: Mapping[TaskId, Mapping[str, Lift]]) -> None:
        """Forget the lifts that the store has forgotten."""
        for task, knowledge in tuple(self._tasks.items()):
            runs = knowledge.lifts.keys() & stored.get(task, {}).keys()
            if len(runs) < len(knowledge.lifts):
                lifts = {run: lift for run, lift in knowledge.lifts.items() if run in runs}
                self._change(replace(knowledge, lifts=lifts))

    def resolve_again(self, task: TaskId) -> None:
        """Resolve the task's policy again; do nothing if the task is forgotten."""
        if task in self._tasks:
            self._replace(self._tasks[task], policy=self.policies.of_task(task).policy)

    def namespace_policy_changed(self, event: PolicyChanged) -> None:
        """Resolve the policies of a namespace's tasks; the cluster's are for ``ClusterWatch``."""
        for task in [task for task in self._tasks if task.namespace == event.namespace]:
            self.resolve_again(task)

    def profile_spec_changed(self, event: ProfileSpecChanged) -> None:
        """Resolve the policy of the profile's task."""
        task = self._by_profile.get((event.namespace, event.name))
        if task is not None:
            self.resolve_again(task)

    def _note_lifts(
        self, before: Mapping[str, Lift], after: Mapping[str, Lift], task: TaskId
    ) -> None:
        if before is after:
            return
        for run in before.keys() - after.keys():
            self._lift_room.drop(task.namespace, (task, run))
        for run, lift in after.items():
            if before.get(run) != lift:
                self._crowded_out += self._lift_room.use(task.namespace, (task, run))

    def _make_room(self) -> list[ForgottenLift]:
        """Forget the lifts that lost their room to newer ones; return them."""
        crowded_out, self._crowded_out = self._crowded_out, []
        gone = [(task, run, self._tasks[task].lifts[run]) for task, run in crowded_out]
        for task, run in crowded_out:
            knowledge = self._tasks[task]
            self._replace(knowledge, lifts=_without(knowledge.lifts, run))
        return gone

    def _unmet(self, task: TaskId) -> Knowledge:
        return Knowledge(task=task, policy=self.policies.of_task(task).policy)

    def _replace(self, knowledge: Knowledge, **changes: Any) -> None:
        if any(getattr(knowledge, name) != value for name, value in changes.items()):
            self._change(replace(knowledge, **changes))

    def _change(self, knowledge: Knowledge) -> None:
        self._keep(knowledge)
        self._hub.publish(TaskChanged(knowledge.task))

    def _learn(self, knowledge: Knowledge, new_runs: int = 0) -> None:
        self._keep(knowledge)
        self._hub.publish(TaskLearned(knowledge.task, new_runs))

    def _keep(self, knowledge: Knowledge) -> None:
        task, before = knowledge.task, self._tasks.get(knowledge.task)
        self._note_lifts(before.lifts if before else {}, knowledge.lifts, task)
        if before is None:
            self._by_profile[task.namespace, profile_name(task)] = task
            self._tasks_in[task.namespace] += 1
        self._tasks[task] = knowledge


def spent_budgets(book: TaskBook) -> int:
    """Count the tasks whose error budget is spent. It looks at every task."""
    count = 0
    for task in book:
        known = book.look(task)
        budget = known.policy.error_budget
        count += budget is not None and known.spent.share_of(budget) >= 1
    return count


def _without(lifts: Mapping[str, Lift], run: str) -> dict[str, Lift]:
    return {other: lift for other, lift in lifts.items() if other != run}
