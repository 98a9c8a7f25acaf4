"""Commands over exec's channels, where the other side is slow, loud, or gone: a real WebSocket."""

from __future__ import annotations

import io
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from kubernetes_asyncio import client

from plimsoll_operator.kube.errors import Refused, Unreachable
from plimsoll_operator.kube.pod_exec import Broken, PodContainer, Streams, TooMuch, run_in_pod
from tests.rigs.servers.serving import Answering, serving

POD = PodContainer("plimsoll", "leader", "controller")
OUT, ERR, STATUS = b"\x01", b"\x02", b"\x03"
SUCCESS = STATUS + json.dumps({"status": "Success"}).encode()
Speaking = Callable[[web.WebSocketResponse, web.Request], Awaitable[None]]


@asynccontextmanager
async def an_api_server(speak: Speaking) -> AsyncIterator[client.Configuration]:
    """Something that answers exec as ``speak`` says."""

    async def exec_(request: web.Request) -> web.StreamResponse:
        channel = web.WebSocketResponse(protocols=["v4.channel.k8s.io"])
        await channel.prepare(request)
        await speak(channel, request)
        return channel

    async with serving_exec(exec_) as settings:
        yield settings


@asynccontextmanager
async def serving_exec(answer: Answering) -> AsyncIterator[client.Configuration]:
    app = web.Application()
    app.router.add_get("/api/v1/namespaces/plimsoll/pods/leader/exec", answer)
    async with serving(app) as url:
        settings = client.Configuration()
        settings.host = url
        yield settings


async def ran(
    settings: client.Configuration, *, most_bytes: int = 1000, stdin: bytes | None = None
) -> tuple[int, bytes, bytes]:
    out, err = bytearray(), bytearray()
    streams = Streams(
        stdout=out.extend,
        stderr=err.extend,
        most_bytes=most_bytes,
        stdin=None if stdin is None else io.BytesIO(stdin),
    )
    status = await run_in_pod(settings, POD, ["plimsoll", "explain"], streams)
    return status, bytes(out), bytes(err)


async def test_both_outputs_and_the_exit_status_come_back() -> None:
    async def speak(channel: web.WebSocketResponse, request: web.Request) -> None:
        assert request.query.getall("command") == ["plimsoll", "explain"]
        assert request.query["container"] == "controller"
        for message in (OUT, OUT + b"one ", ERR + b"oh", OUT + b"two", SUCCESS):
            await channel.send_bytes(message)

    async with an_api_server(speak) as settings:
        assert await ran(settings) == (0, b"one two", b"oh")


async def test_standard_input_arrives_in_order_whatever_its_size() -> None:
    sent = bytes(range(256)) * 1000
    got = bytearray()

    async def speak(channel: web.WebSocketResponse, _: web.Request) -> None:
        while len(got) < len(sent):
            message = await channel.receive_bytes()
            assert message[:1] == b"\x00"
            got.extend(message[1:])
        await channel.send_bytes(SUCCESS)

    async with an_api_server(speak) as settings:
        assert (await ran(settings, stdin=sent))[0] == 0
    assert bytes(got) == sent


async def test_a_command_that_ends_before_it_has_read_all_is_not_waited_for() -> None:
    async def speak(channel: web.WebSocketResponse, _: web.Request) -> None:
        await channel.send_bytes(SUCCESS)

    async with an_api_server(speak) as settings:
        assert (await ran(settings, stdin=b"x" * 10_000_000))[0] == 0


async def test_a_connection_that_breaks_is_no_success() -> None:
    async def speak(channel: web.WebSocketResponse, _: web.Request) -> None:
        await channel.send_bytes(OUT + b"half of it")

    async with an_api_server(speak) as settings:
        with pytest.raises(Broken, match="ended before the command did; run it again"):
            await ran(settings)


@pytest.mark.slow
async def test_more_than_is_taken_ends_it() -> None:
    async def speak(channel: web.WebSocketResponse, _: web.Request) -> None:
        for _place in range(20):
            await channel.send_bytes(OUT + b"x" * 100)
        await channel.send_bytes(SUCCESS)

    async with an_api_server(speak) as settings:
        assert (await ran(settings, most_bytes=2000))[0] == 0
        with pytest.raises(TooMuch, match="sends more than"):
            await ran(settings, most_bytes=1999)


@pytest.mark.parametrize(
    ("status", "error", "words"),
    [
        (403, Refused, r"get and create on pods/exec are needed"),
        (404, Unreachable, "leader is gone; try again"),
        (500, Unreachable, "cannot be reached by exec: 500"),
    ],
)
async def test_a_refused_exec_says_what_to_do(
    status: int, error: type[Exception], words: str
) -> None:
    async def refuse(_: web.Request) -> web.Response:
        return web.Response(status=status)

    async with serving_exec(refuse) as settings:
        with pytest.raises(error, match=words):
            await ran(settings)


async def test_an_api_server_that_is_away_is_said_so() -> None:
    settings = client.Configuration()
    settings.host = "http://127.0.0.1:1"
    with pytest.raises(Unreachable, match="cannot be reached by exec"):
        await ran(settings)
