"""Writes one field of a SizingPolicy's or TaskProfile's spec, and leaves the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from plimsoll_operator.commands.status.cluster_state import part
from plimsoll_operator.kube.api_server import GROUP, VERSION, ApiServer, custom_path
from plimsoll_operator.kube.errors import NotFound
from plimsoll_operator.names.profile_names import profile_name
from plimsoll_operator.policy.policy_levels import CLUSTER_POLICY_NAME, SIZING_POLICY_NAME
from plimsoll_predictor.core.task import TaskId

KINDS = {"sizingpolicies": "SizingPolicy", "taskprofiles": "TaskProfile"}


@dataclass(frozen=True, slots=True)
class Target:
    """One object of ours. task: the task of a TaskProfile; None for a SizingPolicy."""

    plural: str
    namespace: str
    name: str
    task: TaskId | None = None

    @classmethod
    def of(cls, task: str | None, namespace: str | None) -> Target:
        """The TaskProfile of a task, ``namespace/name``, or else the SizingPolicy of a namespace.

        Raises:
            ValueError: if the task has another form.
        """
        if task is None:
            return cls("sizingpolicies", str(namespace), SIZING_POLICY_NAME)
        named = TaskId.parse(task)
        return cls("taskprofiles", named.namespace, profile_name(named), named)

    @property
    def covers(self) -> str:
        """The pods that it covers, in words."""
        if self.task is not None:
            return f"task {self.task}"
        whole_cluster = self.name == CLUSTER_POLICY_NAME
        return "the whole cluster" if whole_cluster else f"namespace {self.namespace}"

    def __str__(self) -> str:
        return f"{KINDS[self.plural]} {self.namespace}/{self.name}"

    @property
    def path(self) -> str:
        """Its path on the API server."""
        return custom_path(self.plural, self.namespace, self.name)

    def manifest(self, spec: Mapping[str, Any]) -> dict[str, Any]:
        """A new one with this spec."""
        task = self.task
        named = {"task": task.name} if task is not None and task.name != self.name else {}
        return {
            "apiVersion": f"{GROUP}/{VERSION}",
            "kind": KINDS[self.plural],
            "metadata": {"name": self.name, "namespace": self.namespace},
            "spec": {**named, **spec},
        }


async def spec_of(objects: ApiServer, target: Target) -> Mapping[str, Any]:
    """The spec that people wrote; empty if there is no such object."""
    try:
        spec: Mapping[str, Any] = part(await objects.get(target.path), "spec") or {}
    except NotFound:
        return {}
    return spec


async def write_spec(objects: ApiServer, target: Target, spec: Mapping[str, Any]) -> None:
    """Set fields of the spec; None removes one. The object is created if it does not exist.

    Raises:
        ApiError: if it may not be written.
    """
    try:
        await objects.patch(target.path, {"spec": dict(spec)})
    except NotFound:
        written = {name: value for name, value in spec.items() if value is not None}
        if written:
            path = custom_path(target.plural, target.namespace)
            await objects.create(path, target.manifest(written))
