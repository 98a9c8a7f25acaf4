"""The controller's one HTTP server: feed, peaks, metrics, health and the report page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from aiohttp import web

Page = Callable[[str | None], Awaitable[str]]
MAX_BODY_BYTES = 1 << 20


async def serve_http(
    routes: list[web.RouteDef], page: Page, host: str, port: int
) -> tuple[web.AppRunner, int]:
    """Start serving; returns the runner to clean up, and the port that was taken.

    Raises:
        OSError: if the port is in use.

    """
    app = web.Application(client_max_size=MAX_BODY_BYTES)
    app.add_routes(routes)
    app.add_routes(
        [
            web.get("/", _page(page)),
            web.get("/tasks/{namespace}/{name}", _page(page)),
        ]
    )
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, host, port)
    await site.start()
    address = runner.addresses[0]
    return runner, int(address[1])


def _page(page: Page) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def answer(request: web.Request) -> web.Response:
        found = request.match_info
        task = f"{found['namespace']}/{found['name']}" if "name" in found else None
        return web.Response(text=await page(task), content_type="text/html")

    return answer
