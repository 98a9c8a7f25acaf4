"""The API calls about Plimsoll's own objects: its Lease, Secrets, webhook configuration and pods.

They take and return dicts, and raise ``ApiError`` for every failure. Each call has a time limit: a
leader that waits for an answer without end cannot notice that it has lost the lead.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any, Final

from plimsoll_operator.kube.api_server import CORE, LEASES, STRATEGIC_PATCH, custom_path, path_of
from plimsoll_operator.kube.client import Kube
from plimsoll_operator.kube.errors import ApiError
from plimsoll_operator.names import labels

ANSWER_WITHIN_S: Final = 5.0
WEBHOOKS: Final = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"


class OwnObjects:
    """Calls in Plimsoll's own namespace. instance: the name of this process in Events."""

    def __init__(self, kube: Kube, namespace: str, instance: str = "plimsoll") -> None:
        self._kube = kube
        self._api = kube.api.within(ANSWER_WITHIN_S)
        self.namespace = namespace
        self.instance = instance

    async def lease(self, name: str, within_s: float) -> dict[str, Any]:
        """Return one Lease."""
        return await self._kube.api.within(within_s).get(self._leases(name))

    async def put_lease(
        self, name: str, spec: Mapping[str, Any], version: str | None, within_s: float
    ) -> dict[str, Any]:
        """Create a Lease if ``version`` is None; else change exactly that resourceVersion.

        Raises ``Changed`` if the Lease has another version by now.
        """
        api = self._kube.api.within(within_s)
        if version is None:
            body = {"metadata": {"name": name}, "spec": dict(spec)}
            return await api.create(self._leases(), body)
        metadata = {"name": name, "resourceVersion": version}
        return await api.patch(self._leases(name), {"metadata": metadata, "spec": dict(spec)})

    async def mark_lease(
        self, name: str, value: str | None, version: str, within_s: float
    ) -> dict[str, Any]:
        """Set who reaches the store on exactly this resourceVersion of a Lease; None removes it.

        Raises ``Changed`` if the Lease has another version by now.
        """
        annotations = {labels.STORE_REACHED_BY: value}
        metadata = {"name": name, "resourceVersion": version, "annotations": annotations}
        api = self._kube.api.within(within_s)
        return await api.patch(self._leases(name), {"metadata": metadata})

    async def secret(self, namespace: str, name: str) -> dict[str, Any]:
        """Return one Secret."""
        return await self._api.get(path_of(CORE, "secrets", namespace, name))

    async def create_secret(self, manifest: Mapping[str, Any]) -> dict[str, Any]:
        """Create a Secret in its namespace."""
        path = path_of(CORE, "secrets", manifest["metadata"]["namespace"])
        return await self._api.create(path, manifest)

    async def replace_secret(self, manifest: Mapping[str, Any]) -> dict[str, Any]:
        """Replace exactly the version of a Secret that the manifest names."""
        meta = manifest["metadata"]
        path = path_of(CORE, "secrets", meta["namespace"], meta["name"])
        return await self._api.replace(path, manifest)

    async def tell(self, event: Mapping[str, Any]) -> None:
        """Create an Event; a failure is no trouble."""
        with contextlib.suppress(ApiError):
            await self._kube.create_event(event)

    async def webhook(self, name: str) -> dict[str, Any]:
        """Return one MutatingWebhookConfiguration."""
        return await self._api.get(f"{WEBHOOKS}/{name}")

    async def patch_webhook(self, name: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Merge into a MutatingWebhookConfiguration; webhooks merge by their names."""
        return await self._api.patch(f"{WEBHOOKS}/{name}", body, STRATEGIC_PATCH)

    async def policies(self, selector: str) -> list[dict[str, Any]]:
        """Return the SizingPolicies of all namespaces with these labels."""
        return await self._api.items(custom_path("sizingpolicies"), {"labelSelector": selector})

    async def pods(self, selector: str) -> list[dict[str, Any]]:
        """Return Plimsoll's own pods with these labels."""
        path = path_of(CORE, "pods", self.namespace)
        return await self._api.items(path, {"labelSelector": selector})

    async def mark_leader(self, pod: str, value: str | None) -> None:
        """Set the label by which Services find the leader; None removes it."""
        await self._patch_pod(pod, {"labels": {labels.LEADER: value}})

    async def mark_certificate(self, pod: str, value: str) -> None:
        """Write on one of admission's pods which certificate it should present."""
        await self._patch_pod(pod, {"annotations": {labels.CERTIFICATE: value}})

    async def _patch_pod(self, pod: str, metadata: Mapping[str, Any]) -> None:
        await self._api.patch(path_of(CORE, "pods", self.namespace, pod), {"metadata": metadata})

    def _leases(self, name: str | None = None) -> str:
        return path_of(LEASES, "leases", self.namespace, name)
