"""Queues of Kueue with a quota of memory, and Kueue's words on the Jobs and pods in them."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

from kubernetes_asyncio import client

from plimsoll_operator.names.quantity import parse_bytes
from tests.apiserver.controllers import Shop, until
from tests.e2e.seeing import WITHIN_S
from tests.e2e.workloads import Manifest

GROUP, VERSION = "kueue.x-k8s.io", "v1beta2"
QUEUE_LABEL = f"{GROUP}/queue-name"
KUEUES_GATE = f"{GROUP}/admission"
Workload = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Queue:
    """A LocalQueue and a ClusterQueue of the same name, which nobody else uses."""

    shop: Shop
    name: str

    def takes(self, manifest: Manifest) -> Manifest:
        """The same Job or pod, for this queue."""
        manifest["metadata"].setdefault("labels", {})[QUEUE_LABEL] = self.name
        return manifest

    async def allow(self, memory: str) -> None:
        """Change the quota."""
        await self.shop.custom.patch_cluster_custom_object(
            GROUP, VERSION, "clusterqueues", self.name, {"spec": _spec(self.name, memory)},
            _content_type="application/merge-patch+json",
        )  # fmt: skip

    async def activate(self, uid: str, *, wanted: bool) -> None:
        """Make Kueue stop a Job, or start it again."""
        workload = await self.workload_of(uid)
        assert workload is not None
        await self.shop.custom.patch_namespaced_custom_object(
            GROUP, VERSION, self.shop.namespace, "workloads", workload["metadata"]["name"],
            {"spec": {"active": wanted}}, _content_type="application/merge-patch+json",
        )  # fmt: skip

    async def workload_of(self, uid: str) -> Workload | None:
        """Kueue's Workload of a Job or pod; None while there is none."""
        found = await self.shop.custom.list_namespaced_custom_object(
            GROUP, VERSION, self.shop.namespace, "workloads"
        )
        for each in found["items"]:
            if any(owner["uid"] == uid for owner in each["metadata"].get("ownerReferences", ())):
                workload: Workload = each
                return workload
        return None

    async def says(self, uid: str, condition: str, status: str = "True") -> Workload:
        """Wait until Kueue says this about a Job or pod; return the Workload."""

        async def said() -> Workload | None:
            workload = await self.workload_of(uid)
            return workload if workload and condition_of(workload, condition) == status else None

        found: Workload = await until(f"Kueue says {condition}: {status}", said, WITHIN_S)
        return found


def condition_of(workload: Workload, kind: str) -> str | None:
    """One condition's status; None if Kueue has not said."""
    for each in workload.get("status", {}).get("conditions", ()):
        if each["type"] == kind:
            return str(each["status"])
    return None


def counted_bytes(workload: Workload) -> int:
    """Bytes of the queue's quota that this one takes."""
    (pods,) = workload["status"]["admission"]["podSetAssignments"]
    return parse_bytes(pods["resourceUsage"]["memory"])


def asked_bytes(workload: Workload) -> int:
    """One pod's request as Kueue read it in the template."""
    (pods,) = workload["spec"]["podSets"]
    (container,) = pods["template"]["spec"]["containers"]
    return parse_bytes(container["resources"]["requests"]["memory"])


@contextlib.asynccontextmanager
async def a_queue(shop: Shop, memory: str = "0") -> AsyncIterator[Queue]:
    """Such a queue; it is removed with all that waits in it."""
    name, custom = f"queue-{uuid.uuid4().hex[:8]}", shop.custom
    await custom.create_cluster_custom_object(
        GROUP, VERSION, "resourceflavors", _object("ResourceFlavor", name, {})
    )
    await custom.create_cluster_custom_object(
        GROUP, VERSION, "clusterqueues", _object("ClusterQueue", name, _spec(name, memory))
    )
    await custom.create_namespaced_custom_object(
        GROUP, VERSION, shop.namespace, "localqueues",
        _object("LocalQueue", name, {"clusterQueue": name}),
    )  # fmt: skip
    try:
        yield Queue(shop, name)
    finally:
        await _clear(shop, name)


async def _clear(shop: Shop, name: str) -> None:
    jobs, custom = client.BatchV1Api(shop.core.api_client), shop.custom
    ours = {"label_selector": f"{QUEUE_LABEL}={name}", "propagation_policy": "Background"}
    await jobs.delete_collection_namespaced_job(shop.namespace, **ours)
    await shop.core.delete_collection_namespaced_pod(shop.namespace, **ours, grace_period_seconds=0)

    async def none_left() -> bool:
        found = await custom.list_namespaced_custom_object(
            GROUP, VERSION, shop.namespace, "workloads"
        )
        return not any(each["spec"].get("queueName") == name for each in found["items"])

    # Kueue keeps a queue, and a flavor of it, until the last Workload has gone.
    await until("Kueue's Workloads are gone", none_left, WITHIN_S)
    await custom.delete_namespaced_custom_object(
        GROUP, VERSION, shop.namespace, "localqueues", name
    )
    await custom.delete_cluster_custom_object(GROUP, VERSION, "clusterqueues", name)
    await custom.delete_cluster_custom_object(GROUP, VERSION, "resourceflavors", name)


def _object(kind: str, name: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": kind,
        "metadata": {"name": name},
        "spec": dict(spec),
    }


def _spec(flavor: str, memory: str) -> dict[str, Any]:
    """A ClusterQueue's spec. memory: its quota, which nothing else uses."""
    quota = {"name": "memory", "nominalQuota": memory}
    flavors = [{"name": flavor, "resources": [quota]}]
    return {
        "namespaceSelector": {},
        "resourceGroups": [{"coveredResources": ["memory"], "flavors": flavors}],
    }
