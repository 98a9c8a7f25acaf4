"""Many pods that have room are released together, each once; what fails is taken back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from plimsoll_operator.controller.ordering import releases
from plimsoll_operator.controller.ordering.unstarted_leader import OF_NAMESPACE
from plimsoll_operator.kube.api_server import ApiServer
from plimsoll_operator.ordering.queue import MOST_TURNS
from tests.builders.controller.turns import WAIT, Queueing, a_node, a_queue, runs, waits


@pytest_asyncio.fixture
async def queueing(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Queueing]:
    monkeypatch.setattr(releases, "UNREACHABLE_PAUSE_S", 0.0)
    async with a_queue() as made:
        yield made


async def test_releases_of_a_burst_wait_for_each_other_in_fives_only(
    queueing: Queueing, monkeypatch: pytest.MonkeyPatch
) -> None:
    under_way, most_under_way = 0, 0
    patch = ApiServer.patch

    async def counted(api: ApiServer, path: str, body: Any) -> dict[str, Any]:
        nonlocal under_way, most_under_way
        under_way += 1
        most_under_way = max(most_under_way, under_way)
        await asyncio.sleep(0.01)
        answer = await patch(api, path, body)
        under_way -= 1
        return answer

    monkeypatch.setattr(ApiServer, "patch", counted)
    for number in range(10):
        queueing.releases.see_node(a_node(f"empty-{number}"), gone=False)
    for number in range(MOST_TURNS):
        queueing.see(waits(f"cpu-{number}"), created=number)
    await queueing.look()
    assert queueing.server.held == set()
    assert len(queueing.server.patched) == MOST_TURNS
    assert most_under_way == OF_NAMESPACE


async def test_no_more_are_released_than_there_is_room_for(queueing: Queueing) -> None:
    for number in range(9):
        queueing.see(waits(f"cpu-{number}"), created=number)
    await queueing.look()
    assert queueing.server.held == {f"cpu-{number}" for number in range(2, 9)}


async def test_those_that_fail_take_no_room_and_overtook_nobody(queueing: Queueing) -> None:
    for number in range(3):
        queueing.releases.see_node(a_node(f"empty-{number}"), gone=False)
        queueing.see(runs(f"cpu-at-{number}", f"empty-{number}"))
    queueing.server.failing.add("lab")
    queueing.policies.set_namespace_spec("lab", {"order": "enforce"})
    queueing.see(waits("large", cpu="2"), created=0)
    queueing.see(waits("cpu-0"), created=1)
    for number in range(20):
        queueing.see(waits(f"lab-{number}", WAIT).in_namespace("lab"), created=2)
    for number in range(1, 9):
        queueing.see(waits(f"cpu-{number}"), created=3)
    await queueing.look()
    held = {name for name in queueing.server.held if name.startswith("cpu")}
    assert len(held) == 4, "pods of another namespace have all five places"
    large, *_ = queueing.releases.held.queue(lambda _task: True)
    assert large.overtaken == 5
