"""Leased Jobs that end, or go, while no controller leads: what they taught stays."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from plimsoll_operator.chunks.lease_keeper import WorkerReport
from plimsoll_operator.controller.splitting import leased_jobs
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import GIB, MIB
from plimsoll_predictor.splitting.leases import Ack, Heard, Worker
from plimsoll_predictor.splitting.strategies.leased_task import leased_task_of
from tests.builders.controller.leased_jobs import NAME, Api, a_leasing_job, a_leasing_pod, following
from tests.builders.splitting.leasing_jobs import LEASING, a_leased_job, after, answered
from tests.builders.stores import open_store
from tests.rigs.servers.admission_servers import until_true

TASK = TaskId("shop", "train")
WORKER = Worker("p-0", 0)
MEASURED = WorkerReport(seconds=4.0, peak_bytes=20 * MIB, limit_bytes=GIB)


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leased_jobs, "LOOK_EVERY_S", 0.02)


async def do_one_lease(folder: Path, api: Api) -> None:
    """Let a controller lead while one item is done, and end."""
    async with following(folder, api) as rig:
        await rig.leased.open(NAME)
        lease = await rig.lease(WORKER)
        heard = Heard(lease.number, lease.end)
        assert await rig.leased.keeper.done(NAME, WORKER, heard, None, MEASURED) is Ack.DONE


def end(api: Api, how: str) -> None:
    if how == "deleted":
        api.job = None
    elif how == "deleted, and made anew":
        job = a_leased_job()
        api.job = after(job, answered(job, replace(LEASING, run="review-2")))
        api.job["metadata"]["uid"] = "uid-2"
    else:
        assert api.job is not None
        api.job["status"] = {"conditions": [{"type": how, "status": "True"}]}


@pytest.mark.parametrize("how", ["Complete", "Failed", "deleted", "deleted, and made anew"])
async def test_what_a_job_taught_is_kept_if_it_ends_while_no_controller_leads(
    tmp_path: Path, how: str
) -> None:
    api = Api(a_leasing_job(), [a_leasing_pod("p-0", 0)])
    await do_one_lease(tmp_path, api)
    end(api, how)
    async with following(tmp_path, api) as rig:
        await until_true(lambda: not rig.store.leased_jobs.open())
        known = leased_task_of(rig.store.leased_jobs.taught(TASK))
        assert known is not None
        assert known.last is not None
        assert (known.last.done, known.last.leases, known.last.workers) == (1, 1, 4)
        await until_true(lambda: rig.taught == [TASK])
        assert NAME not in rig.leased.keeper.jobs
        told = 1 if how in ("Complete", "Failed") else 0
        assert len(rig.told) == told, "there is a Job that the Event can be about"


async def test_while_the_api_server_is_away_a_record_stays_for_the_next_start(
    tmp_path: Path,
) -> None:
    api = Api(a_leasing_job(), [a_leasing_pod("p-0", 0)])
    await do_one_lease(tmp_path, api)
    api.away = True
    async with following(tmp_path, api) as rig:
        await until_true(lambda: api.asked > 0)
        assert rig.store.leased_jobs.open() == [str(NAME)]
    api.away = False
    end(api, "Failed")
    async with following(tmp_path, api) as rig:
        await until_true(lambda: rig.taught == [TASK])


async def test_a_job_that_ended_is_closed_once_the_api_server_answers_after_the_start(
    tmp_path: Path,
) -> None:
    api = Api(a_leasing_job(), [a_leasing_pod("p-0", 0)])
    await do_one_lease(tmp_path, api)
    end(api, "deleted")
    api.away = True
    async with following(tmp_path, api) as rig:
        await until_true(lambda: api.asked > 3)
        assert rig.store.leased_jobs.open() == [str(NAME)]
        api.away = False
        await until_true(lambda: rig.taught == [TASK])
        assert rig.store.leased_jobs.open() == []


async def test_a_job_that_a_worker_opens_meanwhile_ends_once(tmp_path: Path) -> None:
    api = Api(a_leasing_job(), [a_leasing_pod("p-0", 0)])
    await do_one_lease(tmp_path, api)
    api.away = True
    async with following(tmp_path, api) as rig:
        await until_true(lambda: api.asked > 3)
        api.away = False
        await rig.leased.open(NAME)
        end(api, "Complete")
        await until_true(lambda: rig.taught == [TASK])
        asked = api.asked
        await asyncio.sleep(0.2)
        assert (api.asked, len(rig.told), rig.taught) == (asked, 1, [TASK])


async def test_the_record_of_an_older_version_goes_with_its_deleted_job(tmp_path: Path) -> None:
    """It does not name the task that it could teach."""
    store = open_store(tmp_path)
    store.leased_jobs.put(str(NAME), {"uid": "uid-1", "leases": {}, "learned": {}, "counts": {}})
    store.close()
    async with following(tmp_path, Api()) as rig:
        await until_true(lambda: not rig.store.leased_jobs.open())
        assert rig.store.leased_jobs.taught(TASK) is None
        assert rig.taught == []


@pytest.mark.parametrize("fails", [1, 2, 3, 4])
async def test_a_job_that_ended_is_closed_once_while_lists_of_pods_fail(
    tmp_path: Path, fails: int
) -> None:
    api = Api(a_leasing_job(), [a_leasing_pod("p-0", 0)])
    await do_one_lease(tmp_path, api)
    end(api, "Complete")
    api.lists_that_fail = fails
    async with following(tmp_path, api) as rig:
        await until_true(lambda: rig.taught == [TASK])
        await asyncio.sleep(0.3)
        assert (len(rig.told), rig.taught) == (1, [TASK])
        known = leased_task_of(rig.store.leased_jobs.taught(TASK))
        assert known is not None
        assert known.last is not None
        assert known.last.done == 1
