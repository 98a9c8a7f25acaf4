"""What the leader gives kopf, which watches for it, and how the watch ends."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import kopf
import orjson
import pytest
from aiohttp import web

from plimsoll_operator.controller.controller import Controller
from plimsoll_operator.controller.settings import ControllerSettings
from plimsoll_operator.controller.tasks.healing import ENDING, HealingWatch
from plimsoll_operator.processes import leading
from tests.builders.controller.ledgers import an_inside
from tests.builders.pods import a_pod
from tests.rigs.servers.serving import answering, serving


def test_kopf_is_told_who_it_is_and_asks_for_no_user_of_the_image(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It would ask /etc/passwd, where the user of ``runAsUser`` need not be."""
    given: dict[str, Any] = {}

    async def spawn_tasks(**options: Any) -> Collection[asyncio.Task[None]]:
        given.update(options)
        return [asyncio.create_task(asyncio.sleep(0))]

    monkeypatch.setattr(kopf, "spawn_tasks", spawn_tasks)
    monkeypatch.setattr(leading, "registry_for", lambda _: kopf.OperatorRegistry())
    settings = ControllerSettings(instance="plimsoll-controller-7d9f")
    asyncio.run(leading.watch(settings, Mock(), asyncio.Event()))
    assert given["identity"] == "plimsoll-controller-7d9f"


def told(controller: Controller) -> object:
    return orjson.loads(controller.board.message(0, None))["defaults"]["unhealed"]


def a_resource(name: str, kind: str, *, namespaced: bool) -> dict[str, object]:
    verbs = ["list", "watch", "get", "patch"]
    names = {"name": name, "singularName": kind.lower(), "kind": kind}
    return {**names, "namespaced": namespaced, "verbs": verbs}


DISCOVERED: dict[str, dict[str, object]] = {
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/apis": {"kind": "APIGroupList", "groups": []},
    "/api/v1": {
        "kind": "APIResourceList",
        "groupVersion": "v1",
        "resources": [
            a_resource("pods", "Pod", namespaced=True),
            a_resource("namespaces", "Namespace", namespaced=False),
        ],
    },
}


@asynccontextmanager
async def one_pod(folder: Path, refused: asyncio.Event) -> AsyncIterator[Path]:
    """An API server with one pod, and its kubeconfig. refused: its watch ends with an error."""

    async def answer(request: web.Request) -> web.Response:
        if request.path in DISCOVERED:
            return web.json_response(DISCOVERED[request.path])
        if "watch" in request.query:
            await refused.wait()
            error = {"kind": "Status", "code": 500}
            return web.json_response({"type": "ERROR", "object": error})
        listed = {"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}}
        return web.json_response({**listed, "items": [a_pod().built()]})

    async with serving(answering(answer)) as url:
        kubeconfig = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "clusters": [{"name": "test", "cluster": {"server": url}}],
            "users": [{"name": "test", "user": {"token": "a-test's"}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
        }
        path = folder / "kubeconfig"
        path.write_text(json.dumps(kubeconfig))
        yield path


@pytest.mark.slow
@pytest.mark.parametrize("fails", [False, True])
async def test_once_the_watch_ends_nobody_heals_and_others_are_not_waited_for_nor_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    """The feed is served while all is saved and the lead is given up: for up to half a minute."""
    handling, ending, refused = asyncio.Event(), asyncio.Event(), asyncio.Event()
    told_to_handlers: list[object] = []
    async with an_inside(tmp_path) as inside, one_pod(tmp_path, refused) as kubeconfig:
        controller = inside.controller
        controller.healing = HealingWatch(controller.writer, controller.bounds, lambda: True)

        async def hang(**_: Any) -> None:
            handling.set()
            try:
                await asyncio.Event().wait()
            finally:
                told_to_handlers.append(told(controller))

        registry = kopf.OperatorRegistry()
        kopf.on.event("v1", "pods", registry=registry)(hang)
        monkeypatch.setattr(leading, "registry_for", lambda _: registry)
        settings = ControllerSettings(kubeconfig=str(kubeconfig))
        watching = asyncio.create_task(leading.watch(settings, controller, ending))
        async with asyncio.timeout(60):
            await handling.wait()
        assert told(controller) is None
        connection = asyncio.create_task(asyncio.Event().wait())
        (refused if fails else ending).set()
        async with asyncio.timeout(60):
            await asyncio.wait({watching})
        assert (watching.exception() is not None) is fails
        # A watch that fails has waited for its handlers before it ends.
        assert told_to_handlers == [None if fails else ENDING]
        assert told(controller) == ENDING
        assert not connection.done()
        connection.cancel()
