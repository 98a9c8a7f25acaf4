"""Recommend first, on the real API server: nothing changes, and the profile says what would."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from plimsoll_operator.names import labels
from plimsoll_operator.sizing.pod_sizing import size
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_predictor.core.documents import to_document
from plimsoll_predictor.core.policy import Mode
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.store import Store
from tests.apiserver.controllers import Shop, a_controller, observed, store_url, until
from tests.apiserver.sentinels import a_later_kill_is_retried
from tests.apiserver.waiting import _final, logged, request_of
from tests.builders.pods import a_pod
from tests.conftest import Cluster
from tests.rigs.servers.admission_servers import knowledge_of

pytestmark = pytest.mark.cluster

ASKED, FITS, TOO_LITTLE = "1Gi", 200, 900
"""The pods' request; needs of a run, in Mi, that fit its recommended 500Mi, and that do not."""
RUNS = 6


def recommended(task: TaskId) -> dict[str, str]:
    """Admission's note on a pod of a task that needed 454Mi at most: 500Mi."""
    pod = a_pod().in_namespace(task.namespace).labelled(task.name).asking(ASKED).limited(ASKED)
    known = knowledge_of(task, max_need_bytes=454 * MIB, mode=Mode.RECOMMEND)
    sized = pod.patched(size(pod.built(), AdmissionState(tasks={task: known})).patch).built()
    assert sized["spec"] == pod.built()["spec"]
    text = sized["metadata"]["annotations"][labels.DECISION]
    assert json.loads(text)["allocation"] == "500Mi"
    return {labels.DECISION: text}


async def test_recommend_mode_says_what_enforcing_would_have_saved_and_killed(
    shop: Shop, cluster: Cluster, tmp_path: Path
) -> None:
    async with a_controller(cluster.kubeconfig, tmp_path):
        await until("it starts", lambda: logged(tmp_path, "controller started"))
        for number in range(RUNS):
            await _ran(shop, tmp_path, f"run-{number}", FITS if number else TOO_LITTLE)
        status = await until("counted", lambda: _counted(shop, RUNS))
        assert status["mode"] == "recommend"
        assert (status["wouldKill"], status["wouldKillShare"]) == (1, round(1 / RUNS, 4))
        # All hold 500Mi in place of 1Gi; one is killed at 500Mi and half-way, and lifted to its
        # request.
        half_way = math.sqrt(500 * 1024)
        held = (RUNS * 500 + half_way + 1024) / (RUNS * 1024)
        assert status["wouldSave"].startswith(f"{1 - held:.0%} (")
        assert any("killed 1 of them at the first size" in words for words in status["about"])
        await shop.pod("heavy", memory=ASKED, annotations=recommended(shop.task()))
        await shop.end("heavy", "killed")
        await until("observed", lambda: len(observed(tmp_path, shop.task())) == RUNS + 1)
        await a_later_kill_is_retried(cluster)
        pods = await shop.pods()
        assert len(pods) == RUNS + 1
        assert {request_of(pod) for pod in pods.values()} == {ASKED}
        assert {pod.metadata.generation for pod in pods.values()} == {1}
        await shop.enforce()
        await until("enforced", lambda: _is_enforced(shop))


async def _ran(shop: Shop, folder: Path, name: str, need_mib: int) -> None:
    """A pod that was decided, seen to live, and ended; its peak was reported."""
    uid = await shop.pod(name, memory=ASKED, annotations=recommended(shop.task()))
    store = Store.open(store_url(folder))
    try:
        await until("bid for", lambda: store.experts.bids(uid))
        store.peaks.put([to_document(_final(uid, need_mib * MIB))])
    finally:
        store.close()
    await shop.end(name, "succeeded")


async def _status(shop: Shop) -> dict[str, Any]:
    return dict((await shop.profile("train")).get("status") or {})


async def _counted(shop: Shop, runs: int) -> dict[str, Any] | None:
    status = await _status(shop)
    return status if status.get("wouldRuns") == runs else None


async def _is_enforced(shop: Shop) -> bool:
    status = await _status(shop)
    return status.get("mode") == "enforce" and "wouldRuns" not in status
