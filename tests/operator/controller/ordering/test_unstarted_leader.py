"""Nobody waits for long for a controller that leads and does not get started."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass

import pytest
import pytest_asyncio
from kubernetes_asyncio import client

from plimsoll_operator.controller.ordering import unstarted_leader
from plimsoll_operator.controller.ordering.unstarted_leader import (
    LIST_EVERY_S,
    LOOK_EVERY_S,
    START_WITHIN_S,
    UnstartedLeader,
)
from plimsoll_operator.controller.settings import ControllerSettings
from plimsoll_operator.kube.client import Kube
from plimsoll_operator.kube.errors import ApiError
from plimsoll_operator.leadership.lease import RENEWALS
from plimsoll_operator.leadership.store_probe import FRESH_S, LEAVES_AFTER_S
from plimsoll_operator.names import labels
from tests.builders.controller.turns import CPU, OTHERS, waits
from tests.builders.kubernetes.gate_servers import GateServer, a_gate_server, a_job

STUCK_S = 600.0


@dataclass
class Starting:
    """A start that takes as long as a test says. clock, silent: the time, and of the store."""

    server: GateServer
    start: UnstartedLeader
    clock: list[float]
    silent: list[bool]

    async def look(self, after_s: float = 0.0) -> bool:
        self.clock[0] += after_s
        return await self.start.look()


@pytest_asyncio.fixture
async def starting() -> AsyncIterator[Starting]:
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(a_gate_server())
        settings = client.Configuration(host=server.url)
        api = await stack.enter_async_context(client.ApiClient(settings))
        clock, silent = [0.0], [False]
        start = UnstartedLeader(Kube(api).api, lambda: silent[0], lambda: clock[0])
        yield Starting(server, start, clock, silent)


async def test_nobody_is_released_while_a_start_takes_its_usual_time(starting: Starting) -> None:
    starting.server.has(waits("cpu-0"))
    assert not await starting.look(START_WITHIN_S - 1.0)
    assert starting.server.held == {"cpu-0"}
    assert starting.server.listed == []


async def test_all_are_released_once_a_start_takes_too_long(starting: Starting) -> None:
    starting.server.has(waits("ours"))
    starting.server.has(waits("both", CPU, OTHERS))
    starting.server.has_job(a_job("waits", labels={labels.WAITS: "true"}, suspend=True))
    starting.server.has_job(a_job("authors", suspend=True))
    assert await starting.look(START_WITHIN_S)
    assert starting.server.held == set()
    assert starting.server.pods["both"]["spec"]["schedulingGates"] == [OTHERS]
    assert starting.server.suspended == {"authors"}


async def test_those_that_come_later_are_released_as_well(starting: Starting) -> None:
    assert await starting.look(START_WITHIN_S)
    starting.server.has(waits("late"))
    assert await starting.look(LIST_EVERY_S)
    assert starting.server.held == set()


async def test_a_store_that_is_silent_is_not_waited_for(starting: Starting) -> None:
    starting.server.has(waits("cpu-0"))
    starting.silent[0] = True
    assert await starting.look(1.0)
    assert starting.server.held == set()


async def test_a_namespace_that_lets_none_go_keeps_no_others(starting: Starting) -> None:
    starting.server.failing.add("lab")
    for number in range(30):
        starting.server.has(waits(f"lab-{number}").in_namespace("lab"))
    starting.server.has(waits("ours"))
    assert await starting.look(START_WITHIN_S)
    assert "ours" not in starting.server.held
    assert len(starting.server.held) == 30


async def test_many_namespaces_that_let_none_go_are_not_waited_for_one_by_one(
    starting: Starting, monkeypatch: pytest.MonkeyPatch
) -> None:
    # None is answered before all have asked, so one that waits for another is stuck for so long.
    monkeypatch.setattr(unstarted_leader, "PAGE_WITHIN_S", STUCK_S)
    starting.start._patches = starting.start.api.within(STUCK_S)
    starting.server.together = asyncio.Barrier(30)
    for number in range(30):
        starting.server.failing.add(f"lab-{number}")
        starting.server.has(waits(f"lab-{number}").in_namespace(f"lab-{number}"))
    starting.server.has(waits("ours"))
    starting.server.has_job(a_job("waits", labels={labels.WAITS: "true"}, suspend=True))
    async with asyncio.timeout(STUCK_S / 10):
        assert await starting.look(START_WITHIN_S)
    assert "ours" not in starting.server.held
    assert starting.server.suspended == set()


@pytest.mark.slow
async def test_a_namespace_whose_webhook_is_slow_keeps_no_others_and_is_released_itself(
    starting: Starting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unstarted_leader, "PAGE_WITHIN_S", 0.5)
    starting.start.api = starting.start.api.within(1.0)
    starting.server.delayed_s["lab"] = 4.0
    starting.server.has(waits("lab-0").in_namespace("lab"))
    starting.server.has(waits("ours"))
    assert await starting.look(START_WITHIN_S)
    assert "lab-0" in starting.server.held
    async with asyncio.timeout(60.0):
        while starting.server.held:
            await asyncio.sleep(0.05)
    assert starting.server.patched == ["ours", "lab-0"]


async def test_jobs_are_not_listed_without_the_right_to_it(starting: Starting) -> None:
    starting.server.forbidden.add("jobs")
    starting.server.has(waits("ours"))
    assert await starting.look(START_WITHIN_S)
    assert starting.server.held == set()
    assert starting.server.refused == []


async def test_an_api_server_that_fails_is_asked_again(starting: Starting) -> None:
    starting.server.has(waits("ours"))
    starting.server.broken = 500
    with pytest.raises(ApiError):
        await starting.look(START_WITHIN_S)
    starting.server.broken = None
    assert await starting.look(LOOK_EVERY_S)
    assert starting.server.held == set()


def test_what_is_promised_is_kept_when_a_leader_fails_and_the_next_one_does_not_start() -> None:
    lease_s = ControllerSettings().lease_s
    taken_over_s = lease_s + lease_s / RENEWALS
    assert taken_over_s + START_WITHIN_S + LOOK_EVERY_S < 60.0


def test_a_leader_releases_before_it_steps_down_for_its_silent_store() -> None:
    assert FRESH_S + LOOK_EVERY_S < LEAVES_AFTER_S
