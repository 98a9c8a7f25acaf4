"""How long a raise takes: from the patch to the limit that the kernel enforces."""

from __future__ import annotations

import asyncio
import statistics
import time
import uuid
from typing import Any, Final

from kubernetes_asyncio import client, config

from plimsoll_operator.kube.client import Kube
from plimsoll_operator.kube.running_pods import PodWriter
from plimsoll_operator.pods.spec import SizedContainer
from plimsoll_operator.rescue.raising import resize_body_by_uid, with_limit
from tests.conftest import Cluster
from tests.rigs.images.eater import an_eating_pod
from tests.rigs.node.enforced_limits import limit_file, limit_in

PODS: Final = 2
RAISES: Final = 8
SPACES_S: Final = {"close": 0.6, "apart": 4.1}
"""Seconds between two raises of a pod."""
LOOK_S: Final = 0.002
WITHIN_S: Final = 10.0
MIB: Final = 1 << 20


async def patch_to_limit(cluster: Cluster) -> dict[str, Any]:
    """Raise a few idle pods again and again, and watch their cgroups. Figures in milliseconds."""
    settings = client.Configuration()
    await config.load_kube_config(
        config_file=str(cluster.kubeconfig), client_configuration=settings
    )
    api = client.ApiClient(settings)
    core, kube = client.CoreV1Api(api), Kube(api)
    namespace = f"latency-{uuid.uuid4().hex[:8]}"
    await core.create_namespace({"metadata": {"name": namespace}})
    try:
        while not (await core.list_namespaced_service_account(namespace)).items:
            await asyncio.sleep(0.1)
        taken_ms: dict[str, list[float]] = {name: [] for name in SPACES_S}
        answered_ms: list[float] = []
        for number in range(PODS):
            pod = await _runs(kube, core, namespace, f"idle-{number}")
            limit_mib = 64
            for name, space_s in SPACES_S.items():
                for _ in range(RAISES):
                    await asyncio.sleep(space_s + 0.13 * number)
                    limit_mib += 16
                    answered, taken = await _raise(kube, pod, limit_mib)
                    answered_ms.append(answered)
                    taken_ms[name].append(taken)
        await core.delete_collection_namespaced_pod(namespace, grace_period_seconds=0)
    finally:
        await core.delete_namespace(namespace)
        await api.close()
    return {
        "patch_to_limit_ms": {name: summary(ms) for name, ms in taken_ms.items()},
        "patch_answered_ms": summary(answered_ms),
    }


async def _runs(kube: Kube, core: client.CoreV1Api, namespace: str, name: str) -> dict[str, Any]:
    manifest = an_eating_pod(name, eats_mib=8, limit_mib=64, for_s=600)
    await core.create_namespaced_pod(namespace, manifest)
    while True:
        pod = await kube.read_pod(namespace, name)
        if pod["status"].get("phase") == "Running":
            await asyncio.sleep(2)
            return pod
        await asyncio.sleep(0.2)


async def _raise(kube: Kube, pod: dict[str, Any], limit_mib: int) -> tuple[float, float]:
    file = limit_file(pod["metadata"]["uid"])
    now = SizedContainer(0, "main", (limit_mib - 16) * MIB, (limit_mib - 16) * MIB)
    body = resize_body_by_uid(pod, "main", with_limit(now, limit_mib * MIB))
    began_s = time.perf_counter()
    asked = asyncio.create_task(PodWriter(kube.api).resize_in_place(pod, body))
    answered_s: float | None = None
    while limit_in(file) != limit_mib * MIB:
        if answered_s is None and asked.done():
            answered_s = time.perf_counter()
        if time.perf_counter() - began_s > WITHIN_S:
            raise TimeoutError(f"{limit_mib} MiB were not granted")
        await asyncio.sleep(LOOK_S)
    granted_s = time.perf_counter()
    await asked
    answered_s = answered_s or granted_s
    return (answered_s - began_s) * 1e3, (granted_s - began_s) * 1e3


def summary(ms: list[float]) -> dict[str, float]:
    """Return the figures printed for measured milliseconds."""
    ordered = sorted(ms)
    return {
        "least": round(ordered[0], 1),
        "median": round(statistics.median(ordered), 1),
        "p95": round(ordered[int(0.95 * (len(ordered) - 1))], 1),
        "most": round(ordered[-1], 1),
        "raises": len(ordered),
    }
