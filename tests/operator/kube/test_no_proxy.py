"""A proxy of the environment, and an API server that NO_PROXY keeps from it by a range."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from plimsoll_operator.kube.client import Kube
from plimsoll_operator.kube.errors import Unreachable
from plimsoll_operator.kube.no_proxy import with_the_server


@pytest.mark.parametrize(
    ("no_proxy", "server", "written"),
    [
        pytest.param(
            "10.96.0.0/12, .svc", "https://10.96.0.1", "10.96.0.0/12, .svc,10.96.0.1", id="a range"
        ),
        pytest.param("10.1.2.3/8", "https://10.9.9.9:6443", "10.1.2.3/8,10.9.9.9", id="host bits"),
        pytest.param("fd00::/8", "https://[FD00:0::1]:443", "fd00::/8,fd00::1", id="IPv6"),
        pytest.param("10.0.0.0/8", "https://192.0.2.7", "10.0.0.0/8", id="another address"),
        pytest.param("10.0.0.0/8", "https://[fd00::1]", "10.0.0.0/8", id="another family"),
        pytest.param("10.0.0.0/8", "https://api.example", "10.0.0.0/8", id="a name"),
        pytest.param(
            "10.0.0.0/8,10.0.0.1", "https://10.0.0.1", "10.0.0.0/8,10.0.0.1", id="it is there"
        ),
        pytest.param("10.0.0.0/99,a/b,,*", "https://10.0.0.1", "10.0.0.0/99,a/b,,*", id="no range"),
        pytest.param("", "https://10.0.0.1", "", id="nothing"),
        pytest.param("10.0.0.0/8", "", "10.0.0.0/8", id="no URL"),
    ],
)
def test_the_server_is_added_if_a_range_has_it(no_proxy: str, server: str, written: str) -> None:
    assert with_the_server(no_proxy, server) == written


@pytest.mark.parametrize(("ranges", "by_proxy"), [("127.0.0.0/8", False), ("10.0.0.0/8", True)])
@pytest.mark.parametrize("variable", ["NO_PROXY", "no_proxy"])
async def test_the_proxy_gets_no_call_of_a_server_in_a_range(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, ranges: str, by_proxy: bool
) -> None:
    got: list[bytes] = []

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        got.append(await reader.readline())
        writer.write(b"HTTP/1.1 502 Bad Gateway\r\n\r\n")
        await writer.drain()
        writer.close()

    async def answer(_request: web.Request) -> web.Response:
        return web.json_response({"metadata": {"name": "train"}})

    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    proxy = await asyncio.start_server(refuse, "127.0.0.1", 0)
    for name in ("NO_PROXY", "no_proxy", "HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    monkeypatch.setenv(variable, f"{ranges},.svc")
    port = proxy.sockets[0].getsockname()[1]
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{port}")
    async with proxy, TestServer(app) as server:
        kube = await Kube.connect(_kubeconfig(tmp_path, str(server.make_url("/"))), None)
        try:
            if by_proxy:
                with pytest.raises(Unreachable):
                    await kube.api.get("/version")
            else:
                assert await kube.api.get("/version") == {"metadata": {"name": "train"}}
        finally:
            await kube.close()
    assert bool(got) == by_proxy


def _kubeconfig(folder: Path, server: str) -> str:
    written = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": server.rstrip("/")}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
    }
    path = folder / "kubeconfig"
    path.write_text(json.dumps(written))
    return str(path)
