"""A pod that succeeded has done its share, also if it was cut off and could report nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from plimsoll_operator.chunks.lease_keeper import NotWritten, WorkerReport
from plimsoll_operator.controller.splitting import leased_jobs, leaving_pods
from plimsoll_operator.controller.splitting.job_shelf import JobShelf
from plimsoll_operator.splitting.job_tokens import JobName
from plimsoll_predictor.splitting.leases import Lease, Worker
from tests.builders.controller.leased_jobs import (
    NAME,
    Api,
    Json,
    Rig,
    a_leasing_job,
    a_leasing_pod,
    following,
)
from tests.rigs.servers.admission_servers import until_true

SHARE = range(10)
"""The items of index 0."""
OTHER = Worker("p-1", 1)


class SlowShelf:
    """Blocks or fails writes, in place of ``JobShelf.write``."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.writing, self.goes_on, self.fails = asyncio.Event(), asyncio.Event(), False
        monkeypatch.setattr(JobShelf, "write", self.write)

    async def write(self, _job: JobName, _document: Mapping[str, Any]) -> None:
        self.writing.set()
        await self.goes_on.wait()
        if self.fails:
            raise NotWritten("no space left")


def that_went_well(phase: str) -> Json:
    pod = a_leasing_pod("p-0", 0, phase)
    ended = {"terminated": {"exitCode": 0, "reason": "Completed"}}
    pod["status"]["containerStatuses"][0]["state"] = ended
    return pod


async def given(rig: Rig) -> list[int]:
    """Return the first items of the leases that p-1 does until it gets no more."""
    found = list[int]()
    while isinstance(
        lease := await rig.leased.keeper.next(NAME, OTHER, None, WorkerReport()), Lease
    ):
        found.append(lease.first)
        await rig.done(OTHER, lease, lease.first + lease.items)
    return found


async def begins(rig: Rig) -> None:
    """Let p-0 lease, and be cut off; p-1 has done its share, and can help."""
    await rig.leased.open(NAME)
    await rig.lease(Worker("p-0", 0, goes_on=True))
    assert not set(await given(rig)) & set(SHARE)


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leased_jobs, "LOOK_EVERY_S", 0.02)


async def test_nobody_gets_items_of_a_share_that_is_done_while_that_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = Api(a_leasing_job(), [a_leasing_pod("p-0", 0), a_leasing_pod("p-1", 1)])
    async with following(tmp_path, api) as rig:
        await begins(rig)
        shelf = SlowShelf(monkeypatch)
        rig.leased.see(that_went_well("Succeeded"), gone=False)
        await shelf.writing.wait()
        asking = asyncio.create_task(rig.leased.keeper.next(NAME, OTHER, None, WorkerReport()))
        await asyncio.sleep(0)
        shelf.goes_on.set()
        assert not isinstance(await asking, Lease)


async def test_a_share_is_done_although_that_could_not_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = Api(a_leasing_job(), [a_leasing_pod("p-0", 0), a_leasing_pod("p-1", 1)])
    async with following(tmp_path, api) as rig:
        await begins(rig)
        with monkeypatch.context() as meanwhile:
            shelf = SlowShelf(meanwhile)
            shelf.fails = True
            shelf.goes_on.set()
            rig.leased.see(that_went_well("Succeeded"), gone=False)
            await shelf.writing.wait()
            with pytest.raises(NotWritten):
                await rig.leased.keeper.written(NAME)
        assert not set(await given(rig)) & set(SHARE)
        assert rig.number_done == 20


async def test_a_pod_whose_containers_went_well_keeps_its_items_until_its_phase_says_so(
    tmp_path: Path,
) -> None:
    """The kubelet writes first that the containers have ended, and the phase later."""
    pods = [that_went_well("Running"), a_leasing_pod("p-1", 1), a_leasing_pod("p-2", 2)]
    api = Api(a_leasing_job(), pods)
    async with following(tmp_path, api) as rig:
        await begins(rig)
        leases = rig.leased.keeper.find(NAME).leases
        await rig.lease(Worker("p-2", 2))
        rig.leased.see(pods[0], gone=False)
        rig.leased.see(a_leasing_pod("p-2", 2, "Failed"), gone=False)
        await until_true(lambda: "p-2" not in leases.parts)
        assert "p-0" in leases.parts, "in the watch"
        await rig.lease(Worker("p-2", 2))
        pods[2] = a_leasing_pod("p-2", 2, "Failed")
        await until_true(lambda: "p-2" not in leases.parts)
        assert "p-0" in leases.parts, "in the list"
        rig.leased.see(that_went_well("Succeeded"), gone=False)
        await until_true(lambda: not leases.has_left(0))
        assert not set(await given(rig)) & set(SHARE)


@pytest.mark.parametrize("how", ["it is gone", "it should have gone"])
async def test_a_pod_whose_phase_never_says_so_is_taken_back_when_it_has_gone_or_should_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(leaving_pods, "MARGIN_S", 0.1)
    lost = that_went_well("Running")
    api = Api(a_leasing_job(), [lost, a_leasing_pod("p-1", 1)])
    async with following(tmp_path, api) as rig:
        await begins(rig)
        leases = rig.leased.keeper.find(NAME).leases
        lost["metadata"]["deletionTimestamp"] = "then"
        if how == "it is gone":
            rig.leased.see(lost, gone=True)
        else:
            lost["metadata"]["deletionGracePeriodSeconds"] = 0
        await until_true(lambda: "p-0" not in leases.parts)
        assert leases.has_left(0), "the next pod of its index does the rest"


async def test_what_a_pod_that_succeeded_had_of_other_shares_is_free(tmp_path: Path) -> None:
    api = Api(a_leasing_job(), [a_leasing_pod("p-0", 0), a_leasing_pod("p-1", 1)])
    async with following(tmp_path, api) as rig:
        await begins(rig)
        leases = rig.leased.keeper.find(NAME).leases
        api.pods[0] = a_leasing_pod("p-0", 0, "Failed")
        await until_true(lambda: "p-0" not in leases.parts)
        helping = await rig.lease(OTHER)
        assert helping.first in SHARE
        rig.leased.see(a_leasing_pod("p-1", 1, "Succeeded"), gone=False)
        await until_true(lambda: OTHER.name not in leases.parts)
        assert leases.has_left(0)
        assert helping.first in leases.begun
