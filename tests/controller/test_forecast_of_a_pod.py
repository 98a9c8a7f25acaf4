"""`plimsoll forecast NAMESPACE/POD` on the real API server: in time, late, and missing."""

from __future__ import annotations

import asyncio
import json
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from plimsoll_operator.commands.printing.output_forms import OutputForm
from plimsoll_operator.commands.reaching.installation import Installation
from plimsoll_operator.commands.runtimes.forecast import forecast_command
from plimsoll_predictor.store import Store
from tests.apiserver.controllers import Shop, store_url
from tests.apiserver.hand_run_pods import a_node, a_placed_pod, begin
from tests.builders.runtimes.telling_pasts import steady_runs
from tests.conftest import Cluster

pytestmark = pytest.mark.cluster


async def test_a_pods_run_is_forecast_by_how_long_it_has_run(
    shop: Shop, cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = Store.open(store_url(tmp_path))
    store.observations.record(steady_runs(60, shop.task("train")))
    store.close()

    async def told(pod: str) -> Any:
        status = await asyncio.to_thread(
            forecast_command,
            f"{shop.namespace}/{pod}",
            store_url(tmp_path),
            Installation(kubeconfig=str(cluster.kubeconfig)),
            OutputForm.JSON,
            now_s=time.time(),
        )
        said = capsys.readouterr()
        return said.err if status else json.loads(said.out)

    async with a_node(shop) as node:
        for pod in ("waits", "runs", "hangs"):
            await a_placed_pod(shop, pod, node)
        await begin(shop, "runs", ago=timedelta(seconds=100))
        await begin(shop, "hangs", ago=timedelta(hours=1))
        waits, runs, hangs = [(await told(pod))["run"] for pod in ("waits", "runs", "hangs")]
        assert (waits["punctuality"], waits["ends_by_p50_s"]) == ("waiting", None)
        assert runs["punctuality"] == "in time"
        assert 120 < runs["ends_by_p50_s"] - time.time() < 260, "of five minutes, some have passed"
        assert hangs["punctuality"] == "running long"
        assert hangs["ends_by_p50_s"] > time.time() - 5
        await shop.end("runs", "succeeded")
        assert (await told("runs"))["run"]["punctuality"] == "ended"
    assert "knows no such task, and the cluster no such pod" in await told("absent")
