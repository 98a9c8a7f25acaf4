"""What the watch shows of pods that lease counts at once, and only if they are over."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from plimsoll_operator.controller.splitting import leased_jobs
from plimsoll_predictor.splitting.leases import Worker
from tests.builders.controller.leased_jobs import NAME, Api, a_leasing_job, a_leasing_pod, following
from tests.rigs.servers.admission_servers import until_true


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leased_jobs, "LOOK_EVERY_S", 0.02)


async def test_what_is_seen_waits_for_no_look_at_another_job(tmp_path: Path) -> None:
    """A round of looks takes long with many Jobs, and a call to the API server may, too."""
    api = Api(a_leasing_job(), [a_leasing_pod("p-0", 0)])
    async with following(tmp_path, api) as rig:
        await rig.leased.open(NAME)
        await rig.lease(Worker("p-0", 0))
        api.answers, asked = asyncio.Event(), api.asked
        await until_true(lambda: api.asked > asked + 1)
        rig.leased.see(a_leasing_pod("p-0", 0, "Failed"), gone=False)
        await until_true(lambda: not rig.leased.keeper.find(NAME).leases.parts, within_s=5)
        assert not api.answers.is_set()


async def test_a_pod_that_leaves_the_watch_and_runs_on_keeps_its_items(tmp_path: Path) -> None:
    """Somebody took its label off: the API server tells such a watch that the pod was deleted."""
    pods = [a_leasing_pod("p-0", 0), a_leasing_pod("p-1", 1)]
    api = Api(a_leasing_job(), pods)
    async with following(tmp_path, api) as rig:
        await rig.leased.open(NAME)
        leases = rig.leased.keeper.find(NAME).leases
        for at, worker in enumerate(("p-0", "p-1")):
            await rig.lease(Worker(worker, at))
        rig.leased.see(pods[0], gone=True)
        rig.leased.see(a_leasing_pod("p-1", 1, "Failed"), gone=False)
        await until_true(lambda: "p-1" not in leases.parts)
        assert "p-0" in leases.parts
        del pods[0]
        await until_true(lambda: "p-0" not in leases.parts)
