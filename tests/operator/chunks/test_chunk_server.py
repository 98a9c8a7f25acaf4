"""Leases over HTTP: whose they are, what is refused, and what a restart keeps."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer

from plimsoll_operator.chunks.file_shelf import FileShelf
from plimsoll_operator.chunks.job_tokens import JobName, is_token_of, token_for
from plimsoll_operator.chunks.keeping import Keeper, Told
from plimsoll_operator.chunks.server import ChunkServer
from plimsoll_predictor.splitting.jobs import Job
from plimsoll_predictor.splitting.leases import Ack, Lease

KEY = b"k" * 32
JOB = JobName("team", "scan", "run-1")
OTHER = JobName("others", "scan", "run-1")
ITEMS = Job(items=100, workers=2, start_s=1.5, wait_s=0.05)
BASE = f"/v1/chunks/{JOB}"

Client = TestClient[Any, Any]


class Clock:
    """A clock that stands."""

    def __call__(self) -> float:
        return 1000.0


def keeper(folder: Path, shares: int = 2) -> Keeper:
    kept = Keeper(FileShelf(folder), Clock())
    kept.open(JOB, ITEMS, shares)
    return kept


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    async with TestClient(TestServer(ChunkServer(keeper(tmp_path), KEY).app())) as each:
        yield each


def bearer(job: JobName = JOB, key: bytes = KEY) -> Mapping[str, str]:
    return {"Authorization": f"Bearer {token_for(key, job)}"}


async def asked(client: Client, worker: str, index: int = 0) -> dict[str, Any]:
    query = {"worker": worker, "index": str(index)}
    async with client.get(f"{BASE}/next", params=query, headers=bearer()) as answer:
        assert answer.status == 200
        found: dict[str, Any] = await answer.json()
        return found


async def told(client: Client, body: object, what: str = "done") -> tuple[int, dict[str, Any]]:
    async with client.post(f"{BASE}/{what}", json=body, headers=bearer()) as answer:
        return answer.status, await answer.json()


async def test_a_worker_asks_does_and_acknowledges_until_all_is_done(client: Client) -> None:
    done: list[int] = []
    for index, worker in enumerate("ab"):
        while "lease" in (found := await asked(client, worker, index)):
            done += range(found["first"], found["first"] + found["items"])
            said = {"worker": worker, "lease": found["lease"], "seconds": 0.1, "peak_bytes": 10**8}
            assert await told(client, said) == (200, {"ack": "done"})
            assert await told(client, said) == (200, {"ack": "again"})
        assert found["none"] == "finished"
    assert sorted(done) == list(range(100))


async def test_what_a_worker_does_not_have_it_cannot_acknowledge_or_renew(client: Client) -> None:
    lease = (await asked(client, "a"))["lease"]
    assert await told(client, {"worker": "b", "lease": lease}) == (200, {"ack": "refused"})
    forged = {"worker": "b", "lease": lease}
    assert await told(client, forged, "renew") == (200, {"kept": False})
    assert await told(client, {**forged, "worker": "a"}, "renew") == (200, {"kept": True})


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({}, id="none"),
        pytest.param({"Authorization": "Bearer "}, id="an empty one"),
        pytest.param({"Authorization": token_for(KEY, JOB)}, id="no bearer"),
        pytest.param(bearer(OTHER), id="another namespace's"),
        pytest.param(bearer(JobName("team", "scan-2", "run-1")), id="another job's"),
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


async def test_a_job_that_nobody_opened_leases_nothing(client: Client) -> None:
    url = f"/v1/chunks/{OTHER}/next"
    async with client.get(url, params={"worker": "a"}, headers=bearer(OTHER)) as answer:
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


async def test_a_worker_that_is_refused_keeps_its_share(tmp_path: Path) -> None:
    kept = keeper(tmp_path)
    with pytest.raises(ValueError, match="name"):
        kept.next(JOB, "", 0)
    assert kept.progress(JOB) == (0, 0, 100)


async def test_a_body_that_is_too_large_is_not_read(client: Client) -> None:
    async with client.post(f"{BASE}/done", data=b"x" * 10_000, headers=bearer()) as answer:
        assert answer.status == 413


def test_a_restart_keeps_what_was_answered(tmp_path: Path) -> None:
    first = keeper(tmp_path)
    done, kept = first.next(JOB, "a", 0), first.next(JOB, "b", 1)
    assert isinstance(done, Lease)
    assert isinstance(kept, Lease)
    assert first.done(JOB, "a", done.number, Told()).ack is Ack.DONE
    again = keeper(tmp_path)
    assert again.progress(JOB) == first.progress(JOB)
    assert again.done(JOB, "a", done.number, Told()).ack is Ack.AGAIN
    assert again.done(JOB, "b", kept.number, Told()).ack is Ack.DONE


class Full(FileShelf):
    """A disk that is full at times."""

    full = False

    def write(self, job: JobName, document: Mapping[str, Any]) -> None:
        if self.full:
            raise OSError("no space left")
        super().write(job, document)


async def test_what_could_not_be_written_is_not_answered_and_counts_when_asked_again(
    tmp_path: Path,
) -> None:
    shelf = Full(tmp_path)
    kept = Keeper(shelf, Clock())
    kept.open(JOB, ITEMS, 2)
    async with TestClient(TestServer(ChunkServer(kept, KEY).app())) as client:
        lease = (await asked(client, "a"))["lease"]
        shelf.full = True
        assert (await told(client, {"worker": "a", "lease": lease}))[0] == 503
        shelf.full = False
        said = await told(client, {"worker": "a", "lease": lease})
        assert said == (200, {"ack": "again"})
    assert keeper(tmp_path).progress(JOB) == kept.progress(JOB)


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


def test_a_job_of_an_older_ones_name_begins_anew(tmp_path: Path) -> None:
    first = keeper(tmp_path)
    lease = first.next(JOB, "a", 0)
    assert isinstance(lease, Lease)
    first.done(JOB, "a", lease.number, Told())
    later = JobName(JOB.namespace, JOB.name, "run-2")
    first.open(later, ITEMS, 2)
    assert first.progress(later) == (0, 0, 100)


def test_a_record_of_other_items_is_refused(tmp_path: Path) -> None:
    keeper(tmp_path)
    other = Keeper(FileShelf(tmp_path), Clock())
    with pytest.raises(ValueError, match="100 items, not 99"):
        other.open(JOB, Job(99, 2, 1.5, 0.05), 2)


def test_a_short_key_makes_no_token() -> None:
    with pytest.raises(ValueError, match="a key of 3 bytes"):
        token_for(b"abc", JOB)
    assert is_token_of(KEY, JOB, token_for(KEY, JOB))
