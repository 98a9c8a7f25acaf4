"""Ends a process on a signal, even while it only waits; runs work beside other work."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

T = TypeVar("T")


@asynccontextmanager
async def beside(work: Coroutine[Any, Any, object]) -> AsyncIterator[None]:
    """Do the work while the context is open."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


class Terminated(Exception):
    """SIGTERM or SIGINT came before the work was done."""


def when_terminated() -> asyncio.Event:
    """Return an event that SIGTERM or SIGINT sets from now on, on the running event loop."""
    ending = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ending.set)
    return ending


async def unless_terminated(ending: asyncio.Event, work: Awaitable[T]) -> T:
    """Do the work to its end, or cancel it and raise Terminated when ``ending`` is set."""
    working, waiting = asyncio.ensure_future(work), asyncio.ensure_future(ending.wait())
    try:
        await asyncio.wait({working, waiting}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise Terminated
    finally:
        working.cancel()
        waiting.cancel()
        await asyncio.gather(working, waiting, return_exceptions=True)
