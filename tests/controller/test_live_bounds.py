"""A running pod's need, reported by its agent, resizes waiting pods on the API server."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from plimsoll_operator.attempts.peaks import PEAKS_PATH, PeakReport
from plimsoll_predictor.core.documents import to_document
from plimsoll_predictor.core.units import MIB
from tests.apiserver.controllers import RFC_3339, Shop, a_controller, until
from tests.apiserver.waiting import (
    NEED_BYTES,
    RUNS,
    a_node_of_nobody,
    are_resized,
    bind,
    logged,
    metric,
    note_of,
    pass_over,
    queued,
    teach,
)
from tests.builders.agent.cgroup_trees import a_report
from tests.conftest import Cluster

pytestmark = pytest.mark.cluster

REACHED_MIB = 400


async def test_waiting_pods_follow_what_a_running_one_has_reached(
    shop: Shop, cluster: Cluster, tmp_path: Path
) -> None:
    await shop.enforce(minRuns=RUNS)
    names = await queued(shop, 3)
    for name in names:
        await pass_over(shop, name)
    async with (
        a_node_of_nobody(shop) as node,
        a_controller(cluster.kubeconfig, tmp_path),
    ):
        await teach(shop, tmp_path)
        await until("resized to what is known", lambda: are_resized(shop, names))
        uid = await _runs(shop, "runner", node)
        reached_bytes = REACHED_MIB * MIB
        report = a_report(
            pod_uid=uid,
            container_id=None,
            need_peak_bytes=reached_bytes,
            kernel_peak_bytes=reached_bytes,
        )
        small = replace(report, need_peak_bytes=MIB)
        known = await until("its task", lambda: _tell(tmp_path, small))
        assert known == {uid: NEED_BYTES}
        await _tell(tmp_path, report)
        await until("resized over it", lambda: _are_above(shop, names, REACHED_MIB))
        assert await metric(tmp_path, "plimsoll_live_bounds_raised_total") == 1
        whys = [note_of(pod)["why"] for name, pod in (await shop.pods()).items() if name in names]
        assert all(f"running attempts have reached {REACHED_MIB}Mi" in why for why in whys)
        await shop.core.delete_namespaced_pod("runner", shop.namespace, grace_period_seconds=0)
        await until("as before", lambda: are_resized(shop, names))


async def _runs(shop: Shop, name: str, node: str) -> str:
    """A pod that a kubelet says is running; its UID."""
    uid = await shop.pod(name)
    await bind(shop, name, node)
    now = datetime.now(UTC).strftime(RFC_3339)
    main = {
        "name": "main",
        "image": "localhost/none:1",
        "imageID": "",
        "ready": True,
        "restartCount": 0,
        "containerID": f"containerd://{name}",
        "state": {"running": {"startedAt": now}},
    }
    await shop.core.patch_namespaced_pod_status(
        name,
        shop.namespace,
        {"status": {"phase": "Running", "containerStatuses": [main]}},
        _content_type="application/merge-patch+json",
    )
    return uid


async def _tell(folder: Path, report: PeakReport) -> dict[str, int]:
    """Report to the controller as an agent does; return what it knows of the pod's task."""
    (serves, *_) = await until("it serves", lambda: logged(folder, "controller serves")[-1:])
    body = json.dumps({"node": "nobody", "reports": [to_document(report)]}).encode()
    request = urllib.request.Request(
        f"http://127.0.0.1:{serves['port']}{PEAKS_PATH}",
        body,
        {"Authorization": "Bearer secret", "Content-Type": "application/json"},
    )
    with await asyncio.to_thread(urllib.request.urlopen, request, timeout=60) as answer:
        found: dict[str, Any] = json.load(answer)
    known: dict[str, int] = found["known_bytes"]
    return known


async def _are_above(shop: Shop, names: list[str], mib: int) -> bool:
    pods = await shop.pods()
    return all(_mib(note_of(pods[name])) > mib for name in names)


def _mib(note: dict[str, Any]) -> int:
    return int(note["allocation"].removesuffix("Mi"))
