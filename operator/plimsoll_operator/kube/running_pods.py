"""Writes on running pods without naming a version: a changed status must not make them fail.

Each call names the pod's UID, so that another pod of the same name refuses it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from plimsoll_operator.kube.api_server import CORE, STRATEGIC_PATCH, ApiServer, path_of


@dataclass(frozen=True, slots=True)
class PodWriter:
    """Raises ``ApiError`` subclasses only, and returns the pod as it is then."""

    api: ApiServer

    async def resize_in_place(
        self, pod: Mapping[str, Any], body: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Patch the resize subresource of a pod; ``body`` names its UID."""
        meta = pod["metadata"]
        path = path_of(CORE, "pods", meta["namespace"], meta["name"], "resize")
        return await self.api.patch(path, body, STRATEGIC_PATCH)

    async def set_condition(
        self, pod: Mapping[str, Any], condition: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Set one condition in a pod's status, by its type."""
        meta = pod["metadata"]
        body = {"metadata": {"uid": meta["uid"]}, "status": {"conditions": [dict(condition)]}}
        path = path_of(CORE, "pods", meta["namespace"], meta["name"], "status")
        return await self.api.patch(path, body, STRATEGIC_PATCH)

    async def note_on_pod(
        self, pod: Mapping[str, Any], annotations: Mapping[str, str | None]
    ) -> dict[str, Any]:
        """Write annotations on a pod; None removes one."""
        meta = pod["metadata"]
        body = {"metadata": {"uid": meta["uid"], "annotations": dict(annotations)}}
        path = path_of(CORE, "pods", meta["namespace"], meta["name"])
        return await self.api.patch(path, body, STRATEGIC_PATCH)
