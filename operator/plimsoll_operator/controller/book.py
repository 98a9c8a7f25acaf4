"""What the controller knows of every task, in memory, and hands to the feed when it changes.

A cache: everything in it is rebuilt from the store and the API server after a restart.
One change costs O(1), whatever the number of tasks and observations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from plimsoll_operator.policies import Resolved, resolve
from plimsoll_operator.policy_levels import PausedBy
from plimsoll_operator.profile_names import profile_name
from plimsoll_predictor.cpu import CpuUse
from plimsoll_predictor.experts.standing import Standing
from plimsoll_predictor.knowledge import Knowledge, Lift
from plimsoll_predictor.model import Model
from plimsoll_predictor.policy import Policy
from plimsoll_predictor.record import Need
from plimsoll_predictor.store import lifts
from plimsoll_predictor.task import TaskId

Spec = Mapping[str, Any]
LIFTS_KEPT = lifts.KEPT_PER_TASK
TASKS_PER_NAMESPACE = 2_000
"""New ones are not met beyond it; what the store or people know of is kept all the same."""


class TaskBook:
    """Knowledge per task; ``publish`` is told of each new version of it."""

    def __init__(self, default_policy: Policy, publish: Callable[[Knowledge], None]) -> None:
        self._chart = self._default = default_policy
        self.paused = False
        """Whether people have paused the whole cluster: over every policy, and at once."""
        self.default_problems: tuple[str, ...] = ()
        """Fields of the cluster's SizingPolicy that were ignored, in words."""
        self._publish = publish
        self._tasks: dict[TaskId, Knowledge] = {}
        self._in_namespace: Counter[str] = Counter()
        self.most_tasks = TASKS_PER_NAMESPACE
        self._unpublished: dict[TaskId, None] = {}
        self._ahead: Counter[TaskId] = Counter()
        """Runs counted whose lessons the experts may not have learned yet; see ``deciding``."""
        self._namespace_specs: dict[str, Spec] = {}
        self._profile_specs: dict[tuple[str, str], Spec] = {}
        self._by_profile: dict[tuple[str, str], TaskId] = {}
        self.problems: dict[TaskId, tuple[str, ...]] = {}
        """Fields of a task's policy that were ignored, in words."""

    def __iter__(self) -> Iterator[TaskId]:
        return iter(tuple(self._tasks))

    def __len__(self) -> int:
        return len(self._tasks)

    def __contains__(self, task: TaskId) -> bool:
        return task in self._tasks

    @property
    def default_policy(self) -> Policy:
        """What holds where no SizingPolicy, profile or pod says otherwise."""
        return self._default

    def pauses(self, task: TaskId) -> bool:
        """Whether the task, its namespace or the whole cluster is paused."""
        return self.paused or self.look(task).paused

    def look(self, task: TaskId) -> Knowledge:
        """What is known of ``task``; looking makes no task known that is not."""
        return self._tasks.get(task) or Knowledge(task=task, policy=self._resolved(task).policy)

    def deciding(self, task: TaskId) -> Knowledge:
        """What is known of ``task``, of the runs that its experts have learned: what is decided by.

        A run is counted before they learn it. Counted at once, the run that makes enough of them
        would be the first to decide, by a rule that does not know it.
        """
        return self._learned(self.look(task))

    def get(self, task: TaskId) -> Knowledge:
        """What is known of ``task``; a task never met is met now."""
        known = self._tasks.get(task)
        if known is None:
            known = Knowledge(task=task, policy=self._policy(task))
            self._set(known)
        return known

    def forget(self, task: TaskId) -> None:
        """Nothing is known of the task any more. The caller tells the feed."""
        if self._tasks.pop(task, None) is not None:
            self._in_namespace[task.namespace] -= 1
            self._by_profile.pop((task.namespace, profile_name(task)), None)
            self._unpublished.pop(task, None)
            self._ahead.pop(task, None)
            self.problems.pop(task, None)

    def has_own_policy(self, task: TaskId) -> bool:
        """Whether people wrote something into the task's profile; its name is ours."""
        spec = self._profile_specs.get((task.namespace, profile_name(task))) or {}
        return not spec.keys() <= {"task"}

    def is_crowded(self, namespace: str) -> bool:
        """Whether no more tasks are met there."""
        return self._in_namespace[namespace] >= self.most_tasks

    def restore(self, knowledge: Knowledge) -> None:
        """Put in what the store knew; its policy is resolved afresh.

        It is published with what is learned: at a start the experts have their say first.
        """
        self._keep(replace(knowledge, policy=self._policy(knowledge.task)))
        self._unpublished[knowledge.task] = None

    def learn(self, task: TaskId, need: Need, *, new_runs: int) -> None:
        """One attempt's need. new_runs: 1 if by it a run's need is known that was not, else 0."""
        known = self.get(task)
        self._tasks[task] = replace(
            known,
            runs=known.runs + new_runs,
            max_need_bytes=max(known.max_need_bytes or 0, need.size_bytes),
        )
        if new_runs:
            self._ahead[task] += new_runs
        self._unpublished[task] = None

    def ahead(self) -> Mapping[TaskId, int]:
        """How many runs each task counts that its experts may not know. All are in the store."""
        return dict(self._ahead)

    def caught_up(self, ahead: Mapping[TaskId, int]) -> None:
        """The experts have learned all that was ``ahead``; what came since is still."""
        for task in ahead.keys() & self._ahead.keys():
            self._unpublished[task] = None
        self._ahead -= Counter(ahead)

    def learn_cpu(self, task: TaskId, use: CpuUse | None) -> None:
        """What the task's newest runs used of the CPU, as the store has it."""
        known = self.get(task)
        if known.cpu != use:
            self._tasks[task] = replace(known, cpu=use)
            self._unpublished[task] = None

    def inform(self, task: TaskId, standing: Standing) -> None:
        """What the task's experts say now. How many runs are known is counted by ``learn``."""
        known = self.get(task)
        said = standing.inform(known)
        informed = replace(
            known,
            champion=said.champion,
            rule=said.rule,
            largest_bytes=said.largest_bytes,
            largest_request_bytes=said.largest_request_bytes,
        )
        if informed != known:
            self._tasks[task] = informed
            self._unpublished[task] = None

    def publish_learned(self) -> None:
        """Publish what was learned since the last time: once a task, however many attempts ended.

        A publication carries the whole task, without its model; what is urgent goes at once.
        """
        for task in self._unpublished:
            self._publish(self.deciding(task))
        self._unpublished.clear()

    def add_up(self, task: TaskId, runs: int, max_need_bytes: int | None) -> None:
        """What the store has added up, where others than us put something in.

        Experts first: what they have not learned must not decide; see ``deciding``.
        """
        self._change(self.get(task), runs=runs, max_need_bytes=max_need_bytes)

    def serve(self, task: TaskId, model: Model | None) -> None:
        """A newly trained model is there to bid; who serves, the experts' costs decide."""
        self._set(replace(self.get(task), model=model))

    def lift(self, task: TaskId, run: str, lift: Lift) -> None:
        """The run's next attempt gets more. Of too many lifts, the oldest are forgotten."""
        known = self.get(task)
        lifts = {**_without(known.lifts, run), run: lift}
        for oldest in tuple(lifts)[: max(0, len(lifts) - LIFTS_KEPT)]:
            del lifts[oldest]
        self._change(known, lifts=lifts)

    def settle(self, task: TaskId, run: str, attempt: int | None) -> bool:
        """An attempt succeeded. True if that ends the run's lift, which is then forgotten.

        attempt: None if it is not known which it was. One before the lifted attempt ends nothing:
        pods of one Job may share a run, and a lifted one of them may still have to come.
        """
        known = self.get(task)
        lift = known.lifts.get(run)
        if lift is None or (attempt is not None and attempt < lift.attempt):
            return False
        self._change(known, lifts=_without(known.lifts, run))
        return True

    def keep_lifts(self, kept: Mapping[TaskId, Mapping[str, Lift]]) -> None:
        """Forget the lifts that the store has forgotten."""
        for known in tuple(self._tasks.values()):
            lifts = {
                run: lift for run, lift in known.lifts.items() if run in kept.get(known.task, {})
            }
            if len(lifts) < len(known.lifts):
                self._change(known, lifts=lifts)

    def set_default_spec(self, spec: Spec | None) -> bool:
        """The cluster's SizingPolicy changed, or went (None).

        True if other tasks than the paused ones are meant: the caller has them ``resolve_again``,
        as many at a time as it can bear. A pause holds at once, whatever the number of tasks.
        """
        resolved = resolve(self._chart, spec, None)
        before = self._default
        self.paused = resolved.policy.paused
        self._default = replace(resolved.policy, paused=self._chart.paused)
        self.default_problems = resolved.problems
        return self._default != before

    def set_namespace_spec(self, namespace: str, spec: Spec | None) -> None:
        """The namespace's SizingPolicy changed, or went (None)."""
        if self._namespace_specs.get(namespace) == spec:
            return
        if spec is None:
            self._namespace_specs.pop(namespace, None)
        else:
            self._namespace_specs[namespace] = spec
        for task in [t for t in self._tasks if t.namespace == namespace]:
            self.resolve_again(task)

    def set_profile_spec(self, namespace: str, name: str, spec: Spec | None) -> None:
        """A TaskProfile's spec changed, or went (None)."""
        key = (namespace, name)
        if self._profile_specs.get(key) == spec:
            return  # only its status changed: by far the most events
        if spec is None:
            self._profile_specs.pop(key, None)
        else:
            self._profile_specs[key] = spec
        if key in self._by_profile:
            self.resolve_again(self._by_profile[key])

    def namespace_resolved(self, namespace: str) -> Resolved:
        """What a task never met gets in this namespace, and what of it had to be ignored."""
        return resolve(self._default, self._namespace_specs.get(namespace), None)

    def resolve_again(self, task: TaskId) -> None:
        """A level below the task's own profile changed; nothing if the task is forgotten."""
        if task in self._tasks:
            self._change(self._tasks[task], policy=self._policy(task))

    def paused_by(self, task: TaskId) -> PausedBy | None:
        """The topmost level that pauses the task; None if it is not paused."""
        if self.paused:
            return PausedBy.CLUSTER
        if self.namespace_resolved(task.namespace).policy.paused:
            return PausedBy.NAMESPACE
        return PausedBy.TASK if self.look(task).paused else None

    def _policy(self, task: TaskId) -> Policy:
        resolved = self._resolved(task)
        self.problems[task] = resolved.problems
        return resolved.policy

    def _resolved(self, task: TaskId) -> Resolved:
        return resolve(
            self._default,
            self._namespace_specs.get(task.namespace),
            self._profile_specs.get((task.namespace, profile_name(task))),
        )

    def _change(self, known: Knowledge, **changes: Any) -> None:
        if any(getattr(known, name) != value for name, value in changes.items()):
            self._set(replace(known, **changes))

    def _set(self, knowledge: Knowledge) -> None:
        self._keep(knowledge)
        self._unpublished.pop(knowledge.task, None)
        self._publish(self._learned(knowledge))

    def _learned(self, known: Knowledge) -> Knowledge:
        ahead = self._ahead.get(known.task)
        return replace(known, runs=max(0, known.runs - ahead)) if ahead else known

    def _keep(self, knowledge: Knowledge) -> None:
        task = knowledge.task
        if task not in self._tasks:
            self._in_namespace[task.namespace] += 1
            self._by_profile[task.namespace, profile_name(task)] = task
        self._tasks[task] = knowledge


def _without(lifts: Mapping[str, Lift], run: str) -> dict[str, Lift]:
    return {each: lift for each, lift in lifts.items() if each != run}
