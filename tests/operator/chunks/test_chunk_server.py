"""Leases over HTTP: whose they are, what is refused, and what a restart keeps."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping

import pytest
from aiohttp.test_utils import TestClient, TestServer

from plimsoll_operator.chunks.lease_keeper import Keeper, WorkerReport
from plimsoll_operator.chunks.server import ChunkServer
from plimsoll_operator.splitting.job_tokens import JobName, is_token_of, token_for
from plimsoll_operator.splitting.leased_job import LeasedJob
from plimsoll_predictor.splitting.jobs import Job
from plimsoll_predictor.splitting.leases import WORKERS_A_SHARE, Ack, Heard, Lease, NoLease, Worker
from tests.rigs.servers.chunk_servers import (
    BASE,
    JOB,
    KEY,
    Client,
    Clock,
    Shelf,
    acked,
    asked,
    bearer,
    keeper,
    none_more,
    server,
    told,
)

OTHER = JobName("others", "scan", "run-1")


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with TestClient(server(keeper(Shelf()))) as each:
        yield each


async def test_a_worker_asks_does_and_acknowledges_until_all_is_done(client: Client) -> None:
    done: list[int] = []
    for index, worker in enumerate("ab"):
        while "lease" in (found := await asked(client, worker, index)):
            done += range(found["first"], found["first"] + found["items"])
            said = {"worker": worker, "index": index, "lease": found["lease"], "seconds": 0.1}
            assert await acked(client, said) == "done"
            assert await acked(client, said) == "again"
        assert found["none"] == "finished"
    assert sorted(done) == list(range(100))


async def test_what_a_worker_does_not_have_it_cannot_acknowledge_or_renew(client: Client) -> None:
    lease = (await asked(client, "a"))["lease"]
    forged = {"worker": "b", "index": 1, "lease": lease}
    assert await acked(client, forged) == "refused"
    assert (await told(client, forged, "renew"))[1]["kept"] is False
    assert (await told(client, {"worker": "a", "lease": lease}, "renew"))[1]["kept"] is True


async def test_a_worker_is_told_where_its_part_ends_and_what_others_have_of_it(
    client: Client,
) -> None:
    mine = await asked(client, "a", 0, end=0)
    assert (mine["first"], mine["items"], mine["end"], mine["owed"]) == (0, 1, 50, [])
    while "lease" in (found := await asked(client, "b", 1, end=0)):
        said = {"worker": "b", "index": 1, "lease": found["lease"], "end": found["end"]}
        await acked(client, said)
    assert found["none"] == "wait"
    me = {"worker": "a", "index": 0, "lease": mine["lease"]}
    _, said = await told(client, {**me, "end": mine["end"]}, "renew")
    assert (said["end"], said["owed"]) == (25, [[25, 50]])
    await told(client, {**me, "end": 25}, "renew")
    assert (await asked(client, "b", 1, end=0))["first"] == 25


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({}, id="none"),
        pytest.param({"Authorization": "Bearer "}, id="an empty one"),
        pytest.param({"Authorization": token_for(KEY, JOB.namespace, JOB.run)}, id="no bearer"),
        pytest.param(bearer(OTHER), id="another namespace's"),
        pytest.param(bearer(JobName("team", "scan", "run-2")), id="an older job's of this name"),
        pytest.param(bearer(key=b"x" * 32), id="another key's"),
        pytest.param({"Authorization": "Bearer \u00e4"}, id="no text of a token"),
    ],
)
async def test_without_the_jobs_token_nothing_is_said(
    client: Client, headers: Mapping[str, str]
) -> None:
    async with client.get(f"{BASE}/next", params={"worker": "a"}, headers=headers) as answer:
        assert answer.status == 401


async def test_a_job_that_leases_keeps_its_token_when_plimsolls_key_has_changed() -> None:
    """The key is in a Secret that may be made anew; a running Job's template cannot change."""
    shelf, key = Shelf(), [KEY]

    def anew() -> TestServer:
        return TestServer(ChunkServer(keeper(shelf), lambda: key[0], none_more).app())

    async with TestClient(anew()) as client:
        first = await asked(client, "a")
        key[0] = b"x" * 32
        assert await asked(client, "a") == first
    async with TestClient(anew()) as client:
        assert (await asked(client, "a"))["lease"] == first["lease"]
        for headers in ({}, bearer(OTHER), {"Authorization": "Bearer "}):
            answer = client.get(f"{BASE}/next?worker=a&index=0", headers=headers)
            async with answer as refused:
                assert refused.status == 401
    assert token_for(KEY, JOB.namespace, JOB.run) not in str(shelf.records)


async def test_a_job_that_nobody_opened_leases_nothing(client: Client) -> None:
    url, query = f"/v1/chunks/{OTHER}/next", {"worker": "a", "index": "0"}
    async with client.get(url, params=query, headers=bearer(OTHER)) as answer:
        assert answer.status == 404


@pytest.mark.parametrize(
    "body",
    [
        pytest.param([], id="no object"),
        pytest.param({"worker": "a"}, id="no lease"),
        pytest.param({"worker": "", "lease": 1}, id="nobody"),
        pytest.param({"worker": "a", "lease": "1"}, id="a lease that is text"),
        pytest.param({"worker": "a", "lease": -1}, id="a lease below zero"),
        pytest.param({"worker": "a", "lease": 1, "seconds": -1}, id="seconds below zero"),
        pytest.param({"worker": "a", "lease": 1, "seconds": 1e300}, id="for ever"),
        pytest.param({"worker": "a", "lease": 1, "peak_bytes": 2**70}, id="too much memory"),
    ],
)
async def test_what_makes_no_sense_is_refused_and_changes_nothing(
    client: Client, body: object
) -> None:
    before = await asked(client, "a")
    status, said = await told(client, body)
    assert status == 400
    assert said["error"]
    assert await asked(client, "a") == before


@pytest.mark.parametrize("index", ["x", "-1", "2", "1000000", "²", ""])
@pytest.mark.parametrize("worker", ["a", ""])
async def test_an_index_that_no_worker_has_is_refused(
    client: Client, index: str, worker: str
) -> None:
    query = {"worker": worker, "index": index}
    async with client.get(f"{BASE}/next", params=query, headers=bearer()) as answer:
        assert answer.status == 400


async def test_a_worker_that_is_refused_keeps_its_share() -> None:
    kept = keeper(Shelf())
    with pytest.raises(ValueError, match="name"):
        await kept.next(JOB, Worker("", 0), None, WorkerReport())
    assert kept.find(JOB).leases.reserved == 100


async def test_without_an_index_there_is_nothing_to_lease(client: Client) -> None:
    async with client.get(f"{BASE}/next", params={"worker": "a"}, headers=bearer()) as answer:
        assert answer.status == 400


async def test_a_job_that_has_its_workers_gets_no_more_of_them(client: Client) -> None:
    most = WORKERS_A_SHARE * (2 + 3)
    for at in range(most):
        await asked(client, f"p-{at}", at % 2)
    query = {"worker": "one-more", "index": "0"}
    async with client.get(f"{BASE}/next", params=query, headers=bearer()) as answer:
        assert answer.status == 400
        assert f"{most} workers at most" in (await answer.json())["error"]
    assert "lease" in await asked(client, "p-0", 0)


async def test_a_body_that_is_too_large_is_not_read(client: Client) -> None:
    async with client.post(f"{BASE}/done", data=b"x" * 10_000, headers=bearer()) as answer:
        assert answer.status == 413


async def test_a_restart_keeps_what_was_answered() -> None:
    shelf, (one, two) = Shelf(), (Worker("a", 0), Worker("b", 1))
    first = keeper(shelf)
    done = await first.next(JOB, one, None, WorkerReport())
    kept = await first.next(JOB, two, None, WorkerReport())
    assert isinstance(done, Lease)
    assert isinstance(kept, Lease)
    heard = Heard(done.number, done.end)
    told_s = WorkerReport(0.0, 10**8, 10**9)
    assert await first.done(JOB, one, heard, None, told_s) is Ack.DONE
    again = keeper(shelf)
    assert again.find(JOB).leases.done == 1
    assert again.find(JOB).guided.past.peaks.count == 1
    assert await again.done(JOB, one, heard, None, WorkerReport()) is Ack.AGAIN
    assert (
        await again.done(JOB, two, Heard(kept.number, kept.end), None, WorkerReport()) is Ack.DONE
    )


async def test_what_could_not_be_written_is_not_answered_and_counts_when_asked_again() -> None:
    shelf = Shelf()
    async with TestClient(server(keeper(shelf))) as client:
        lease = (await asked(client, "a"))["lease"]
        shelf.full = True
        assert (await told(client, {"worker": "a", "lease": lease}))[0] == 503
        shelf.full = False
        assert await acked(client, {"worker": "a", "lease": lease}) == "again"
    assert keeper(shelf).find(JOB).leases.done == 1


async def test_requests_that_come_while_one_is_written_share_the_next_write() -> None:
    shelf = Shelf()
    kept = keeper(shelf, shares=50)
    asking = (kept.next(JOB, Worker(f"w-{at}", at), None, WorkerReport()) for at in range(50))
    found = await asyncio.gather(*asking)
    assert all(isinstance(each, Lease) for each in found)
    assert shelf.writes == 2
    assert keeper(shelf, shares=50).find(JOB).leases.left == kept.find(JOB).leases.left


async def test_what_a_task_taught_sizes_the_first_lease_of_its_next_job() -> None:
    first, worker = keeper(Shelf(), items=10_000), Worker("a", 0)
    for _ in range(4):
        lease = await first.next(JOB, worker, None, WorkerReport())
        assert isinstance(lease, Lease)
        heard = Heard(lease.number, lease.end)
        await first.done(JOB, worker, heard, None, WorkerReport(0.001 * lease.items))
    taught = json.loads(json.dumps(first.find(JOB).guided.to_document()))
    for known, least in ((taught, 1000), ({"times": "nonsense"}, 1), (None, 1)):
        later = Keeper(Shelf(), Clock())
        later.open(LeasedJob(JOB, "uid-2", Job(10_000, 2, 1.5, 0.05), 2), None, known)
        found = await later.next(JOB, worker, None, WorkerReport())
        assert isinstance(found, Lease)
        assert found.items >= least
        assert (found.items > 1) == (least > 1)


async def test_a_worker_that_waits_has_nothing_written() -> None:
    shelf = Shelf()
    kept = keeper(shelf, shares=1, items=1)
    await kept.next(JOB, Worker("a", 0), None, WorkerReport())
    writes = shelf.writes
    for _ in range(5):
        assert await kept.next(JOB, Worker("b", 0), None, WorkerReport()) is NoLease.WAIT
    assert shelf.writes == writes


async def test_after_a_kill_for_memory_chunks_have_half_the_items_at_most() -> None:
    kept, worker = keeper(Shelf(), items=1000), Worker("a", 0)
    limits = WorkerReport(0.001, 10**7, 10**9)
    sizes = []
    for _ in range(5):
        lease = await kept.next(JOB, worker, None, limits)
        assert isinstance(lease, Lease)
        sizes.append(lease.items)
        await kept.done(JOB, worker, Heard(lease.number, lease.end), None, limits)
    killed = await kept.next(JOB, worker, None, limits)
    assert isinstance(killed, Lease)
    assert sizes == [1, 2, 4, 8, 16]
    assert killed.items == 32
    await kept.died(JOB, "a", 10**9)
    after = await kept.next(JOB, Worker("a-2", 0), None, limits)
    assert isinstance(after, Lease)
    assert (after.first, after.items) == (killed.first, 16)


@pytest.mark.parametrize(
    "names",
    [
        ("", "a", "r"),
        ("a", "", "r"),
        ("a", "b", ""),
        ("a/b", "c", "r"),
        ("a_b", "c", "r"),
        ("A", "b", "r"),
        ("a", "..", "r"),
    ],
)
def test_names_that_no_job_has_are_refused(names: tuple[str, str, str]) -> None:
    with pytest.raises(ValueError, match="a job has"):
        JobName(*names)


def test_a_record_of_other_items_is_refused() -> None:
    shelf = Shelf()
    shelf.records[JOB] = keeper(shelf).find(JOB).to_document()
    with pytest.raises(ValueError, match="100 items, not 99"):
        keeper(shelf, items=99)


def test_a_short_key_makes_no_token() -> None:
    with pytest.raises(ValueError, match="a key of 3 bytes"):
        token_for(b"abc", JOB.namespace, JOB.run)
    assert is_token_of(KEY, JOB, token_for(KEY, JOB.namespace, JOB.run))
