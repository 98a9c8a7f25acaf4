"""Pods created from many connections, by dry run or really, with a pause or without."""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from plimsoll_operator.names import labels
from tests.chart.creating import a_labelled_pod
from tests.conftest import Cluster

CONNECTIONS = 16
PAUSE_S = 0.1
"""Each connection's pause between two creations. Without it, a small machine's processors do
nothing else, and the API server takes as long to call any webhook as to create a pod."""


@dataclass(slots=True)
class Counted:
    """Results of the creations of one phase."""

    decided: int = 0
    undecided: int = 0
    refused: list[str] = field(default_factory=list)
    took_s: list[float] = field(default_factory=list)
    lasted_s: float = 0.0

    @property
    def creations(self) -> int:
        return self.decided + self.undecided

    @property
    def per_s(self) -> float:
        return self.creations / self.lasted_s

    @property
    def slowest_s(self) -> float:
        return max(self.took_s)


def per_s(phases: Sequence[Counted]) -> float:
    """Creations a second over several phases."""
    return sum(each.creations for each in phases) / sum(each.lasted_s for each in phases)


@dataclass(frozen=True, slots=True)
class Load:
    """A client of the API server, and where it creates pods."""

    session: aiohttp.ClientSession
    url: str

    async def create(self, counted: Counted, body: bytes) -> None:
        """Create one pod."""
        began_s = time.monotonic()
        try:
            async with self.session.post(self.url, data=body) as answer:
                text, status = await answer.read(), answer.status
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            counted.refused.append(repr(error))
            return
        counted.took_s.append(time.monotonic() - began_s)
        if status != 201:
            counted.refused.append(f"{status} {text[:300]!r}")
        elif labels.DECISION.encode() in text:
            counted.decided += 1
        else:
            counted.undecided += 1

    async def decides(self) -> bool:
        """Whether a pod that is created now gets a decision."""
        counted = Counted()
        await self.create(counted, json.dumps(labelled()).encode())
        assert counted.refused == []
        return counted.decided == 1

    @contextlib.asynccontextmanager
    async def going_on(
        self, pod: dict[str, Any], pause_s: float = PAUSE_S
    ) -> AsyncIterator[Counted]:
        """Create copies of a pod until the block ends."""
        counted, body, going = Counted(), json.dumps(pod).encode(), True

        async def work() -> None:
            while going:
                await self.create(counted, body)
                await asyncio.sleep(pause_s)

        began_s = time.monotonic()
        workers = [asyncio.create_task(work()) for _ in range(CONNECTIONS)]
        try:
            yield counted
        finally:
            going = False
            await asyncio.gather(*workers)
            counted.lasted_s = time.monotonic() - began_s

    async def for_s(self, seconds: float, pod: dict[str, Any], pause_s: float = PAUSE_S) -> Counted:
        """Create copies of a pod for that long."""
        async with self.going_on(pod, pause_s) as counted:
            await asyncio.sleep(seconds)
        return counted


def labelled() -> dict[str, Any]:
    """A pod that the webhook is asked about."""
    return a_labelled_pod("under-load", task="under-load")


def kept() -> dict[str, Any]:
    """A labelled pod that is really created, and that nobody schedules."""
    pod = labelled()
    pod["metadata"] = {"generateName": "kept-", "labels": pod["metadata"]["labels"]}
    pod["spec"]["schedulerName"] = "nobody"
    return pod


def unlabelled() -> dict[str, Any]:
    """The same pod without the task's label, so the webhook does not see it."""
    pod = labelled()
    del pod["metadata"]["labels"][labels.TASK]
    pod["metadata"]["labels"]["example.com/task"] = "under-load"
    return pod


@contextlib.asynccontextmanager
async def a_load(cluster: Cluster, namespace: str, *, dry_run: bool = True) -> AsyncIterator[Load]:
    """A client as the cluster's administrator."""
    words = ("config", "view", "--raw", "--flatten", "--minify", "-o", "json")
    found = json.loads(cluster.kubectl(*words))
    context = ssl.create_default_context(cafile=str(cluster.handle.layout.certificates / "ca.crt"))
    headers = {
        "Authorization": f"Bearer {found['users'][0]['user']['token']}",
        "Content-Type": "application/json",
    }
    connector = aiohttp.TCPConnector(limit=CONNECTIONS, ssl=context)
    async with aiohttp.ClientSession(
        connector=connector, headers=headers, timeout=aiohttp.ClientTimeout(total=30)
    ) as session:
        server = found["clusters"][0]["cluster"]["server"]
        how = "?dryRun=All" if dry_run else ""
        yield Load(session, f"{server}/api/v1/namespaces/{namespace}/pods{how}")
