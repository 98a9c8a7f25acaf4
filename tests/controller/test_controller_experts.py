"""The experts of a real controller process survive its end, however it ends."""

from __future__ import annotations

import json
import os
import random
import signal
from pathlib import Path

import pytest

from plimsoll_predictor.core.record import Observation
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import Store
from tests.apiserver.controllers import Shop, a_controller, store_url, until
from tests.builders.experts.expert_lives import a_life, a_run
from tests.conftest import Cluster

pytestmark = pytest.mark.cluster


def past_of(task: TaskId, n: int, *, seed: int) -> list[Observation]:
    chance = random.Random(seed)
    return [a_run(f"{seed}-{number}", chance.uniform(200, 900), task=task) for number in range(n)]


async def test_killed_and_started_again_the_experts_are_as_if_nothing_had_happened(
    shop: Shop, cluster: Cluster, tmp_path: Path
) -> None:
    # No training: its end could come before or after the kill.
    await shop.enforce(minRuns=100)
    first, second = (past_of(shop.task(), 30, seed=seed) for seed in (1, 2))
    for name in ("whole", "killed"):
        (tmp_path / name).mkdir()
    folder = tmp_path / "killed"
    async with a_controller(cluster.kubeconfig, folder) as running:
        await until("the store", (folder / "plimsoll.db").exists)
        store = Store.open(store_url(folder))
        store.observations.record_history(first)
        await until("it saved what it learned", lambda: store.experts.standing(shop.task()))
        with store.database.write():
            os.kill(running.pid, signal.SIGSTOP)  # while it holds no lock of the store
        store.observations.record_history(second)
        await running.end(signal.SIGKILL)
    assert len(store.experts.lessons(0)) == 30, "killed before it saved those"
    async with a_controller(cluster.kubeconfig, folder) as running:
        await until("they are in the saved state", lambda: not store.experts.lessons(0))
        await running.end(signal.SIGTERM)
    saved = store.experts.standings()
    pools = store.experts.pools({task.partition("/")[0] for task in saved})
    store.close()
    async with a_life(tmp_path / "whole") as whole:
        for past in (first, second):
            whole.store.observations.record_history(past)
        await whole.standings.fold()
        wanted = json.loads(json.dumps(whole.state()))
        assert {"pools": pools, "standings": saved} == wanted
