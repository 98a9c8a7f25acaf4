"""Writes one field of a SizingPolicy's or TaskProfile's spec, and leaves the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from plimsoll_operator.commands.status.cluster_state import part
from plimsoll_operator.kube.api_server import GROUP, VERSION, ApiServer, custom_path
from plimsoll_operator.kube.errors import NotFound
from plimsoll_operator.names.profile_names import profile_name
from plimsoll_predictor.core.task import TaskId

KINDS = {"sizingpolicies": "SizingPolicy", "taskprofiles": "TaskProfile"}


@dataclass(frozen=True, slots=True)
class Target:
    """One object of ours. task: whose profile it is; None for a SizingPolicy."""

    plural: str
    namespace: str
    name: str
    task: TaskId | None = None

    @classmethod
    def of_task(cls, task: TaskId) -> Target:
        """A task's TaskProfile."""
        return cls("taskprofiles", task.namespace, profile_name(task), task)

    def __str__(self) -> str:
        return f"{KINDS[self.plural]} {self.namespace}/{self.name}"

    @property
    def path(self) -> str:
        """Where it is on the API server."""
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
    """What people wrote; empty if there is no such object."""
    try:
        spec: Mapping[str, Any] = part(await objects.get(target.path), "spec") or {}
    except NotFound:
        return {}
    return spec


async def write_spec(objects: ApiServer, target: Target, spec: Mapping[str, Any]) -> None:
    """Set fields of the spec, None takes one away; the object is made if it is not there.

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
