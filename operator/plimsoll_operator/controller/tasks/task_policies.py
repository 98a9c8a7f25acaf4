"""The policies that people have set, by profile, namespace, cluster and chart.

This is a cache of watched objects. It says what holds for a task, and publishes each change.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, Final, TypeVar

from plimsoll_operator.controller.hub.hub import Hub, PolicyChanged, ProfileSpecChanged
from plimsoll_operator.names.namespaces import OWN_NAMESPACE
from plimsoll_operator.names.profile_names import profile_name
from plimsoll_operator.policy.policy_levels import (
    SIZING_POLICY_NAME,
    PausedBy,
    is_cluster_policy,
)
from plimsoll_operator.policy.policy_resolution import Resolved, resolve
from plimsoll_predictor.core.policy import JobsWait, Order, Placing, Policy
from plimsoll_predictor.core.task import TaskId

Spec = Mapping[str, Any]
K = TypeVar("K")
_USUAL: Final = {"placing": "never", "order": "never", "jobsWait": "gated"}
"""Fields by which specs ask for something that costs, and the value that asks for nothing."""


class TaskPolicies:
    """The newest SizingPolicies and specs of TaskProfiles.

    own_namespace: Plimsoll's own. excluded: the namespaces in which nothing is done.
    """

    def __init__(
        self,
        chart: Policy,
        hub: Hub,
        own_namespace: str = OWN_NAMESPACE,
        excluded: Collection[str] = (),
    ) -> None:
        self._chart = chart
        self.default = chart
        """The policy if no SizingPolicy, profile or pod says otherwise."""
        self._hub = hub
        self.own_namespace = own_namespace
        self._excluded = frozenset(excluded)
        self.paused = False
        """Whether people have paused the whole cluster. This overrides every policy, at once."""
        self.default_problems: tuple[str, ...] = ()
        """Fields of the cluster's SizingPolicy that were ignored, in words."""
        self._namespace_specs: dict[str, Spec] = {}
        self._profile_specs: dict[tuple[str, str], Spec] = {}
        self._asking: dict[str, set[tuple[str, ...]]] = {field: set() for field in _USUAL}
        """The namespaces and profiles whose own spec asks for hints, an order, suspended Jobs."""

    @property
    def has_hints(self) -> bool:
        """Whether any level asks for hints at nodes."""
        return self.default.placing is not Placing.NEVER or bool(self._asking["placing"])

    @property
    def has_order(self) -> bool:
        """Whether any level asks for an order in which pods start."""
        return self.default.order is not Order.NEVER or bool(self._asking["order"])

    @property
    def has_suspended(self) -> bool:
        """Whether any level has Jobs wait, suspended, for their turn."""
        return self.has_order and (
            self.default.jobs_wait is JobsWait.SUSPENDED or bool(self._asking["jobsWait"])
        )

    def leave_alone(self, namespace: object) -> bool:
        """Say whether people have excluded the namespace from all that Plimsoll does."""
        return namespace in self._excluded

    @property
    def namespaces(self) -> frozenset[str]:
        """The namespaces that have a SizingPolicy of their own."""
        return frozenset(self._namespace_specs)

    def in_namespace(self, namespace: str) -> Resolved:
        """Resolve the policy of a task that was never met, and the fields that were ignored."""
        return resolve(self.default, self._namespace_specs.get(namespace), None)

    def of_task(self, task: TaskId) -> Resolved:
        """Resolve the policy of a task, and the fields that had to be ignored."""
        return resolve(
            self.default,
            self._namespace_specs.get(task.namespace),
            self._profile_specs.get((task.namespace, profile_name(task))),
        )

    def pauses(self, task: TaskId) -> bool:
        """Say whether the task, its namespace or the whole cluster is paused."""
        return self.paused_by(task) is not None

    def paused_by(self, task: TaskId) -> PausedBy | None:
        """Return the topmost level that pauses the task; None if it is not paused."""
        if self.paused:
            return PausedBy.CLUSTER
        if self.in_namespace(task.namespace).policy.paused:
            return PausedBy.NAMESPACE
        return PausedBy.TASK if self.of_task(task).policy.paused else None

    def has_own(self, task: TaskId) -> bool:
        """Say whether people wrote something into the task's profile; we write only the name."""
        spec = self._profile_specs.get((task.namespace, profile_name(task))) or {}
        return not spec.keys() <= {"task"}

    def see(self, document: Mapping[str, Any], *, gone: bool) -> None:
        """A SizingPolicy appeared, changed or went; policies with other names do not count."""
        meta, spec = document["metadata"], None if gone else document.get("spec") or {}
        namespace, name = meta["namespace"], meta["name"]
        if is_cluster_policy(namespace, name, self.own_namespace):
            self._set_default(spec)
        elif name == SIZING_POLICY_NAME:
            self.set_namespace_spec(namespace, spec)

    def set_namespace_spec(self, namespace: str, spec: Spec | None) -> None:
        """Note a namespace's SizingPolicy; None if it went."""
        if _put(self._namespace_specs, namespace, spec):
            self._note_asking((namespace,), spec)
            self._hub.publish(PolicyChanged(namespace))

    def set_profile_spec(self, namespace: str, name: str, spec: Spec | None) -> None:
        """Note a TaskProfile's spec; None if it went. Mostly, only its status has changed."""
        if _put(self._profile_specs, (namespace, name), spec):
            self._note_asking((namespace, name), spec)
            self._hub.publish(ProfileSpecChanged(namespace, name))

    def _note_asking(self, key: tuple[str, ...], spec: Spec | None) -> None:
        for field, asking in self._asking.items():
            if (spec or {}).get(field) in (None, _USUAL[field]):
                asking.discard(key)
            else:
                asking.add(key)

    def _set_default(self, spec: Spec | None) -> None:
        """Set the cluster's policy. A pause is kept apart, so that it holds at once everywhere."""
        resolved = resolve(self._chart, spec, None)
        before = self.default, self.paused
        self.paused = resolved.policy.paused
        self.default = replace(resolved.policy, paused=self._chart.paused)
        self.default_problems = resolved.problems
        if (self.default, self.paused) != before:
            self._hub.publish(PolicyChanged(None))


def _put(specs: dict[K, Spec], key: K, spec: Spec | None) -> bool:
    """Put in or remove a spec. Return whether that changed anything."""
    if specs.get(key) == spec:
        return False
    if spec is None:
        del specs[key]
    else:
        specs[key] = spec
    return True
