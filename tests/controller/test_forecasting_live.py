"""Forecasts on the real API server: a task's status, a run that runs long, and a restart."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from plimsoll_operator.commands.past_runs.import_file import import_command
from plimsoll_operator.names import labels
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import Store
from tests.apiserver.controllers import RFC_3339, Shop, a_controller, store_url, until
from tests.conftest import Cluster

pytestmark = pytest.mark.cluster

HEADER = "namespace,task,run,finished_s,runtime_s,outcome,peak_bytes"
TYPE = "n2-standard-8"
SEEN_S = 6.0
"""A change of a pod is seen within this time."""


async def test_a_run_that_runs_long_is_told_once_and_its_end_is_held_against_its_forecast(
    shop: Shop, cluster: Cluster, tmp_path: Path
) -> None:
    async with a_node(shop) as node:
        async with a_controller(cluster.kubeconfig, tmp_path):
            await a_pod(shop, "first", node)
            await until("the task is known", lambda: shop.profile("train"))
            _import(shop, tmp_path, runs=40)
            found = await until("a forecast", lambda: _runtime(shop, 40))
            assert found["text"] == f"{found['p50']}-{found['p95']}".replace(" ", "")
            assert 55 <= found["p50Seconds"] <= 66
            assert found["longerThanTwice"] < 0.1
            assert (found["trend"], found["shape"].split(":")[0]) == ("steady", "steady")
            await a_pod(shop, "late", node)
            await begin(shop, "late", ago=timedelta(hours=2))
            [told] = await until("an Event", lambda: shop.events("RunningLong"))
            assert told.startswith("running for 2h; 99 of 100 runs of ")
            assert "1 in 2" in told
        async with a_controller(cluster.kubeconfig, tmp_path):
            await shop.end("late", "succeeded")
            await until("its runtime is learned", lambda: _runtime(shop, 41))
            await a_pod(shop, "swift", node)
            await asyncio.sleep(SEEN_S)
            await begin(shop, "swift", ago=timedelta())
            await asyncio.sleep(SEEN_S)
            await shop.end("swift", "succeeded")
            await until("another is learned", lambda: _runtime(shop, 42))
            assert await shop.events("RunningLong") == [told], "told once, restarts or not"
    _check_history(shop, tmp_path)


def _check_history(shop: Shop, folder: Path) -> None:
    store = Store.open(store_url(folder))
    task = TaskId(shop.namespace, "train")
    for each in store.runtimes.history(task)[-2:]:
        assert (each.node_type, each.ran_s) == (TYPE, 60.0), "by its end it had run a minute"
        assert each.forecast_share is not None
        assert 0 < each.forecast_share < 1
    [*_, late, swift] = store.observations.of_task(task)
    assert (late.requested_s, late.request_memory_ran_bytes) == (7200.0, 128 * 2**20)
    assert late.submitted_waiting_pods is None, "the controller was restarted since"
    assert swift.submitted_waiting_pods == swift.waiting_pods == 1, "the first one waits"
    assert swift.node_memory_share == 0.125
    assert 0 < (swift.cluster_memory_share or 0) < 0.125, "there is a real node, too"
    store.close()


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


async def a_pod(shop: Shop, name: str, node: str) -> None:
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


def _import(shop: Shop, folder: Path, *, runs: int) -> None:
    rows = [
        f"{shop.namespace},train,r{n},{1_700_000_000 + 100 * n},{60 + n % 5},succeeded,{2**26}"
        for n in range(runs)
    ]
    path = folder / "history.csv"
    path.write_text("\n".join((HEADER, *rows)))
    assert import_command(path, store_url(folder)) == 0


async def _runtime(shop: Shop, runs: int) -> Mapping[str, Any]:
    """The status' runtime once that many runs are known; empty before."""
    status = (await shop.profile("train")).get("status") or {}
    found: Mapping[str, Any] = status.get("runtime") or {}
    return found if found.get("forecastRuns") == runs else {}
