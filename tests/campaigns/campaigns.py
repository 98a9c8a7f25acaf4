"""Campaigns as people write them, and their course on the real API server."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

from kubernetes_asyncio import client

from plimsoll_operator.names import labels
from tests.apiserver.controllers import PATIENCE_S, Shop, until
from tests.rigs.images.eater import a_spec

GROUP = ("plimsoll.dev", "v1alpha1")
PLURAL = "profilingcampaigns"
OVER = ("Finished", "Stopped")
SMALL = 8
"""The most rounds of a small test: CI has fewer, `make soak-cluster` has more."""

Manifest = dict[str, Any]


def a_campaign(name: str = "learn", *, task: str = "train", **spec: Any) -> Manifest:
    """A campaign whose program takes as many MiB as the scenario says. spec: other fields of it."""
    template = {"spec": a_spec(["eat", "$(MIB)", "1"], "96Mi")}
    written = {
        "task": task,
        "podTemplate": template,
        "memory": "128Mi",
        "features": [{"name": "mib", "numeric": True, "env": "MIB"}],
        "scenarios": {"rows": [{"mib": 10}, {"mib": 30}]},
        **spec,
    }
    return {
        "apiVersion": "plimsoll.dev/v1alpha1",
        "kind": "ProfilingCampaign",
        "metadata": {"name": name},
        "spec": {key: value for key, value in written.items() if value is not None},
    }


def with_image(campaign: Manifest, image: str) -> Manifest:
    """The same campaign, whose pods have another image."""
    changed = copy.deepcopy(campaign)
    changed["spec"]["podTemplate"]["spec"]["containers"][0]["image"] = image
    return changed


async def submit(shop: Shop, campaign: Manifest) -> Mapping[str, Any]:
    """Create a campaign; return it as the API server made it."""
    made: Mapping[str, Any] = await shop.custom.create_namespaced_custom_object(
        *GROUP, shop.namespace, PLURAL, campaign
    )
    return made


async def status_of(shop: Shop, name: str) -> Mapping[str, Any]:
    """A campaign's status; empty while it has none."""
    found = await shop.custom.get_namespaced_custom_object(*GROUP, shop.namespace, PLURAL, name)
    status: Mapping[str, Any] = found.get("status") or {}
    return status


async def when(
    shop: Shop,
    name: str,
    what: str,
    holds: Callable[[Mapping[str, Any]], object],
    within_s: float = PATIENCE_S,
) -> Mapping[str, Any]:
    """Wait until a campaign's status is so; return the status."""

    async def look() -> Mapping[str, Any] | None:
        status = await status_of(shop, name)
        return status if holds(status) else None

    status: Mapping[str, Any] = await until(f"campaign {name} {what}", look, within_s)
    return status


async def over(shop: Shop, name: str, within_s: float = PATIENCE_S) -> Mapping[str, Any]:
    """Wait until a campaign is over; return its status."""
    return await when(shop, name, "is over", lambda one: one.get("phase") in OVER, within_s)


def condition(status: Mapping[str, Any], kind: str) -> tuple[str, str, str]:
    """The status, reason and message of a condition; empty without it."""
    for each in status.get("conditions") or ():
        if each["type"] == kind:
            return each["status"], each["reason"], each["message"]
    return "", "", ""


async def jobs(shop: Shop) -> dict[str, Any]:
    """The namespace's Jobs by name."""
    found = await client.BatchV1Api(shop.core.api_client).list_namespaced_job(shop.namespace)
    return {job.metadata.name: job for job in found.items}


async def pods(shop: Shop, name: str) -> list[str]:
    """The names of a campaign's pods, whether they run or have ended."""
    its = f"{labels.CAMPAIGN}={name}"
    found = await shop.core.list_namespaced_pod(shop.namespace, label_selector=its)
    return [pod.metadata.name for pod in found.items]
