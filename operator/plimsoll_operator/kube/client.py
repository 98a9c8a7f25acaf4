"""The controller's calls of the API server; they take and return dicts.

Every call raises only subclasses of ``ApiError``; the class says what the caller can do.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

from kubernetes_asyncio import client

from plimsoll_operator.kube.api_server import (
    CORE,
    GROUP,
    STRATEGIC_PATCH,
    ApiServer,
    api_settings,
    custom_path,
    path_of,
)
from plimsoll_operator.kube.errors import NoCluster, NotFound

ANSWER_WITHIN_S: Final = 35.0
"""Who waits for an answer without end does nothing more, and seems to run. This is longer than an
API server waits for one webhook (30 s)."""
LIST_WITHIN_S: Final = 70.0
"""For long lists; an API server takes 60 s at most for an answer."""


class Kube:
    """The API server, for one event loop. ``api`` takes all calls without a method here.

    A call without an answer raises ``Unreachable`` after ANSWER_WITHIN_S.
    """

    def __init__(self, api: client.ApiClient) -> None:
        self.api = ApiServer(api, within_s=ANSWER_WITHIN_S)

    @classmethod
    async def connect(cls, kubeconfig: str | None, context: str | None) -> Kube:
        """Connect to the cluster that ``api_settings`` finds."""
        return cls(client.ApiClient(await api_settings(kubeconfig, context)))

    async def close(self) -> None:
        """Close its connections."""
        await self.api.close()

    async def bounds(self) -> AsyncIterator[list[dict[str, Any]]]:
        """Go through all LimitRanges, ResourceQuotas and nodes, with their kinds, by pages."""
        lists = self.api.within(LIST_WITHIN_S)
        kinds = {"LimitRange": "limitranges", "ResourceQuota": "resourcequotas", "Node": "nodes"}
        for kind, plural in kinds.items():
            async for page in lists.pages(path_of(CORE, plural)):
                yield [{**item, "kind": kind} for item in page]

    def policies(self) -> AsyncIterator[list[dict[str, Any]]]:
        """Go through all SizingPolicies of the cluster by pages."""
        return self._custom_objects("sizingpolicies")

    def profiles(self) -> AsyncIterator[list[dict[str, Any]]]:
        """Go through all TaskProfiles of the cluster by pages."""
        return self._custom_objects("taskprofiles")

    async def _custom_objects(self, plural: str) -> AsyncIterator[list[dict[str, Any]]]:
        try:
            async for page in self.api.within(LIST_WITHIN_S).pages(custom_path(plural)):
                yield page
        except NotFound as error:
            raise NoCluster(
                f"the cluster knows no {plural}.{GROUP}: kubectl apply -f deploy/crds first"
            ) from error

    async def create_pod(self, manifest: Mapping[str, Any]) -> dict[str, Any]:
        """Create a pod in its own namespace."""
        namespace = manifest["metadata"]["namespace"]
        return await self.api.create(path_of(CORE, "pods", namespace), manifest)

    async def read_pod(self, namespace: str, name: str) -> dict[str, Any]:
        """Return one pod."""
        return await self.api.get(path_of(CORE, "pods", namespace, name))

    async def delete_pod(self, namespace: str, name: str, uid: str) -> None:
        """Delete exactly the pod with this UID, and not a later one of the same name."""
        await self.api.delete(path_of(CORE, "pods", namespace, name), {"uid": uid})

    async def annotate_pod(
        self, pod: Mapping[str, Any], annotations: Mapping[str, str | None]
    ) -> dict[str, Any]:
        """Write annotations on exactly this version of a pod; None removes one.

        It raises ``Changed`` if the pod has another version by now, for example after its binding.
        """
        return await self._patch_pod(pod, {"metadata": {"annotations": dict(annotations)}})

    async def resize_pod(self, pod: Mapping[str, Any], body: Mapping[str, Any]) -> dict[str, Any]:
        """Patch the resize subresource of a pod; errors as in ``annotate_pod``."""
        return await self._patch_pod(pod, body, "resize")

    async def _patch_pod(
        self, pod: Mapping[str, Any], body: Mapping[str, Any], part: str = ""
    ) -> dict[str, Any]:
        meta = pod["metadata"]
        version = {"resourceVersion": meta["resourceVersion"]}
        patch = {**body, "metadata": {**body.get("metadata", {}), **version}}
        path = path_of(CORE, "pods", meta["namespace"], meta["name"], part)
        return await self.api.patch(path, patch, STRATEGIC_PATCH)

    async def may(self, verb: str, group: str, resource: str, namespace: str = "") -> bool:
        """Say whether RBAC allows a verb on a resource. namespace: "" means all."""
        return await self.api.may(verb, group, resource, namespace)

    async def create_event(self, manifest: Mapping[str, Any]) -> None:
        """Create an events.k8s.io/v1 Event in its namespace."""
        namespace = manifest["metadata"]["namespace"]
        await self.api.create(path_of("/apis/events.k8s.io/v1", "events", namespace), manifest)

    async def delete_profile(self, profile: Mapping[str, Any]) -> None:
        """Delete exactly this version of a TaskProfile, or raise ``Changed``."""
        meta = profile["metadata"]
        version = {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}
        path = custom_path("taskprofiles", meta["namespace"], meta["name"])
        await self.api.delete(path, version)

    async def patch_status(
        self, plural: str, namespace: str, name: str, status: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Merge ``status`` into the status of one of Plimsoll's own objects."""
        path = f"{custom_path(plural, namespace, name)}/status"
        return await self.api.patch(path, {"status": dict(status)})
