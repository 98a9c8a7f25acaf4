"""The controller's HTTP servers: the API (feed, peaks, metrics, health), and the page apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

MAX_BODY_BYTES: Final = 1 << 20
METRICS: Final = "/metrics"


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether to send requests here, and why (not), in words."""

    ready: bool
    words: str


class Face:
    """What the API's port answers, before, while and after this controller leads.

    readiness: asked for each probe. A controller that stands by, or has just begun to lead, answers
    no other requests: a feed that knows nothing would make admission forget.
    """

    def __init__(self, registry: CollectorRegistry, readiness: Callable[[], Readiness]) -> None:
        self._registry = registry
        self._routes = web.UrlDispatcher()
        self._open: Callable[[], bool] = lambda: False
        self._readiness = readiness

    def app(self) -> web.Application:
        """The application of the port."""
        app = web.Application(client_max_size=MAX_BODY_BYTES)
        app.add_routes(
            [
                web.get("/healthz", self._healthz),
                web.get("/readyz", self._readyz),
                web.get(METRICS, self._metrics),
                web.route("*", "/{path:.*}", self._answer),
            ]
        )
        return app

    def say_readiness(self, readiness: Callable[[], Readiness]) -> None:
        """Say from now on what this says, for each probe."""
        self._readiness = readiness

    def lead(self, routes: Sequence[web.RouteDef], is_open: Callable[[], bool]) -> None:
        """Answer these routes from now on, whenever ``is_open``; they replace earlier ones."""
        self._routes = web.UrlDispatcher()
        self._routes.add_routes(routes)
        self._open = is_open

    async def _healthz(self, _: web.Request) -> web.Response:
        # Killing a controller that waits (for the API server, a database, the lead) does not help:
        # it would wait again.
        return web.Response(text="ok\n")

    async def _readyz(self, _: web.Request) -> web.Response:
        readiness = self._readiness()
        return web.Response(status=200 if readiness.ready else 503, text=f"{readiness.words}\n")

    async def _metrics(self, request: web.Request) -> web.StreamResponse:
        body = generate_latest(self._registry)
        leaders = await self._routes.resolve(request)
        if leaders.http_exception is None:
            answer = await leaders.handler(request)
            assert isinstance(answer, web.Response)
            assert isinstance(answer.body, bytes)
            body += answer.body
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        if not self._open():
            return web.Response(status=503, text=f"{self._readiness().words}\n")
        route = await self._routes.resolve(request)
        if route.http_exception is not None:
            return web.Response(status=404, text="nothing is here\n")
        return await route.handler(request)
