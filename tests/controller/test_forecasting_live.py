"""Forecasts on the real API server: a task's status, a run that runs long, and a restart."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from plimsoll_operator.commands.past_runs.import_file import import_command
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import Store
from tests.apiserver.controllers import Shop, a_controller, store_url, until
from tests.apiserver.hand_run_pods import TYPE, a_node, a_placed_pod, begin
from tests.conftest import Cluster

pytestmark = pytest.mark.cluster

HEADER = "namespace,task,run,finished_s,runtime_s,outcome,peak_bytes"
SEEN_S = 6.0
"""A change of a pod is seen within this time."""


async def test_a_run_that_runs_long_is_told_once_and_its_end_is_held_against_its_forecast(
    shop: Shop, cluster: Cluster, tmp_path: Path
) -> None:
    async with a_node(shop) as node:
        async with a_controller(cluster.kubeconfig, tmp_path):
            await a_placed_pod(shop, "first", node)
            await until("the task is known", lambda: shop.profile("train"))
            _import(shop, tmp_path, runs=40)
            found = await until("a forecast", lambda: _runtime(shop, 40))
            assert found["text"] == f"{found['p50']}-{found['p95']}".replace(" ", "")
            assert 55 <= found["p50Seconds"] <= 66
            assert found["longerThanTwice"] < 0.1
            assert (found["trend"], found["shape"].split(":")[0]) == ("steady", "steady")
            await a_placed_pod(shop, "late", node)
            await begin(shop, "late", ago=timedelta(hours=2))
            [told] = await until("an Event", lambda: shop.events("RunningLong"))
            assert told.startswith("running for 2h; 99 of 100 runs of ")
            assert "1 in 2" in told
        async with a_controller(cluster.kubeconfig, tmp_path):
            await shop.end("late", "succeeded")
            await until("its runtime is learned", lambda: _runtime(shop, 41))
            await a_placed_pod(shop, "swift", node)
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
