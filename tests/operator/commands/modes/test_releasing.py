"""`plimsoll release`, and the hook that runs it, let go all whom they can."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
import pytest_asyncio
from kubernetes_asyncio import client

from plimsoll_operator.commands.modes import release
from plimsoll_operator.kube.api_server import ApiServer
from plimsoll_operator.kube.errors import ApiError
from plimsoll_operator.names import labels
from tests.builders.controller.turns import CPU, OTHERS, waits
from tests.builders.kubernetes.gate_servers import GateServer, a_gate_server, a_job


@pytest_asyncio.fixture
async def server() -> AsyncIterator[tuple[GateServer, ApiServer]]:
    async with AsyncExitStack() as stack:
        made = await stack.enter_async_context(a_gate_server())
        api = await stack.enter_async_context(client.ApiClient(client.Configuration(host=made.url)))
        yield made, ApiServer(api)


async def test_all_are_let_go_and_other_gates_stay(server: tuple[GateServer, ApiServer]) -> None:
    gates, api = server
    gates.has(waits("ours"))
    gates.has(waits("both", CPU, OTHERS))
    assert await release.release_pods(api) == 2
    assert gates.held == set()
    assert gates.pods["both"]["spec"]["schedulingGates"] == [OTHERS]
    assert await release.release_pods(api) == 0


async def test_jobs_that_wait_are_resumed_and_others_stay_suspended(
    server: tuple[GateServer, ApiServer],
) -> None:
    gates, api = server
    gates.has(waits("ours"))
    gates.has_job(a_job("waits", labels={labels.WAITS: "true"}, suspend=True))
    gates.has_job(a_job("authors", suspend=True))
    assert await release.release_pods(api) == 2
    assert gates.suspended == {"authors"}
    assert gates.held == set()


async def test_one_that_cannot_be_let_go_keeps_no_others_and_is_named(
    server: tuple[GateServer, ApiServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(release, "PASS_PAUSE_S", 0.0)
    gates, api = server
    gates.failing.add("lab")
    gates.has(waits("first").in_namespace("lab"))
    gates.has(waits("ours"))
    with pytest.raises(ApiError, match=r"lab/first: .*failed calling webhook"):
        await release.release_pods(api)
    assert gates.held == {"first"}
