"""Leased Jobs as the controller follows them: opened, taken back from ended pods, closed."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from plimsoll_operator.chunks.lease_keeper import NotWritten, UnknownJob
from plimsoll_operator.controller.splitting import leased_jobs, leaving_pods
from plimsoll_operator.controller.splitting.leased_jobs import over_of
from plimsoll_operator.controller.splitting.leaving_pods import LeavingPods
from plimsoll_operator.names import labels
from plimsoll_operator.splitting.job_tokens import JobName
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.splitting.leases import Ack, Lease, NoLease, Worker
from plimsoll_predictor.splitting.strategies.leased_task import LastLeased, leased_task_of
from plimsoll_predictor.splitting.strategies.strategy import Chunk
from tests.builders.controller.leased_jobs import (
    NAME,
    Api,
    Json,
    a_leasing_job,
    a_leasing_pod,
    following,
)
from tests.builders.splitting.leasing_jobs import a_leased_job
from tests.rigs.servers.admission_servers import until_true

ITEMS = 400


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leased_jobs, "LOOK_EVERY_S", 0.02)


async def test_a_job_is_opened_by_its_first_worker_and_closed_when_it_has_ended(
    tmp_path: Path,
) -> None:
    api = Api(a_leasing_job(), [a_leasing_pod("p-0", 0)])
    async with following(tmp_path, api) as rig:
        await rig.leased.open(NAME)
        worker = Worker("p-0", 0)
        await rig.done(worker, await rig.lease(worker))
        assert rig.store.leased_jobs.open() == [str(NAME)]
        assert api.job is not None
        api.job["status"] = {"conditions": [{"type": "Complete", "status": "True"}]}
        await until_true(lambda: not rig.store.leased_jobs.open())
        (words,) = rig.told
        assert words.startswith("Job train of shop/train: 1 item of 400 done, in 1 lease;")
        known = leased_task_of(rig.store.leased_jobs.taught(TaskId("shop", "train")))
        assert known is not None
        assert known.last == LastLeased(
            items=ITEMS, workers=4, shares=40, done=1, leases=1, taken_back=0, refused=0
        )
        await until_true(lambda: rig.taught == [TaskId("shop", "train")])
        with pytest.raises(UnknownJob):
            await rig.leased.open(NAME)


@pytest.mark.parametrize(
    ("name", "job"),
    [
        pytest.param(NAME, None, id="none"),
        pytest.param(NAME, a_leased_job(), id="one that was created while admission was away"),
        pytest.param(JobName("shop", "train", "other"), a_leasing_job(), id="another run's"),
    ],
)
async def test_what_leases_nothing_is_not_opened(
    tmp_path: Path, name: JobName, job: Json | None
) -> None:
    async with following(tmp_path, Api(job)) as rig:
        with pytest.raises(UnknownJob):
            await rig.leased.open(name)
        assert rig.store.leased_jobs.open() == []


async def test_while_the_api_server_is_away_workers_ask_again(tmp_path: Path) -> None:
    async with following(tmp_path, Api(a_leasing_job(), away=True)) as rig:
        with pytest.raises(NotWritten):
            await rig.leased.open(NAME)


async def test_what_a_pod_had_is_free_when_it_is_seen_to_be_over(tmp_path: Path) -> None:
    pods = [a_leasing_pod("p-0", 0)]
    async with following(tmp_path, Api(a_leasing_job(), pods)) as rig:
        await rig.leased.open(NAME)
        lost = await rig.lease(Worker("p-0", 0))
        rig.leased.see(pods[0], gone=False)
        assert await rig.done(Worker("p-0", 0), lost) is Ack.DONE, "it runs"
        rig.leased.see(a_leasing_pod("p-0", 0, "Failed"), gone=False)
        kept = rig.leased.keeper.find(NAME)
        await until_true(lambda: not kept.leases.parts)
        again = await rig.lease(Worker("p-0-next", 0))
        assert (again.first, again.end) == (1, 10)


async def test_a_pod_killed_with_several_items_is_spared_more_memory_and_one_killed_again_is_not(
    tmp_path: Path,
) -> None:
    # A lease without a pod would be taken back at the next look, without a kill.
    pods = [a_leasing_pod("p-0", 0), a_leasing_pod("p-0-next", 0)]
    async with following(tmp_path, Api(a_leasing_job(), pods)) as rig:
        await rig.leased.open(NAME)
        killed = a_leasing_pod("p-0", 0, "Failed", "OOMKilled")
        assert not await rig.leased.spares(killed), "it had nothing"
        worker = Worker("p-0", 0)
        rig.leased.keeper.find(NAME).guided.done(Chunk(1, 4.0, 20 * MIB))
        assert (await rig.lease(worker)).items == 5
        assert not await rig.leased.spares(a_leasing_pod("p-0", 0)), "it runs"
        assert await rig.leased.spares(killed)
        assert await rig.leased.spares(killed), "seen again"
        again = await rig.lease(Worker("p-0-next", 0))
        assert again.items == 2
        assert not await rig.leased.spares(a_leasing_pod("p-0-next", 0, "Failed", "OOMKilled"))
        assert not await rig.leased.spares(a_leasing_pod("other", 1, "Failed", "OOMKilled"))


async def test_what_a_pod_died_of_is_for_pods_of_its_share_and_the_job_ends_without(
    tmp_path: Path,
) -> None:
    api = Api(a_leasing_job(), [a_leasing_pod("p-0", 0), a_leasing_pod("p-1", 1)])
    async with following(tmp_path, api) as rig:
        await rig.leased.open(NAME)
        lost = await rig.lease(Worker("p-0", 0))
        api.pods[0] = a_leasing_pod("p-0", 0, "Failed")
        leases = rig.leased.keeper.find(NAME).leases
        await until_true(lambda: "p-0" not in leases.parts)
        other, given = Worker("p-1", 1), list[int]()
        while isinstance(found := await rig.next(other), Lease):
            given.append(found.first)
            await rig.done(other, found, found.first + found.items)
        assert lost.first not in given
        assert lost.first + lost.items in given
        # The index has failed for good, and the Job with it.
        assert api.job is not None
        failed = {"type": "Failed", "status": "True"}
        api.job["status"] = {"failedIndexes": "0", "conditions": [failed]}
        await until_true(lambda: not rig.store.leased_jobs.open())
        assert f"{20 - lost.items} items of 400 done" in rig.told[0]


async def test_a_pod_whose_end_nobody_saw_is_missed_in_a_list(tmp_path: Path) -> None:
    api = Api(a_leasing_job(), [a_leasing_pod("p-0", 0)])
    async with following(tmp_path, api) as rig:
        await rig.leased.open(NAME)
        await rig.lease(Worker("p-0", 0))
        api.pods = []
        await until_true(lambda: not rig.leased.keeper.find(NAME).leases.parts)


async def test_a_worker_of_which_there_is_no_pod_is_forgotten_although_it_has_nothing(
    tmp_path: Path,
) -> None:
    api = Api(a_leasing_job(), [a_leasing_pod("p-0", 0)])
    async with following(tmp_path, api) as rig:
        await rig.leased.open(NAME)
        api.away = True
        made_up = Worker("made-up", 1)
        await rig.lease(Worker("p-0", 0, goes_on=True))
        lease = await rig.lease(made_up)
        await rig.done(made_up, lease, lease.end)
        assert isinstance(await rig.next(made_up), NoLease)
        leases = rig.leased.keeper.find(NAME).leases
        assert set(leases.known) == {"p-0", "made-up"}
        api.away = False
        await until_true(lambda: set(leases.known) == {"p-0"})


async def test_what_a_pod_had_on_a_node_that_is_away_is_free_when_it_should_have_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pod is being deleted, and its phase is Running: its kubelet no longer reports."""
    monkeypatch.setattr(leaving_pods, "MARGIN_S", 0.1)
    lost = a_leasing_pod("p-0", 0)
    api = Api(a_leasing_job(), [lost, a_leasing_pod("p-0-next", 0)])
    async with following(tmp_path, api) as rig:
        await rig.leased.open(NAME)
        await rig.lease(Worker("p-0", 0))
        leases = rig.leased.keeper.find(NAME).leases
        lost["metadata"] |= {"deletionTimestamp": "then", "deletionGracePeriodSeconds": 3600}
        await asyncio.sleep(0.3)
        assert "p-0" in leases.parts, "it may work to the end of its grace"
        lost["metadata"]["deletionGracePeriodSeconds"] = 0
        await until_true(lambda: "p-0" not in leases.parts)
        assert (await rig.lease(Worker("p-0-next", 0))).first == 0
        found = await rig.next(Worker("p-0", 0))
        assert found is NoLease.WAIT, "it works nevertheless, and asks: its share is another's"


def test_a_pod_that_does_not_go_is_given_up_once() -> None:
    pod = {"metadata": {"uid": "one", "deletionTimestamp": "then", "deletionGracePeriodSeconds": 5}}
    leaving, late_s = LeavingPods(), 5 + leaving_pods.MARGIN_S
    assert leaving.overdue([pod], 100.0) == []
    assert leaving.overdue([pod], 99.0 + late_s) == []
    assert leaving.overdue([pod], 100.0 + late_s) == [pod]
    assert leaving.overdue([pod], 200.0 + late_s) == []
    assert leaving.overdue([], 201.0 + late_s) == []
    assert leaving.overdue([{"metadata": {"uid": "two"}}], 999.0) == []


async def test_the_share_of_a_pod_that_succeeded_without_a_word_is_done(tmp_path: Path) -> None:
    async with following(tmp_path, Api(a_leasing_job())) as rig:
        await rig.leased.open(NAME)
        rig.leased.see(a_leasing_pod("p-3", 3, "Succeeded"), gone=False)
        await until_true(lambda: rig.number_done == 10)
        rig.leased.see(a_leasing_pod("p-3", 3, "Succeeded"), gone=True)
        rig.leased.see(a_leasing_pod("p-4", 4, "Failed"), gone=True)
        rig.leased.see(a_leasing_pod("p-5", 5, "Succeeded"), gone=True)
        await until_true(lambda: rig.number_done == 20)


async def test_a_restart_goes_on_where_the_store_has_it(tmp_path: Path) -> None:
    api = Api(a_leasing_job(), [a_leasing_pod("p-0", 0)])
    async with following(tmp_path, api) as rig:
        await rig.leased.open(NAME)
        lease = await rig.lease(Worker("p-0", 0))
    async with following(tmp_path, api) as rig:
        await until_true(lambda: NAME in rig.leased.keeper.jobs)
        assert await rig.done(Worker("p-0", 0), lease) is Ack.DONE


async def test_a_job_that_was_deleted_is_forgotten_also_after_a_restart(tmp_path: Path) -> None:
    api = Api(a_leasing_job())
    async with following(tmp_path, api) as rig:
        await rig.leased.open(NAME)
    api.job = None
    async with following(tmp_path, api) as rig:
        await until_true(lambda: not rig.store.leased_jobs.open())


@pytest.mark.parametrize("how", ["parallelism is 0", "its items are not said any more"])
async def test_a_job_that_cannot_be_read_for_a_while_keeps_its_record(
    tmp_path: Path, how: str
) -> None:
    """A person who pauses a Job says that none of its pods shall run."""
    api = Api(a_leasing_job(), [a_leasing_pod("p-0", 0)])
    async with following(tmp_path, api) as rig:
        await rig.leased.open(NAME)
        lease = await rig.lease(Worker("p-0", 0))
    api.job = a_leasing_job()
    if how == "parallelism is 0":
        api.job["spec"]["parallelism"] = 0
    else:
        del api.job["metadata"]["annotations"][labels.ITEMS]
    async with following(tmp_path, api) as rig:
        await asyncio.sleep(0.1)
        assert rig.store.leased_jobs.open() == [str(NAME)]
        with pytest.raises(UnknownJob):
            await rig.leased.open(NAME)
    api.job = a_leasing_job()
    async with following(tmp_path, api) as rig:
        await until_true(lambda: NAME in rig.leased.keeper.jobs)
        assert await rig.done(Worker("p-0", 0), lease) is Ack.DONE


async def test_a_job_that_copies_a_deleted_one_begins_anew(tmp_path: Path) -> None:
    api = Api(a_leasing_job(), [a_leasing_pod("p-0", 0)])
    async with following(tmp_path, api) as rig:
        await rig.leased.open(NAME)
        worker = Worker("p-0", 0)
        await rig.done(worker, await rig.lease(worker))
    api.job = a_leasing_job()
    api.job["metadata"]["uid"] = "uid-2"
    async with following(tmp_path, Api()) as rig:
        rig.store.leased_jobs.put(str(NAME), {"uid": "uid-1"})
        rig.api.job = api.job
        await rig.leased.open(NAME)
        assert rig.number_done == 0


def test_a_pod_tells_whether_it_was_killed_for_memory() -> None:
    killed = over_of(a_leasing_pod("p-7", 7, "Failed", "OOMKilled"))
    assert (killed.worker, killed.index, killed.succeeded) == ("p-7", 7, False)
    assert killed.killed_bytes == 1024 * MIB
    assert over_of(a_leasing_pod("p-7", 7, "Failed")).killed_bytes is None
    assert over_of({"metadata": {"name": "bare"}}).index is None
