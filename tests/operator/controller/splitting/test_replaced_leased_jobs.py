"""A leased Job that another replaces under its name, with its run: each has its own record."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from plimsoll_operator.controller.splitting import leased_jobs
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.splitting.leases import Worker
from plimsoll_predictor.splitting.strategies.leased_task import leased_task_of
from tests.builders.controller.leased_jobs import (
    NAME,
    Api,
    Rig,
    a_leasing_job,
    a_leasing_pod,
    following,
)

SHARE = 10
TASK = TaskId("shop", "train")


@pytest.fixture(autouse=True)
def _seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker of the next Job asks before anybody looks."""
    monkeypatch.setattr(leased_jobs, "LOOK_EVERY_S", 60.0)


def replace(api: Api) -> None:
    api.job = a_leasing_job()
    api.job["metadata"]["uid"] = "uid-2"


async def do_a_share(rig: Rig) -> None:
    await rig.leased.open(NAME)
    worker = Worker("p-0", 0)
    await rig.done(worker, await rig.lease(worker))
    rest = await rig.lease(worker)
    await rig.done(worker, rest, rest.end)
    assert rig.number_done == SHARE


@pytest.mark.parametrize("at_once", [1, 3])
async def test_the_next_job_begins_anew_and_what_the_first_taught_is_kept(
    tmp_path: Path, at_once: int
) -> None:
    api = Api(a_leasing_job(), [a_leasing_pod("p-0", 0)])
    async with following(tmp_path, api) as rig:
        await do_a_share(rig)
        replace(api)
        await asyncio.gather(*(rig.leased.open(NAME) for _ in range(at_once)))
        assert rig.leased.keeper.find(NAME).uid == "uid-2"
        assert rig.number_done == 0
        assert rig.taught == [TASK]
        taught = leased_task_of(rig.store.leased_jobs.taught(TASK))
        assert taught is not None
        assert taught.last is not None
        assert taught.last.done == SHARE
        record = rig.store.leased_jobs.get(str(NAME))
        assert isinstance(record, dict)
        assert record["uid"] == "uid-2"


async def test_what_became_of_the_first_jobs_pods_says_nothing_of_the_next_ones_shares(
    tmp_path: Path,
) -> None:
    api = Api(a_leasing_job(), [a_leasing_pod("p-0", 0)])
    async with following(tmp_path, api) as rig:
        await do_a_share(rig)
        rig.leased.see(a_leasing_pod("p-1", 1, "Succeeded"), gone=False)
        replace(api)
        await rig.leased.open(NAME)
        rig.leased.see(a_leasing_pod("p-2", 2, "Succeeded"), gone=False)
        other = a_leasing_pod("q-3", 3, "Succeeded")
        other["metadata"]["labels"]["batch.kubernetes.io/controller-uid"] = "uid-2"
        rig.leased.see(other, gone=False)
        leases = rig.leased.keeper.find(NAME).leases
        async with asyncio.timeout(10):
            while leases.has_left(3):
                await asyncio.sleep(0.005)
        assert leases.done == SHARE


async def test_a_job_that_stays_keeps_its_record_however_often_it_is_opened(tmp_path: Path) -> None:
    api = Api(a_leasing_job(), [a_leasing_pod("p-0", 0)])
    async with following(tmp_path, api) as rig:
        await do_a_share(rig)
        await rig.leased.open(NAME)
        assert rig.number_done == SHARE
        assert rig.taught == []
