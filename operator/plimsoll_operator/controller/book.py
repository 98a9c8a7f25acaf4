"""What the controller knows of every task, in memory, and hands to the feed when it changes.

A cache: everything in it is rebuilt from the store and the API server after a restart.
One change costs O(1), whatever the number of tasks and observations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from plimsoll_operator.policies import resolve
from plimsoll_operator.profile_names import profile_name
from plimsoll_predictor.knowledge import Expert, Knowledge, Lift
from plimsoll_predictor.model import Model
from plimsoll_predictor.policy import Policy
from plimsoll_predictor.record import Need
from plimsoll_predictor.task import TaskId

Spec = Mapping[str, Any]


class TaskBook:
    """Knowledge per task; ``publish`` is told of each new version of it."""

    def __init__(self, default_policy: Policy, publish: Callable[[Knowledge], None]) -> None:
        self._default = default_policy
        self._publish = publish
        self._tasks: dict[TaskId, Knowledge] = {}
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

    def get(self, task: TaskId) -> Knowledge:
        """What is known of ``task``; a task never met is met now."""
        known = self._tasks.get(task)
        if known is None:
            known = Knowledge(task=task, policy=self._policy(task))
            self._set(known)
        return known

    def restore(self, knowledge: Knowledge) -> None:
        """Put in what the store knew; its policy is resolved afresh."""
        self._set(replace(knowledge, policy=self._policy(knowledge.task)))

    def learn(self, task: TaskId, need: Need) -> None:
        """One attempt's need, counted once by the caller."""
        known = self.get(task)
        self._set(
            replace(
                known,
                runs=known.runs + (not need.censored),
                max_need_bytes=max(known.max_need_bytes or 0, need.size_bytes),
            )
        )

    def serve(self, task: TaskId, model: Model | None, champion: Expert) -> None:
        """A newly trained model takes over, or loses to the champion the training found."""
        self._set(replace(self.get(task), model=model, champion=champion))

    def lift(self, task: TaskId, run: str, lift: Lift) -> None:
        """The run's next attempt gets more."""
        known = self.get(task)
        self._set(replace(known, lifts={**known.lifts, run: lift}))

    def settle(self, task: TaskId, run: str) -> bool:
        """The run is over; its lift is no longer needed. True if there was one."""
        known = self.get(task)
        if run not in known.lifts:
            return False
        self._set(replace(known, lifts={k: v for k, v in known.lifts.items() if k != run}))
        return True

    def set_namespace_spec(self, namespace: str, spec: Spec | None) -> None:
        """The namespace's SizingPolicy changed, or went (None)."""
        if spec is None:
            self._namespace_specs.pop(namespace, None)
        else:
            self._namespace_specs[namespace] = spec
        for task in [t for t in self._tasks if t.namespace == namespace]:
            self._resolve_again(task)

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
            self._resolve_again(self._by_profile[key])

    def namespace_policy(self, namespace: str) -> Policy:
        """What a task never met gets in this namespace."""
        return resolve(self._default, self._namespace_specs.get(namespace), None).policy

    def _resolve_again(self, task: TaskId) -> None:
        known = self._tasks[task]
        policy = self._policy(task)
        if policy != known.policy:
            self._set(replace(known, policy=policy))

    def _policy(self, task: TaskId) -> Policy:
        resolved = resolve(
            self._default,
            self._namespace_specs.get(task.namespace),
            self._profile_specs.get((task.namespace, profile_name(task))),
        )
        self.problems[task] = resolved.problems
        return resolved.policy

    def _set(self, knowledge: Knowledge) -> None:
        task = knowledge.task
        if task not in self._tasks:
            self._by_profile[task.namespace, profile_name(task)] = task
        self._tasks[task] = knowledge
        self._publish(knowledge)
