"""A real Prometheus behind a proxy that fails as servers and networks do."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from plimsoll_operator.credentials.http_session import HttpSession
from plimsoll_operator.prometheus_history import client as prometheus_client
from plimsoll_operator.prometheus_history.client import (
    TRIES,
    PrometheusClient,
    PrometheusError,
    PrometheusServer,
    Sample,
    TooMuch,
)
from tests.monitoring.past_clusters import PastCluster, PastPodSeries
from tests.monitoring.prometheus_servers import Prometheus, a_prometheus
from tests.rigs.servers.admission_servers import Pair
from tests.rigs.servers.serving import serving

NOW_S = float(int(time.time()))
QUESTION = "max_over_time(kube_pod_created[1h])"

Fault = Callable[[web.Request], Awaitable[web.StreamResponse | None]]
"""What the proxy does instead of asking the server; None asks it."""


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    past = PastCluster().add(PastPodSeries(name="a", start_s=NOW_S - 1200)).text()
    with a_prometheus(tmp_path_factory.mktemp("prometheus"), past=past) as server:
        yield server


class Proxy:
    """Counts requests, fails as told, else passes them on."""

    def __init__(self, prometheus: Prometheus, fault: Fault) -> None:
        self.asked = 0
        self.shown: str | None = None
        self._prometheus = prometheus
        self._fault = fault

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.asked += 1
        self.shown = request.headers.get("Authorization")
        failed = await self._fault(request)
        if failed is not None:
            return failed
        url = f"{self._prometheus.url}{request.rel_url}"
        async with (
            aiohttp.ClientSession() as session,
            session.post(url, data=await request.post()) as answer,
        ):
            return web.Response(
                body=await answer.read(), status=answer.status, content_type="application/json"
            )


@asynccontextmanager
async def behind(
    prometheus: Prometheus, fault: Fault, tls: ssl.SSLContext | None = None
) -> AsyncIterator[tuple[Proxy, str]]:
    proxy = Proxy(prometheus, fault)
    application = web.Application()
    application.add_routes([web.post("/{path:.*}", proxy.handle)])
    async with serving(application, tls=tls) as url:
        yield proxy, url


async def ask(address: str, **settings: Any) -> list[Sample]:
    server = PrometheusServer.at(address, **{"pause_s": 0.01, **settings})
    async with PrometheusClient(server) as client:
        return await client.ask(QUESTION, NOW_S)


def failing(times: int, **response: Any) -> Fault:
    left = [times]

    async def fault(_: web.Request) -> web.StreamResponse | None:
        left[0] -= 1
        return web.Response(**response) if left[0] >= 0 else None

    return fault


async def nothing_wrong(_: web.Request) -> None:
    return None


async def test_an_answer_has_labels_and_values(prometheus: Prometheus) -> None:
    (found,) = await ask(prometheus.url)
    assert (found.get("pod"), found.get("never"), found.value) == ("a", "", NOW_S - 1205)


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
async def test_a_server_that_is_busy_is_asked_again(prometheus: Prometheus, status: int) -> None:
    async with behind(prometheus, failing(2, status=status)) as (proxy, address):
        assert len(await ask(address)) == 1
        assert proxy.asked == 3


async def test_a_connection_that_breaks_is_tried_again(prometheus: Prometheus) -> None:
    left = [2]

    async def cut(request: web.Request) -> web.StreamResponse | None:
        left[0] -= 1
        if left[0] >= 0:
            assert request.transport is not None
            request.transport.abort()
            await asyncio.sleep(0)
        return None

    async with behind(prometheus, cut) as (proxy, address):
        assert len(await ask(address)) == 1
        assert proxy.asked >= 3


async def test_it_is_waited_for_as_long_as_the_server_says(prometheus: Prometheus) -> None:
    fault = failing(1, status=429, headers={"Retry-After": "1"})
    async with behind(prometheus, fault) as (_, address):
        began_s = time.monotonic()
        await ask(address)
        assert time.monotonic() - began_s >= 1.0


async def test_a_server_that_stays_broken_is_given_up(prometheus: Prometheus) -> None:
    async with behind(prometheus, failing(99, status=502)) as (proxy, address):
        with pytest.raises(PrometheusError, match="answered 502"):
            await ask(address)
        assert proxy.asked == TRIES


async def test_nobody_listening_is_said_with_the_address() -> None:
    with pytest.raises(PrometheusError, match=r"127\.0\.0\.1:9"):
        await ask("http://127.0.0.1:9")


@pytest.mark.parametrize(
    ("response", "words"),
    [
        ({"status": 401}, "refused with 401: give --token-file"),
        ({"status": 403}, "refused with 403"),
        ({"status": 302, "headers": {"Location": "http://elsewhere/"}}, "points to 'http://else"),
        ({"text": "<html>Sign in</html>"}, "not as a Prometheus does"),
        ({"status": 404, "text": "no such page"}, "all that comes before /api/v1/query"),
        ({"text": '{"status":"success","data":{}}'}, "holds no vector"),
        (
            {"text": '{"status":"success","data":{"resultType":"vector","result":[{"value":1}]}}'},
            "not as Prometheus writes them",
        ),
        ({"status": 400, "text": '{"status":"error","error":"bad_data: what?"}'}, "bad_data: what"),
    ],
)
async def test_other_answers_are_said_at_once(
    prometheus: Prometheus, response: dict[str, Any], words: str
) -> None:
    async with behind(prometheus, failing(99, **response)) as (proxy, address):
        with pytest.raises(PrometheusError, match=words):
            await ask(address)
        assert proxy.asked == 1


async def test_a_question_that_takes_too_long_is_too_much(prometheus: Prometheus) -> None:
    async def slow(_: web.Request) -> None:
        await asyncio.sleep(5)

    async with behind(prometheus, slow) as (_, address):
        with pytest.raises(TooMuch, match="did not answer within"):
            await ask(address, timeout_s=0.3)


async def test_an_address_that_swallows_all_packets_is_said_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls = []

    async def swallowed(*_: object, **__: object) -> None:
        calls.append(1)
        raise aiohttp.ConnectionTimeoutError("no connection")

    monkeypatch.setattr(HttpSession, "call", swallowed)
    with pytest.raises(PrometheusError, match="cannot be reached within 10 s") as raised:
        await ask("http://127.0.0.1:9")
    assert not isinstance(raised.value, TooMuch)
    assert len(calls) == 1


async def test_an_answer_without_end_is_cut(
    prometheus: Prometheus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prometheus_client, "MAX_ANSWER_BYTES", 1 << 20)
    sent_bytes = [0]

    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for _ in range(1024):
            await response.write(b" " * (1 << 16))
            sent_bytes[0] += 1 << 16
        return response

    async with behind(prometheus, endless) as (_, address):
        with pytest.raises(TooMuch, match="more than 1 MiB"):
            await ask(address)
    assert sent_bytes[0] < 64 << 20


async def test_a_token_is_read_for_each_question_and_comes_before_the_login(
    prometheus: Prometheus, tmp_path: Path
) -> None:
    async with behind(prometheus, nothing_wrong) as (proxy, address):
        with_login = address.replace("http://", "http://me:secret@")
        await ask(with_login)
        assert proxy.shown == "Basic bWU6c2VjcmV0"
        token_file = tmp_path / "token"
        for token in ("first", "second"):
            token_file.write_text(f"{token}\n")
            await ask(with_login, token_file=token_file)
            assert proxy.shown == f"Bearer {token}"


@pytest.mark.parametrize("content", ["", "two\nlines", "ümlaut"])
async def test_a_file_without_a_token_is_told(
    prometheus: Prometheus, tmp_path: Path, content: str
) -> None:
    file = tmp_path / "token"
    file.write_text(content)
    with pytest.raises(PrometheusError, match="holds no token"):
        await ask(prometheus.url, token_file=file)
    with pytest.raises(PrometheusError, match=r"the token cannot be used.*No such file"):
        await ask(prometheus.url, token_file=tmp_path / "absent")


async def test_only_the_given_authority_is_trusted(prometheus: Prometheus, tmp_path: Path) -> None:
    pair, other = Pair.make(tmp_path / "its"), Pair.make(tmp_path / "other")
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(pair.certificate_file, pair.key_file)
    async with behind(prometheus, nothing_wrong, tls) as (proxy, address):
        assert len(await ask(address, ca_file=pair.certificate_file)) == 1
        for ca_file in (None, other.certificate_file):
            with pytest.raises(PrometheusError, match="certificate verify failed"):
                await ask(address, ca_file=ca_file)
        assert proxy.asked == 1
    with pytest.raises(PrometheusError, match="holds no certificates"):
        await ask(address, ca_file=pair.key_file)


def test_the_address_may_name_the_api_and_never_shows_the_password() -> None:
    for path in ("", "/", "/api/v1", "/api/v1/"):
        server = PrometheusServer.at(f"https://me:secret@host:9090/prom{path}")
        assert str(server.base) == "https://host:9090/prom/"
        assert "secret" not in repr(server)
