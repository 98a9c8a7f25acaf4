"""The controller's one HTTP server: feed, peaks, metrics, health and the report page."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from aiohttp import web

from plimsoll_predictor.store import StoreError

Page = Callable[[str | None], Awaitable[str]]
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
MAX_BODY_BYTES = 1 << 20
ALWAYS = "/healthz"


@dataclass(frozen=True, slots=True)
class Listening:
    """Where to listen. started: whether there is something to serve yet."""

    host: str
    port: int
    started: Callable[[], bool]


async def serve_http(
    routes: list[web.RouteDef], page: Page, where: Listening
) -> tuple[web.AppRunner, int]:
    """Start serving; returns the runner to clean up, and the port that was taken.

    Raises:
        OSError: if the port is in use.

    """
    app = web.Application(client_max_size=MAX_BODY_BYTES, middlewares=[_once(where.started)])
    app.add_routes(routes)
    app.add_routes(
        [
            web.get("/", _page(page)),
            web.get("/tasks/{namespace}/{name}", _page(page)),
        ]
    )
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, where.host, where.port)
    await site.start()
    address = runner.addresses[0]
    return runner, int(address[1])


def _once(started: Callable[[], bool]) -> Callable[..., Awaitable[web.StreamResponse]]:
    """Answer nothing but that we live before there is something to serve.

    While the API server is away the controller waits: killed for not answering, it would only
    wait again; and a feed that knows nothing yet would make admission forget what it knows.
    """

    @web.middleware
    async def gate(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path == ALWAYS or started():
            return await handler(request)
        return web.Response(status=503, text="starting: waiting for the API server\n")

    return gate


def _page(page: Page) -> Handler:
    one_at_a_time = asyncio.Lock()

    async def answer(request: web.Request) -> web.StreamResponse:
        found = request.match_info
        task = f"{found['namespace']}/{found['name']}" if "name" in found else None
        try:
            # It is two seconds of work, and anybody may ask for it.
            async with one_at_a_time:
                text = await page(task)
        except ValueError as error:
            return web.Response(status=404, text=f"{error}\n")
        except StoreError as error:
            return web.Response(status=503, text=f"{error}\n")
        return web.Response(text=text, content_type="text/html")

    return answer
