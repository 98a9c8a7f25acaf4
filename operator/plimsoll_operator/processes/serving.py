"""Ports of all processes; background work of those that answer from the feed's knowledge."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import structlog
from aiohttp import web

from plimsoll_operator.feed.client import FeedSource

log = structlog.get_logger()

RESTART_PAUSE_S: Final = 5.0


async def again_and_again(name: str, work: Callable[[], Awaitable[None]]) -> None:
    """Work beside the server. If it fails, log the error and start it again: pods come first."""
    while True:
        try:
            await work()
        except Exception:
            log.exception("background-work-failed", work=name, again_in_s=RESTART_PAUSE_S)
        await asyncio.sleep(RESTART_PAUSE_S)


@asynccontextmanager
async def listening(
    app: web.Application,
    address: str,
    port: int,
    *,
    grace_s: float = 1.0,
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[int]:
    """Serve while the context is open, and yield the port; 0 takes a free one.

    At the end, requests that have begun may take at most ``grace_s`` more. tls: serves HTTPS with
    it; None serves plain HTTP. Raises OSError if the port is in use.
    """
    # No access log: a line per pod would cost more than sizing it. The application handles no
    # signals: kopf and we end the process.
    runner = web.AppRunner(app, handle_signals=False, access_log=None, shutdown_timeout=grace_s)
    await runner.setup()
    try:
        await web.TCPSite(runner, address, port, ssl_context=tls).start()
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()


def feed_source(url: str, token_file: Path, ca_file: Path | None) -> FeedSource:
    """Return the feed's address. ca_file: certificates to trust; None for the system's."""
    context = None if ca_file is None else ssl.create_default_context(cafile=ca_file)
    return FeedSource(url, token_file, context)
