"""A token that ends is renewed by the kubeconfig's plugin. A real HTTP server and a real plugin."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from plimsoll_operator.kube.client import Kube
from plimsoll_operator.kube.errors import Refused

PLUGIN = """
import json, pathlib, sys
runs = pathlib.Path(sys.argv[1])
number = int(runs.read_text() or 0) + 1
if number > int(sys.argv[2]):
    sys.exit("log in again")
runs.write_text(str(number))
print(json.dumps({
    "apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
    "status": {"token": f"token-{number}"},
}))
"""
"""Gives another token each time, and at last none."""


class Cluster:
    """An API server that accepts some tokens, and the plugin that gives them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.accepted = {"token-1"}
        self.shown: list[str] = []
        (folder / "runs").write_text("")

    @property
    def plugin_runs(self) -> int:
        return int((self.folder / "runs").read_text())

    async def answer(self, request: web.Request) -> web.Response:
        token = request.headers["Authorization"].removeprefix("Bearer ")
        self.shown.append(token)
        if token in self.accepted:
            return web.json_response({"metadata": {"name": "train"}})
        return web.json_response({"message": "Unauthorized"}, status=401)

    async def connect(self, url: str, most_tokens: int) -> Kube:
        plugin, kubeconfig = self.folder / "plugin.py", self.folder / "kubeconfig"
        plugin.write_text(PLUGIN)
        run = {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": sys.executable,
            "args": [str(plugin), str(self.folder / "runs"), str(most_tokens)],
        }
        written = {
            "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {"server": url}}],
            "users": [{"name": "u", "user": {"exec": run}}],
        }
        kubeconfig.write_text(json.dumps(written))
        return await Kube.connect(str(kubeconfig), None)


@pytest.fixture
async def cluster(tmp_path: Path) -> Cluster:
    return Cluster(tmp_path)


@pytest.fixture
async def url(cluster: Cluster) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", cluster.answer)
    async with TestServer(app) as server:
        yield str(server.make_url(""))


async def test_a_token_that_has_ended_is_renewed_once_for_all_calls(
    cluster: Cluster, url: str
) -> None:
    kube = await cluster.connect(url, most_tokens=9)
    assert (await kube.read_pod("shop", "train"))["metadata"]["name"] == "train"
    cluster.accepted = {"token-2"}
    await asyncio.gather(*(kube.read_pod("shop", "train") for _ in range(5)))
    await kube.read_pod("shop", "train")
    assert cluster.plugin_runs == 2
    assert cluster.shown[-1] == "token-2"
    await kube.close()


@pytest.mark.parametrize(
    ("most_tokens", "shown"),
    [
        pytest.param(9, ["token-1", "token-2"], id="it is refused as well"),
        pytest.param(1, ["token-1"], id="the plugin gives none"),
    ],
)
async def test_a_call_is_tried_once_more_at_most(
    cluster: Cluster, url: str, most_tokens: int, shown: list[str]
) -> None:
    kube = await cluster.connect(url, most_tokens)
    cluster.accepted.clear()
    with pytest.raises(Refused, match="does not know you: Unauthorized"):
        await kube.read_pod("shop", "train")
    assert cluster.shown == shown
    await kube.close()
