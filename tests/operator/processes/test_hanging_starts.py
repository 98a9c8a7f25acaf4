"""A leader that waits for its store keeps no pods waiting for their turn."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from kubernetes_asyncio import client

from plimsoll_operator.controller.ordering import unstarted_leader
from plimsoll_operator.controller.serving.web import Face, Readiness
from plimsoll_operator.controller.settings import ControllerSettings
from plimsoll_operator.kube.client import Kube
from plimsoll_operator.leadership.election import AlwaysFit
from plimsoll_operator.metrics.process import ProcessMetrics
from plimsoll_operator.processes.leading import lead
from tests.builders.controller.turns import waits
from tests.builders.kubernetes.gate_servers import a_gate_server


async def ended(start: asyncio.Task[object]) -> None:
    start.cancel()
    await asyncio.gather(start, return_exceptions=True)


async def test_pods_are_released_by_a_leader_whose_store_cannot_be_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unstarted_leader, "START_WITHIN_S", 0.0)
    store_url = f"sqlite:///{tmp_path}/missing/store.db"
    settings = ControllerSettings(store_url=store_url, lease="plimsoll-controller")
    metrics = ProcessMetrics()
    face = Face(metrics.registry, lambda: Readiness(ready=False, words="starting"))
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(a_gate_server())
        configuration = client.Configuration(host=server.url)
        api = await stack.enter_async_context(client.ApiClient(configuration))
        server.has(waits("cpu-0"))
        leading = lead(settings, face, Kube(api), metrics, AlwaysFit())
        start = asyncio.create_task(leading.__aenter__())
        stack.push_async_callback(ended, start)
        async with asyncio.timeout(30.0):
            while server.held:
                assert not start.done()
                await asyncio.sleep(0.01)
        assert not start.done(), "its store has no folder, so it waits"
