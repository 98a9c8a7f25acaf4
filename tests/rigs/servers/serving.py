"""Serves an aiohttp application on a port of this machine."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web

Answering = Callable[[web.Request], Awaitable[web.StreamResponse]]


def answering(answer: Answering) -> web.Application:
    """An application that answers every request as ``answer`` says."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    return app


@asynccontextmanager
async def serving(
    app: web.Application,
    port: int = 0,
    *,
    tls: ssl.SSLContext | None = None,
    handler_cancellation: bool = False,
) -> AsyncIterator[str]:
    """Serve it until the block ends; its address. port: 0 for a free one.

    handler_cancellation: a client that leaves ends its request.
    """
    # Requests that hang at the end are not waited for.
    runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=handler_cancellation)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port, ssl_context=tls).start()
        scheme = "http" if tls is None else "https"
        yield f"{scheme}://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
