"""Pods that wait on the real API server, runs that teach their task, and a controller's counts."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
import urllib.request
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kubernetes_asyncio import client, watch

from plimsoll_operator.attempts.peaks import PeakReport
from plimsoll_operator.names import labels
from plimsoll_predictor.core.documents import to_document
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.store import Store
from tests.apiserver.controllers import Shop, store_url, until
from tests.conftest import Cluster
from tests.rigs.processes.log_records import log_records

LARGE = "900Gi"
NEED_BYTES = 100 * MIB
RUNS = 2
"""As many as the champion needs to compare anything."""


async def teach(shop: Shop, folder: Path, *, need_bytes: int = NEED_BYTES) -> None:
    """Let RUNS pods of the task succeed whose peak an agent has reported."""
    store = Store.open(store_url(folder))
    try:
        for number in range(RUNS):
            name = f"teacher-{need_bytes // MIB}-{number}"
            uid = await shop.pod(name, memory=LARGE)
            store.peaks.put([to_document(_final(uid, need_bytes))])
            await shop.end(name, "succeeded")
    finally:
        store.close()


def _final(uid: str, need_bytes: int) -> PeakReport:
    return PeakReport(
        pod_uid=uid,
        container_id=None,
        need_peak_bytes=need_bytes,
        kernel_peak_bytes=need_bytes,
        working_set_peak_bytes=need_bytes,
        anon_peak_bytes=need_bytes,
        cpu_s=1.0,
        limit_bytes=None,
        final=True,
        measured_s=time.time() + 60,
    )


async def queued(shop: Shop, count: int, memory: str = LARGE) -> list[str]:
    """Create pods that nobody schedules; return their names."""
    names = [f"waiting-{number:03}" for number in range(count)]
    for start in range(0, count, 20):
        await asyncio.gather(*(shop.pod(n, memory=memory) for n in names[start : start + 20]))
    return names


async def pass_over(shop: Shop, name: str) -> None:
    """Write what a scheduler writes on a pod that no node can hold."""
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    await shop.core.patch_namespaced_pod_status(
        name, shop.namespace, {"status": {"conditions": [condition]}}
    )


@contextlib.asynccontextmanager
async def a_node_of_nobody(shop: Shop) -> AsyncIterator[str]:
    """A node without a kubelet: pods bound to it stay unchanged, and are not collected."""
    name = f"nobody-{shop.namespace}"
    await shop.core.create_node({"metadata": {"name": name}})
    try:
        yield name
    finally:
        await shop.core.delete_node(name)


async def bind(shop: Shop, name: str, node: str) -> None:
    """Do what a scheduler does when it has found a node."""
    body = {
        "metadata": {"name": name},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    }
    answer = await shop.core.create_namespaced_pod_binding(
        name, shop.namespace, body, _preload_content=False
    )
    assert answer.status == 201, await answer.text()


def request_of(pod: Any) -> str:
    """The request of the pod's container."""
    return str((pod.spec.containers[0].resources.requests or {}).get("memory"))


def note_of(pod: Any) -> dict[str, Any]:
    """The decision on the pod; empty if there is none."""
    text = (pod.metadata.annotations or {}).get(labels.DECISION)
    found: dict[str, Any] = json.loads(text) if text else {}
    return found


def fits(memory: str, need_bytes: int = NEED_BYTES) -> bool:
    """Whether this is a size for such a need from any expert.

    A task with RUNS known runs gets room for what it has not shown: 1.58 times its need.
    """
    return memory.endswith("Mi") and 1 <= int(memory.removesuffix("Mi")) * MIB / need_bytes < 1.6


async def are_resized(shop: Shop, names: list[str], need_bytes: int = NEED_BYTES) -> bool:
    pods = await shop.pods()
    return all(fits(request_of(pods[name]), need_bytes) for name in names)


async def are_sized(shop: Shop, names: list[str], memory: str) -> bool:
    pods = await shop.pods()
    return all(request_of(pods[name]) == memory for name in names)


@dataclass(slots=True)
class Watched:
    """Every version of the namespace's pods that was seen: request, and whether it had a node."""

    versions: dict[str, list[tuple[str, bool]]] = field(default_factory=dict)

    def seen(self, pod: Any) -> None:
        version = request_of(pod), pod.spec.node_name is not None
        self.versions.setdefault(pod.metadata.name, []).append(version)


@contextlib.asynccontextmanager
async def watching(shop: Shop) -> AsyncIterator[Watched]:
    """Watch all pods of the namespace, inside the block."""
    watched = Watched()

    async def follow() -> None:
        while True:
            # The server's watch cache may be older than what the client has seen ("Too large
            # resource version"): then watch from the present on, as at the start.
            with contextlib.suppress(client.ApiException):
                async with watch.Watch() as stream:
                    async for event in stream.stream(shop.core.list_namespaced_pod, shop.namespace):
                        watched.seen(event["object"])

    task = asyncio.create_task(follow())
    try:
        yield watched
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


def logged(folder: Path, event: str) -> list[dict[str, Any]]:
    """Records of the controller's log."""
    records = log_records((folder / "controller.log").read_text())
    return [record for record in records if record["event"] == event]


async def metric(folder: Path, name: str) -> float:
    """One of the running controller's metrics."""
    (serves, *_) = await until("it serves", lambda: logged(folder, "controller serves")[-1:])
    url = f"http://127.0.0.1:{serves['port']}/metrics"
    with await asyncio.to_thread(urllib.request.urlopen, url, timeout=60) as answer:
        text = answer.read().decode()
    (value,) = (line.split()[-1] for line in text.splitlines() if line.split()[0] == name)
    return float(value)


ROLE: dict[str, list[dict[str, list[str]]]] = {
    "rules": [
        {
            "apiGroups": [""],
            "resources": ["pods"],
            "verbs": ["get", "list", "watch", "create", "delete", "patch"],
        },
        {
            "apiGroups": [""],
            "resources": ["nodes", "limitranges", "resourcequotas"],
            "verbs": ["get", "list", "watch"],
        },
        {"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create"]},
        {"apiGroups": ["plimsoll.dev"], "resources": ["*"], "verbs": ["*"]},
        {"apiGroups": [""], "resources": ["pods/status"], "verbs": ["patch"]},
    ]
}
RESIZING = {"apiGroups": [""], "resources": ["pods/resize"], "verbs": ["patch"]}


@contextlib.asynccontextmanager
async def a_role(shop: Shop, cluster: Cluster, folder: Path) -> AsyncIterator[Path]:
    """A kubeconfig of a service account that may do what a controller does, but not resize."""
    rbac = client.RbacAuthorizationV1Api(shop.core.api_client)
    name = shop.namespace
    await shop.core.create_namespaced_service_account(name, {"metadata": {"name": "limited"}})
    await rbac.create_cluster_role({"metadata": {"name": name}, **ROLE})
    subject = {"kind": "ServiceAccount", "name": "limited", "namespace": name}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
    await rbac.create_cluster_role_binding(
        {"metadata": {"name": name}, "roleRef": role, "subjects": [subject]}
    )
    try:
        token = await shop.core.create_namespaced_service_account_token("limited", name, {})
        yield _kubeconfig(cluster, token.status.token, folder / "limited.kubeconfig")
    finally:
        await rbac.delete_cluster_role_binding(name)
        await rbac.delete_cluster_role(name)


async def allow_resizing(shop: Shop) -> None:
    """Do what an admin does after reading that the role lacks a right."""
    rbac = client.RbacAuthorizationV1Api(shop.core.api_client)
    await rbac.patch_cluster_role(shop.namespace, {"rules": [*ROLE["rules"], RESIZING]})


def _kubeconfig(cluster: Cluster, token: str, path: Path) -> Path:
    found = json.loads(
        cluster.kubectl("config", "view", "--raw", "--flatten", "--minify", "-o", "json")
    )
    found["users"] = [{"name": found["users"][0]["name"], "user": {"token": token}}]
    path.write_text(json.dumps(found))
    path.chmod(0o600)
    return path
