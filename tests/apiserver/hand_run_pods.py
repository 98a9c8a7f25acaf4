"""A node without a kubelet, and pods on it whose status a test writes."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

from plimsoll_operator.names import labels
from tests.apiserver.controllers import RFC_3339, Shop

TYPE = "n2-standard-8"


@asynccontextmanager
async def a_node(shop: Shop) -> AsyncIterator[str]:
    """A node without a kubelet."""
    name = f"forecast-{uuid.uuid4().hex[:8]}"
    meta = {"name": name, "labels": {"node.kubernetes.io/instance-type": TYPE}}
    await shop.core.create_node({"metadata": meta, "spec": {"unschedulable": True}})
    capacity = {"cpu": "4", "memory": "1Gi", "pods": "10"}
    status = {"capacity": capacity, "allocatable": capacity}
    await shop.core.patch_node_status(name, {"status": status})
    try:
        yield name
    finally:
        await shop.core.delete_node(name)


async def a_placed_pod(shop: Shop, name: str, node: str) -> None:
    """A pod of the task on that node, which nobody starts."""
    memory = {"memory": "128Mi"}
    container = {
        "name": "main",
        "image": "localhost/none:1",
        "resources": {"requests": memory, "limits": memory},
    }
    spec = {
        "nodeName": node,
        "restartPolicy": "Never",
        "activeDeadlineSeconds": 7200,
        "containers": [container],
    }
    meta = {"name": name, "labels": {labels.TASK: "train"}}
    await shop.core.create_namespaced_pod(shop.namespace, {"metadata": meta, "spec": spec})


async def begin(shop: Shop, name: str, *, ago: timedelta) -> None:
    """Write the pod's start as a kubelet would."""
    state = {"running": {"startedAt": (datetime.now(UTC) - ago).strftime(RFC_3339)}}
    container = {
        "name": "main",
        "image": "localhost/none:1",
        "imageID": "",
        "ready": True,
        "restartCount": 0,
        "containerID": f"containerd://{name}",
        "state": state,
    }
    status = {"phase": "Running", "containerStatuses": [container]}
    await shop.core.patch_namespaced_pod_status(
        name, shop.namespace, {"status": status}, _content_type="application/merge-patch+json"
    )
