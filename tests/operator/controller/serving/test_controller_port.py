"""The API's port of a controller, before and while it leads."""

from __future__ import annotations

import aiohttp
from aiohttp import web
from prometheus_client import CollectorRegistry

from plimsoll_operator.controller.serving.web import Face, Readiness
from plimsoll_operator.processes.serving import listening


async def test_the_leaders_routes_answer_only_while_they_are_open() -> None:
    async def feed(_: web.Request) -> web.Response:
        return web.Response(text="the feed")

    async def metrics(_: web.Request) -> web.Response:
        return web.Response(body=b"led 1\n")

    face = Face(CollectorRegistry(), lambda: Readiness(ready=False, words="stands by"))
    leads: list[bool] = []
    async with (
        listening(face.app(), "127.0.0.1", 0) as port,
        aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session,
    ):

        async def asked(method: str, path: str) -> tuple[int, str]:
            async with session.request(method, path) as response:
                return response.status, await response.text()

        assert await asked("GET", "/v1/feed") == (503, "stands by\n")
        assert await asked("GET", "/metrics") == (200, "")
        face.lead([web.get("/v1/feed", feed), web.get("/metrics", metrics)], lambda: bool(leads))
        assert await asked("GET", "/v1/feed") == (503, "stands by\n")
        leads.append(True)
        assert await asked("GET", "/v1/feed") == (200, "the feed")
        assert await asked("GET", "/metrics") == (200, "led 1\n")
        assert await asked("POST", "/v1/feed") == (404, "nothing is here\n")
        assert await asked("GET", "/v1/else") == (404, "nothing is here\n")
