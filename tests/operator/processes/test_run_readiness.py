"""``plimsoll run`` waits for its children as long as a busy machine needs, and says for what."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from aiohttp import web
from structlog.testing import capture_logs

from plimsoll_operator.processes import run
from plimsoll_operator.processes.run import RunSettings
from plimsoll_operator.processes.run_claims import NotReady
from tests.rigs.servers.ports import free_ports
from tests.rigs.servers.serving import serving

WITHIN_S = 60.0


@pytest.fixture
def settings(tmp_path: Path) -> RunSettings:
    controller, metrics = free_ports(2)
    return RunSettings(state_dir=tmp_path, controller_port=controller, metrics_port=metrics)


async def _ready(_: web.Request) -> web.Response:
    return web.Response(text="ok")


def a_child(port: int) -> AbstractAsyncContextManager[str]:
    """A child that is ready."""
    app = web.Application()
    app.router.add_get("/readyz", _ready)
    return serving(app, port)


async def test_who_waits_is_told_for_what_until_it_is_there(
    settings: RunSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "SAID_EVERY_S", 0.05)
    async with a_child(settings.metrics_port):
        with capture_logs() as said:
            waiting = asyncio.create_task(run.until_ready(settings, asyncio.Event()))
            async with asyncio.timeout(WITHIN_S):
                while len(said) < 2:
                    await asyncio.sleep(0.01)
            assert not waiting.done()
            async with a_child(settings.controller_port), asyncio.timeout(WITHIN_S):
                await waiting
    for line in said[1:]:
        assert (line["event"], line["logs"]) == ("still starting", f"{tmp_path}/controller.log")


async def test_a_child_that_is_never_ready_ends_the_run_by_naming_its_log(
    settings: RunSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "READY_WITHIN_S", 0.2)
    async with a_child(settings.metrics_port):
        with pytest.raises(NotReady, match=f"not ready after 0 s: see {tmp_path}/controller.log"):
            await run.until_ready(settings, asyncio.Event())


async def test_a_run_that_people_end_waits_no_longer(settings: RunSettings) -> None:
    ending = asyncio.Event()
    waiting = asyncio.create_task(run.until_ready(settings, ending))
    await asyncio.sleep(0)
    ending.set()
    async with asyncio.timeout(WITHIN_S):
        await waiting
