"""A real HTTP server in the place of the API server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web
from kubernetes_asyncio import client

from plimsoll_operator.kube.api_server import ApiServer

Answering = Callable[[web.Request], Awaitable[web.Response]]


@asynccontextmanager
async def an_api_server(
    answer: Answering, most_bytes: int | None = None
) -> AsyncIterator[ApiServer]:
    """Something that answers every request as ``answer`` says."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    [(_, port)] = [address[:2] for address in runner.addresses]
    settings = client.Configuration(host=f"http://127.0.0.1:{port}")
    try:
        async with client.ApiClient(settings) as api:
            yield ApiServer(api, most_bytes=most_bytes)
    finally:
        await runner.cleanup()
