"""SizingPolicies of a shop."""

from __future__ import annotations

from typing import Any

from kubernetes_asyncio import client

from tests.apiserver.controllers import Shop

GROUP = ("plimsoll.dev", "v1alpha1")
MERGE = "application/merge-patch+json"


async def say(shop: Shop, name: str, **spec: Any) -> None:
    """Make or patch a SizingPolicy."""
    where = (*GROUP, shop.namespace, "sizingpolicies")
    body = {
        "apiVersion": "/".join(GROUP),
        "kind": "SizingPolicy",
        "metadata": {"name": name},
        "spec": spec,
    }
    try:
        await shop.custom.create_namespaced_custom_object(*where, body)
    except client.ApiException as error:
        if error.status != 409:
            raise
        patch = {"spec": spec}
        await shop.custom.patch_namespaced_custom_object(*where, name, patch, _content_type=MERGE)
