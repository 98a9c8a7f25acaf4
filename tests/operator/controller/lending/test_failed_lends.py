"""Lends that fail, or of which nobody knows whether they did."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from kubernetes_asyncio import client as kubernetes

from plimsoll_operator.controller.lending import lending
from plimsoll_operator.controller.lending.lending import REFUSED_PAUSE_S
from plimsoll_operator.kube import client
from plimsoll_operator.kube.client import Kube
from plimsoll_operator.kube.errors import Changed, Refused, Unreachable
from plimsoll_operator.names.labels import LENT
from plimsoll_operator.pods.spec import Pod
from tests.builders.controller.lenders import ASKED, Scene, Server, a_scene, running
from tests.builders.pods import RUNNING


async def looks_for(scene: Scene, seconds: int, name: str = "train-1") -> None:
    """Look each second; the watch shows what the looks did."""
    for _ in range(seconds):
        await scene.later(1)
        if name in scene.server.pods:
            scene.lending.see(scene.server.pods[name], gone=False)


@pytest.mark.parametrize("failing", [Unreachable, Changed, Refused])
async def test_a_pod_whose_lend_failed_is_left_for_a_while(
    tmp_path: Path, failing: type[Exception]
) -> None:
    """Such as where an API server answers 429 to each resize: it must not be asked without end."""
    async with a_scene(tmp_path) as scene:
        scene.server.refuses = failing
        granted = {**RUNNING, "resources": {"requests": {"memory": ASKED}}}
        pod = running().with_status(phase="Running", containerStatuses=[granted])
        scene.lending.see(pod.built(), gone=False)
        scene.uses(200)
        await looks_for(scene, 61 + int(REFUSED_PAUSE_S) - 1)
        assert (scene.server.marks, scene.server.calls) == (1, 1)
        assert not scene.is_marked()
        assert scene.result("returned") == 0, "nothing was lent"
        scene.server.refuses = None
        await looks_for(scene, 2)
        assert scene.request() == "332Mi"


@dataclass(slots=True)
class Sticky(Server):
    """Answers no removal of an annotation."""

    removals: int = 0
    sticks: bool = True

    async def annotate_pod(self, pod: Pod, values: Mapping[str, str | None]) -> Pod:
        if values.get(LENT) is None:
            self.removals += 1
            if self.sticks:
                raise Unreachable("later")
        return await Server.annotate_pod(self, pod, values)


async def test_an_annotation_that_stays_is_not_removed_again_at_once(tmp_path: Path) -> None:
    async with a_scene(tmp_path) as scene:
        server = scene.server = Sticky()
        scene.lending = scene.another()
        await scene.lends()
        scene.uses(265)
        await looks_for(scene, int(REFUSED_PAUSE_S))
        assert scene.request() == ASKED
        assert server.removals == 1
        assert scene.result("returned") == 0
        server.sticks = False
        await looks_for(scene, 2)
        assert not scene.is_marked()
        assert scene.result("returned") == 1


@dataclass(slots=True)
class Late(Server):
    """Lowers a request, shows it by the watch, and then gives no answer."""

    scene: Scene | None = None

    async def resize_pod(self, pod: Pod, body: Mapping[str, Any]) -> Pod:
        resized = await Server.resize_pod(self, pod, body)
        if self.scene is not None:
            self.scene.lending.see(resized, gone=False)
            self.scene = None
            raise Unreachable("no answer")
        return resized


async def test_a_lend_that_is_carried_out_without_an_answer_is_taken_back(tmp_path: Path) -> None:
    async with a_scene(tmp_path) as scene:
        scene.server = Late(scene=scene)
        scene.lending = scene.another()
        await scene.lends()
        assert scene.lending.now().attempts == 1
        scene.uses(265)
        await scene.later(1)
        assert scene.request() == ASKED


@asynccontextmanager
async def over_http(
    server: Server, silent: set[str], asked: list[str] | None = None
) -> AsyncIterator[Kube]:
    """A client of the server over HTTP.

    silent: pods whose resizes get no answer. asked: gets the pod of each resize.
    """
    over = asyncio.Event()

    async def answer(request: web.Request) -> web.Response:
        name, body = request.match_info["name"], await request.json()
        if not request.path.endswith("/resize"):
            pod = {"metadata": {"name": name, **body["metadata"]}}
            return web.json_response(
                await server.annotate_pod(pod, body["metadata"]["annotations"])
            )
        if asked is not None:
            asked.append(name)
        if name in silent:
            await over.wait()
        pod = {"metadata": {"name": name, **body["metadata"]}}
        return web.json_response(await server.resize_pod(pod, body))

    app = web.Application()
    app.router.add_patch("/api/v1/namespaces/shop/pods/{name}", answer)
    app.router.add_patch("/api/v1/namespaces/shop/pods/{name}/resize", answer)
    async with TestServer(app) as served:
        address = kubernetes.Configuration(host=str(served.make_url("")).rstrip("/"))
        async with kubernetes.ApiClient(address) as api:
            yield Kube(api)
        over.set()


OTHER = running("train-2").labelled("other")


@asynccontextmanager
async def two_over_http(
    folder: Path, silent: set[str], asked: list[str] | None = None
) -> AsyncIterator[Scene]:
    """Two pods of a node, and a controller that calls over HTTP; the rest as in ``over_http``."""
    async with a_scene(folder) as scene, over_http(scene.server, silent, asked) as kube:
        scene.kube = kube
        scene.lending = scene.another()
        for pod in (running(), OTHER):
            scene.server.pods[pod.built()["metadata"]["name"]] = pod.built()
        yield scene


async def test_a_call_without_an_answer_stops_others_for_seconds_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "ANSWER_WITHIN_S", 0.5)
    silent = set[str]()
    async with two_over_http(tmp_path, silent) as scene:
        await scene.lends()
        await scene.lends(OTHER, "train-2")
        silent.add("train-1")
        scene.uses(265)
        await asyncio.wait_for(scene.later(1), 30.0)
        scene.uses(265, "train-2")
        await asyncio.wait_for(scene.later(1), 30.0)
        assert (scene.request("train-1"), scene.request("train-2")) == ("332Mi", ASKED)


async def test_a_call_without_an_answer_holds_its_own_pod_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent, asked = set[str](), list[str]()
    async with two_over_http(tmp_path, silent, asked) as scene:
        await scene.lends()
        await scene.lends(OTHER, "train-2")
        monkeypatch.setattr(lending, "WAITED_S", 0.1)
        silent.add("train-1")
        asked.clear()
        scene.uses(265)
        scene.uses(265, "train-2")
        async with asyncio.timeout(30.0):
            while scene.request("train-2") != ASKED:
                await scene.later(1)
            await scene.later(1)
        assert scene.request("train-1") == "332Mi"
        assert asked.count("train-1") == 1, "it is not asked again before it has answered"
        await scene.lending.close()


async def test_while_a_lend_has_no_answer_nothing_else_of_its_node_lends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent, asked = {"train-1"}, list[str]()
    async with two_over_http(tmp_path, silent, asked) as scene:
        monkeypatch.setattr(lending, "WAITED_S", 0.1)
        scene.lending.see(running().built(), gone=False)
        scene.uses(200)
        await scene.later(1)
        await scene.later(61)
        async with asyncio.timeout(30.0):
            while asked != ["train-1"]:
                await asyncio.sleep(0.01)
        scene.lending.see(OTHER.built(), gone=False)
        scene.uses(200, "train-2")
        await scene.later(1)
        await scene.later(61)
        assert asked == ["train-1"]
        await scene.lending.close()
        scene.uses(200, "train-2")
        await scene.later(1)
        assert scene.request("train-2") == "332Mi"


async def test_namespaces_that_hang_keep_no_others_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_scene(tmp_path) as scene, over_http(scene.server, set()) as kube:
        scene.kube = kube
        scene.lending = scene.another()
        scene.server.pods["train-1"] = running().built()
        await scene.lends()
        monkeypatch.setattr(lending, "MOST_UNANSWERED", 0)
        scene.uses(265)
        await scene.later(1)
        assert scene.request() == ASKED
