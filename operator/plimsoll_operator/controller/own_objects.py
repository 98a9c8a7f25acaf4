"""The API calls about Plimsoll's own objects: its Lease, Secrets, webhook configuration and pods.

As ``kube``: dicts in, dicts out, ``ApiError`` whatever goes wrong. Each call has a time limit: who
waits for an answer that never comes cannot know that it has lost the lead.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any, Final

from kubernetes_asyncio import client

from plimsoll_operator import labels
from plimsoll_operator.controller.kube import MERGE_PATCH, STRATEGIC_PATCH, ApiError, Kube

ANSWER_WITHIN_S: Final = 5.0


class OwnObjects:
    """Calls in one namespace: Plimsoll's own. instance: who is named in Events."""

    def __init__(self, kube: Kube, namespace: str, instance: str = "plimsoll") -> None:
        self._kube = kube
        self.namespace = namespace
        self.instance = instance
        self._leases = client.CoordinationV1Api(kube.api)
        self._core = client.CoreV1Api(kube.api)
        self._webhooks = client.AdmissionregistrationV1Api(kube.api)

    async def lease(self, name: str, within_s: float) -> dict[str, Any]:
        """One Lease."""
        return await self._ask(
            self._leases.read_namespaced_lease, name, self.namespace, within_s=within_s
        )

    async def put_lease(
        self, name: str, spec: Mapping[str, Any], version: str | None, within_s: float
    ) -> dict[str, Any]:
        """Create a Lease, or change exactly the version that was seen.

        version: its resourceVersion; None creates it. Else ``Changed`` if it is another by now.
        """
        body: dict[str, Any] = {"metadata": {"name": name}, "spec": dict(spec)}
        if version is None:
            return await self._ask(
                self._leases.create_namespaced_lease, self.namespace, body, within_s=within_s
            )
        body["metadata"]["resourceVersion"] = version
        return await self._ask(
            self._leases.patch_namespaced_lease,
            name,
            self.namespace,
            body,
            within_s=within_s,
            _content_type=MERGE_PATCH,
        )

    async def secret(self, namespace: str, name: str) -> dict[str, Any]:
        """One Secret."""
        return await self._ask(self._core.read_namespaced_secret, name, namespace)

    async def create_secret(self, manifest: Mapping[str, Any]) -> dict[str, Any]:
        """Create a Secret in its namespace."""
        namespace = manifest["metadata"]["namespace"]
        return await self._ask(self._core.create_namespaced_secret, namespace, dict(manifest))

    async def replace_secret(self, manifest: Mapping[str, Any]) -> dict[str, Any]:
        """Replace exactly the version of a Secret that its resourceVersion names."""
        meta = manifest["metadata"]
        return await self._ask(
            self._core.replace_namespaced_secret, meta["name"], meta["namespace"], dict(manifest)
        )

    async def tell(self, event: Mapping[str, Any]) -> None:
        """Create an Event, as a comfort: that it could not be told is no trouble."""
        with contextlib.suppress(ApiError):
            await self._kube.create_event(event)

    async def webhook(self, name: str) -> dict[str, Any]:
        """One MutatingWebhookConfiguration."""
        return await self._ask(self._webhooks.read_mutating_webhook_configuration, name)

    async def patch_webhook(self, name: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Merge into a MutatingWebhookConfiguration; its webhooks are merged by their names."""
        return await self._ask(
            self._webhooks.patch_mutating_webhook_configuration,
            name,
            dict(body),
            _content_type=STRATEGIC_PATCH,
        )

    async def pods(self, selector: str) -> list[dict[str, Any]]:
        """Plimsoll's own pods with these labels."""
        found = await self._ask(
            self._core.list_namespaced_pod, self.namespace, label_selector=selector
        )
        items: list[dict[str, Any]] = found["items"]
        return items

    async def mark_leader(self, pod: str, value: str | None) -> None:
        """Set the label by which Services find the leader; None removes it."""
        await self._patch_pod(pod, {"labels": {labels.LEADER: value}})

    async def mark_certificate(self, pod: str, value: str) -> None:
        """Write on one of admission's pods which certificate it is to show."""
        await self._patch_pod(pod, {"annotations": {labels.CERTIFICATE: value}})

    async def _patch_pod(self, pod: str, metadata: Mapping[str, Any]) -> None:
        body = {"metadata": metadata}
        await self._ask(
            self._core.patch_namespaced_pod, pod, self.namespace, body, _content_type=MERGE_PATCH
        )

    async def _ask(
        self,
        method: Callable[..., Any],
        *args: object,
        within_s: float = ANSWER_WITHIN_S,
        **options: object,
    ) -> dict[str, Any]:
        call = method(*args, _preload_content=False, _request_timeout=within_s, **options)
        return await self._kube.ask(call)
