"""`plimsoll status` beside `plimsoll run`, whose webhook outlives it; and a pause that is none."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from io import StringIO
from typing import Any

import pytest
from aiohttp import web
from rich.console import Console

from plimsoll_operator.commands.reaching import outside
from plimsoll_operator.commands.reaching.installation import Installation
from plimsoll_operator.commands.reaching.outside import accepts
from plimsoll_operator.commands.status.checks import Level
from plimsoll_operator.commands.status.cluster_reader import ClusterReader
from plimsoll_operator.commands.status.cluster_state import ClusterState, Outside
from plimsoll_operator.commands.status.summary import Summary, summary_of
from plimsoll_operator.commands.status.tables import status_tables
from plimsoll_operator.kube.own_objects import WEBHOOKS
from plimsoll_operator.processes.run_webhook import webhook_configuration
from tests.builders.kubernetes.cluster_status import (
    NOW_S,
    a_bundle,
    a_condition,
    a_webhook,
    what_is_seen,
)
from tests.rigs.servers.api_servers import an_api_server
from tests.rigs.servers.ports import free_port

ADDRESS = "https://127.0.0.1:9443"


def told_of(answers: bool | None, **changes: Any) -> Summary:
    url = {"caBundle": a_bundle(), "url": f"{ADDRESS}/unlabelled"}
    seen = what_is_seen(
        deployments=[],
        webhooks=[a_webhook(clientConfig=url)],
        outside=Outside(ADDRESS, answers),
        **changes,
    )
    return summary_of(seen, NOW_S)


def text_of(told: Summary) -> str:
    console = Console(width=300, record=True, file=StringIO())
    console.print(status_tables(told, 40))
    return console.export_text()


@pytest.mark.parametrize(
    ("answers", "healthy", "words"),
    [
        pytest.param(True, True, f"as by `plimsoll run`, at {ADDRESS}", id="it runs"),
        pytest.param(False, False, f"nobody answers at {ADDRESS}", id="it is gone"),
        pytest.param(None, None, "cannot be reached from here", id="nobody can know"),
    ],
)
def test_plimsoll_run_is_healthy_while_something_answers_at_its_address(
    answers: bool | None, healthy: bool | None, words: str
) -> None:
    told = told_of(answers)
    assert told.healthy is healthy
    text = text_of(told)
    assert words in text
    assert "/unlabelled" not in text, "the path is one webhook's, not the process's"
    assert "Plimsoll in plimsoll" not in text


def test_a_broken_webhook_of_an_address_that_cannot_be_reached_is_not_healthy() -> None:
    broken = a_webhook(clientConfig={"caBundle": "AAAA", "url": f"{ADDRESS}/size"})
    seen = what_is_seen(deployments=[], webhooks=[broken], outside=Outside(ADDRESS, accepts=None))
    assert summary_of(seen, NOW_S).healthy is False


async def read_beside(port: int, installed_in: str | None = None) -> ClusterState:
    """A cluster with nothing but the webhook of a `plimsoll run` at this port."""
    configuration = webhook_configuration(f"https://127.0.0.1:{port}", b"authority")

    async def answer(request: web.Request) -> web.Response:
        if request.path == f"{WEBHOOKS}/plimsoll":
            return web.json_response(configuration)
        if request.path == "/version":
            return web.json_response({})
        return web.json_response({"items": []})

    async with an_api_server(answer) as objects:
        reader = ClusterReader(objects, Installation(installed_in=installed_in), None)
        return await reader.read()


@pytest.fixture
async def listening() -> AsyncIterator[int]:
    """The port of something that takes connections."""
    runner = web.AppRunner(web.Application())
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield runner.addresses[0][1]
    await runner.cleanup()


async def test_beside_a_cluster_its_namespace_is_known_and_its_address_is_tried(
    listening: int,
) -> None:
    seen = await read_beside(listening)
    assert seen.outside == Outside(f"https://127.0.0.1:{listening}", accepts=True)
    assert (seen.installed_in, seen.unseen) == ("plimsoll", ())


async def test_an_address_that_refuses_connections_is_seen_as_such() -> None:
    port = free_port()
    seen = await read_beside(port)
    assert seen.outside == Outside(f"https://127.0.0.1:{port}", accepts=False)


@pytest.mark.parametrize("error", [OSError("no way there"), None])
async def test_an_address_that_cannot_be_reached_says_nothing(
    monkeypatch: pytest.MonkeyPatch, error: OSError | None
) -> None:
    async def connect(*_: object) -> object:
        if error is not None:
            raise error
        return await asyncio.Event().wait()

    monkeypatch.setattr(asyncio, "open_connection", connect)
    monkeypatch.setattr(outside, "CONNECTED_WITHIN_S", 0.1)
    assert await accepts(ADDRESS) is None


async def test_an_address_without_a_number_of_a_port_says_nothing() -> None:
    assert await accepts("https://127.0.0.1:port") is None


def a_pause(namespace: str, *conditions: Any) -> Any:
    return {
        "metadata": {"name": "cluster", "namespace": namespace},
        "spec": {"paused": True},
        "status": {"conditions": list(conditions)},
    }


def test_a_pause_that_the_controller_ignores_is_not_said_to_hold() -> None:
    ignored = a_condition("InForce", "False", "NotNamedDefault", "ignored: only in plimsoll")
    told = told_of(True, installed_in="live", policies=[a_pause("live", ignored)])
    [check] = [each for each in told.checks if each.name == "sizing"]
    assert check.level is Level.WARNING
    assert check.words == "not paused: the pause in live/cluster is ignored: only in plimsoll"


def test_a_pause_in_force_is_said_to_hold() -> None:
    in_force = a_condition("InForce", "True", "Paused")
    told = told_of(True, policies=[a_pause("plimsoll", in_force)])
    [check] = [each for each in told.checks if each.name == "sizing"]
    assert "paused on the whole cluster" in check.words
