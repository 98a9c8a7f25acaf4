"""A real server of chunks on loopback, and what workers ask of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from aiohttp.test_utils import TestClient, TestServer

from plimsoll_operator.chunks.lease_keeper import Keeper, UnknownJob
from plimsoll_operator.chunks.server import ChunkServer
from plimsoll_operator.splitting.job_tokens import JobName, token_for
from plimsoll_operator.splitting.leased_job import LeasedJob
from plimsoll_predictor.splitting.jobs import Job

KEY = b"k" * 32
JOB = JobName("team", "scan", "run-1")
BASE = f"/v1/chunks/{JOB}"
Client = TestClient[Any, Any]


class Clock:
    """A clock on which a second passes each time it is read."""

    now_s = 1000.0

    def __call__(self) -> float:
        self.now_s += 1
        return self.now_s


class Shelf:
    """A shelf in memory, which is sometimes full."""

    def __init__(self) -> None:
        self.records: dict[JobName, Any] = {}
        self.full = False
        self.writes = 0

    async def write(self, job: JobName, document: Mapping[str, Any]) -> None:
        self.writes += 1
        await asyncio.sleep(0)
        if self.full:
            raise OSError("no space left")
        self.records[job] = json.loads(json.dumps(document))


def keeper(shelf: Shelf, shares: int = 2, items: int = 100, name: JobName = JOB) -> Keeper:
    """A keeper that has opened the job from its shelf."""
    kept = Keeper(shelf, Clock())
    job = Job(items=items, workers=2, start_s=1.5, wait_s=0.05)
    kept.open(LeasedJob(name, "uid-1", job, shares), shelf.records.get(name))
    return kept


async def none_more(name: JobName) -> None:
    raise UnknownJob(f"{name} leases nothing")


def server(kept: Keeper) -> TestServer:
    return TestServer(ChunkServer(kept, lambda: KEY, none_more).app())


def bearer(job: JobName = JOB, key: bytes = KEY) -> Mapping[str, str]:
    return {"Authorization": f"Bearer {token_for(key, job.namespace, job.run)}"}


async def asked(client: Client, worker: str, index: int = 0, **more: object) -> dict[str, Any]:
    query = {"worker": worker, "index": str(index), **{key: str(more[key]) for key in more}}
    async with client.get(f"{BASE}/next", params=query, headers=bearer()) as answer:
        assert answer.status == 200
        found: dict[str, Any] = await answer.json()
        return found


async def told(client: Client, body: object, what: str = "done") -> tuple[int, dict[str, Any]]:
    async with client.post(f"{BASE}/{what}", json=body, headers=bearer()) as answer:
        return answer.status, await answer.json()


async def acked(client: Client, body: object) -> str:
    status, said = await told(client, body)
    assert status == 200
    return str(said["ack"])
