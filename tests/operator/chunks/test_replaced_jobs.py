"""A Job that replaces another under its name, as a copy with its run and its token."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from aiohttp.test_utils import TestClient, TestServer

import plimsoll_chunks
from plimsoll_operator.chunks.lease_keeper import Keeper, UnknownJob, WorkerReport
from plimsoll_operator.chunks.server import ChunkServer
from plimsoll_operator.splitting.job_tokens import JobName
from plimsoll_operator.splitting.leased_job import LeasedJob
from plimsoll_predictor.splitting.jobs import Job
from plimsoll_predictor.splitting.leases import Worker
from tests.rigs.servers.chunk_servers import (
    BASE,
    JOB,
    KEY,
    Client,
    Shelf,
    acked,
    asked,
    bearer,
    keeper,
)

FIRST, SECOND = "uid-1", "uid-2"


class Jobs:
    """The Jobs as the API server has them. there: the UID of the one of that name."""

    def __init__(self) -> None:
        self.kept: Keeper = keeper(Shelf())
        self.there = FIRST

    async def open(self, name: JobName) -> None:
        if self.kept.find(name).uid != self.there:
            self.kept.close(name)
            self.kept.open(LeasedJob(name, self.there, Job(100, 2, 1.5, 0.05), 2))


@pytest.fixture
def jobs() -> Jobs:
    return Jobs()


@pytest.fixture
async def client(jobs: Jobs) -> AsyncIterator[Client]:
    app = ChunkServer(jobs.kept, lambda: KEY, jobs.open).app()
    async with TestClient(TestServer(app)) as each:
        yield each


async def does_its_share(client: Client, **whose: object) -> None:
    while "lease" in (found := await asked(client, "p-0", 0, **whose)):
        await acked(client, {"worker": "p-0", "index": 0, "lease": found["lease"], **whose})
        if found["first"] + found["items"] == found["end"]:
            return


async def test_its_first_pod_has_it_begin_anew_also_if_nobody_else_saw_that_it_came(
    client: Client, jobs: Jobs
) -> None:
    await does_its_share(client, job_uid=FIRST)
    jobs.there = SECOND
    found = await asked(client, "q-0", 0, job_uid=SECOND)
    assert (found["first"], found["end"]) == (0, 50), "no item of it is done"
    assert jobs.kept.find(JOB).leases.done == 0


async def test_a_pod_of_the_other_job_that_still_runs_gets_nothing_of_it(
    client: Client, jobs: Jobs
) -> None:
    jobs.there = SECOND
    await asked(client, "q-0", 0, job_uid=SECOND)
    before = jobs.kept.find(JOB).leases.number
    query = {"worker": "p-0", "index": "0", "job_uid": FIRST}
    async with client.get(f"{BASE}/next", params=query, headers=bearer()) as answer:
        assert answer.status == 404
    body = {"worker": "p-0", "index": 0, "lease": 1, "job_uid": FIRST}
    async with client.post(f"{BASE}/done", json=body, headers=bearer()) as answer:
        assert answer.status == 404
    assert jobs.kept.find(JOB).leases.number == before


@pytest.mark.parametrize("whose", [{"job_uid": FIRST}, {}], ids=["its pods say it", "they do not"])
async def test_a_job_that_stays_is_not_opened_again(
    client: Client, jobs: Jobs, whose: dict[str, str]
) -> None:
    kept = jobs.kept.find(JOB)
    await does_its_share(client, **whose)
    assert jobs.kept.find(JOB) is kept
    assert kept.leases.done == 50


async def test_what_is_under_way_for_the_other_job_is_not_written_over_its_record() -> None:
    shelf = Shelf()
    kept = keeper(shelf)
    turn = kept.find(JOB).turn
    async with turn:
        asking = asyncio.create_task(kept.next(JOB, Worker("p-0", 0), None, WorkerReport()))
        await asyncio.sleep(0)
        kept.close(JOB)
        kept.open(LeasedJob(JOB, SECOND, Job(100, 2, 1.5, 0.05), 2))
        await kept.written(JOB)
    with pytest.raises(UnknownJob):
        await asking
    assert shelf.records[JOB]["uid"] == SECOND


def test_a_worker_says_whose_pod_it_is_in_unless_it_was_not_told() -> None:
    told = {"PLIMSOLL_ITEMS": "10", "PLIMSOLL_JOB_UID": SECOND}
    for environment, said in ((told, SECOND), ({**told, "PLIMSOLL_JOB_UID": ""}, None)):
        worker = plimsoll_chunks.Worker.from_environment(environment)
        assert plimsoll_chunks._Talk(worker)._me().get("job_uid") == said
