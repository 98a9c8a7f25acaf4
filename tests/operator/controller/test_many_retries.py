"""Many retries of a namespace whose webhook hangs: what is done for others does not wait."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from aiohttp import web

from plimsoll_operator.controller.attempts.calls_in_turn import OF_A_NAMESPACE, CallsInTurn, spread
from plimsoll_operator.kube.running_pods import PodWriter
from plimsoll_predictor.core.units import MIB
from tests.builders.controller.ledgers import a_train, an_inside, decided, killed
from tests.builders.pods import APod
from tests.rigs.servers.serving import serving

MANY = 120
"""More than the controller has connections."""


@dataclass(slots=True)
class HangingServer:
    """Its namespace ``shop`` has a webhook that never answers the creation of a pod.

    jobs: pods of Jobs, by name. reads_hang: no pod of a Job is shown any more.
    """

    url: str = ""
    hanging: Counter[str] = field(default_factory=Counter)
    most: int = 0
    jobs: dict[str, APod] = field(default_factory=dict)
    reads_hang: bool = False
    deleted: list[str] = field(default_factory=list)
    end: asyncio.Event = field(default_factory=asyncio.Event)

    async def answer(self, request: web.Request) -> web.Response:
        namespace, name = (request.match_info.get(each, "") for each in ("namespace", "name"))
        if request.method == "POST" and namespace == "shop":
            self.hanging[namespace] += 1
            self.most = max(self.most, self.hanging[namespace])
            await self.end.wait()
            return web.json_response({"message": "context deadline exceeded"}, status=500)
        if request.method == "DELETE":
            self.deleted.append(name)
        if request.method == "GET" and name in self.jobs:
            if self.reads_hang:
                await self.end.wait()
            return web.json_response(self.jobs[name].built())
        if request.method == "GET":
            return web.json_response(killed(decided(a_train(name))).built())
        return web.json_response({"metadata": {}})


def restarting(name: str) -> APod:
    """A Job's killed pod, which its node restarts in place."""
    pod = decided(a_train(name), was_bytes=256 * MIB).owned_by_job()
    return killed(pod.restarting("OnFailure"), phase="Running")


@asynccontextmanager
async def a_hanging_server() -> AsyncIterator[HangingServer]:
    server, app = HangingServer(), web.Application()
    for path in ("pods", "pods/{name}", "pods/{name}/{part}"):
        app.router.add_route("*", f"/api/v1/namespaces/{{namespace}}/{path}", server.answer)
    async with serving(app) as server.url:
        try:
            yield server
        finally:
            server.end.set()


@pytest.mark.slow
async def test_a_pod_of_another_namespace_is_resized_while_many_retries_hang(
    tmp_path: Path,
) -> None:
    async with a_hanging_server() as server, an_inside(tmp_path, host=server.url) as inside:
        for number in range(MANY):
            await inside.see(killed(decided(a_train(f"train-{number}"), was_bytes=128 * MIB)))
        async with asyncio.timeout(60):
            while server.hanging["shop"] < OF_A_NAMESPACE:
                await asyncio.sleep(0.01)
        writer = PodWriter(inside.controller.kube.api)
        other = {"metadata": {"namespace": "ml", "name": "other"}}
        # A call behind all others would wait for 35 s.
        async with asyncio.timeout(20):
            await writer.resize_in_place(other, {"spec": {}})
        assert server.most == OF_A_NAMESPACE
        assert len(inside.store.retries.waiting()) == MANY


@pytest.mark.slow
async def test_a_jobs_pod_is_replaced_while_many_retries_of_its_namespace_hang(
    tmp_path: Path,
) -> None:
    async with a_hanging_server() as server, an_inside(tmp_path, host=server.url) as inside:
        for number in range(OF_A_NAMESPACE * 2):
            await inside.see(killed(decided(a_train(f"train-{number}"), was_bytes=128 * MIB)))
        async with asyncio.timeout(60):
            while server.hanging["shop"] < OF_A_NAMESPACE:
                await asyncio.sleep(0.01)
        server.jobs["job-0"] = restarting("job-0")
        async with asyncio.timeout(10):
            await inside.see(server.jobs["job-0"])
            await inside.replaced()
        assert server.deleted == ["job-0"]


@pytest.mark.slow
async def test_the_events_of_pods_do_not_wait_for_their_replacements(tmp_path: Path) -> None:
    async with a_hanging_server() as server, an_inside(tmp_path, host=server.url) as inside:
        server.reads_hang = True
        server.jobs = {f"job-{n}": restarting(f"job-{n}") for n in range(OF_A_NAMESPACE * 2)}
        async with asyncio.timeout(20):
            for pod in server.jobs.values():
                await inside.see(pod)
        assert server.deleted == []
        server.end.set()
        await inside.replaced()
        assert sorted(server.deleted) == sorted(server.jobs)


async def test_a_namespace_has_few_turns_and_another_has_its_own() -> None:
    turns, inside, end = CallsInTurn(), Counter[str](), asyncio.Event()

    async def take(namespace: str) -> None:
        async with turns.of(namespace):
            inside[namespace] += 1
            await end.wait()

    names = ["shop"] * MANY + ["ml"] * 3
    async with asyncio.TaskGroup() as group:
        for name in names:
            group.create_task(take(name))
        began_s = time.monotonic()
        while inside["ml"] < 3 and time.monotonic() - began_s < 20:
            await asyncio.sleep(0)
        assert inside == {"shop": OF_A_NAMESPACE, "ml": 3}
        end.set()
    assert inside == Counter(names)


def test_those_who_failed_together_come_back_apart() -> None:
    pauses = {spread(4.0) for _ in range(100)}
    assert len(pauses) > 90
    assert all(3 <= each <= 5 for each in pauses)
