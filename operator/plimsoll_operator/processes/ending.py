"""Ending a process that is told to, also while it only waits for something."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Told(Exception):
    """SIGTERM or SIGINT came before the work was done."""


def when_told() -> asyncio.Event:
    """Set by SIGTERM or SIGINT from now on; for the event loop that runs."""
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told.set)
    return told


async def unless_told(told: asyncio.Event, work: Coroutine[Any, Any, T]) -> T:
    """Do the work to its end.

    Raises:
        Told: if ``told`` is set before that; the work is cancelled then.

    """
    working, waiting = asyncio.ensure_future(work), asyncio.ensure_future(told.wait())
    try:
        await asyncio.wait({working, waiting}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise Told
    finally:
        for each in (working, waiting):
            each.cancel()
        await asyncio.gather(working, waiting, return_exceptions=True)
