"""Ends a process on a signal, also while it only waits for something."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Terminated(Exception):
    """SIGTERM or SIGINT came before the work was done."""


def when_terminated() -> asyncio.Event:
    """Set by SIGTERM or SIGINT from now on; for the event loop that runs."""
    ending = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ending.set)
    return ending


async def unless_terminated(ending: asyncio.Event, work: Coroutine[Any, Any, T]) -> T:
    """Do the work to its end.

    Raises:
        Terminated: if ``ending`` is set before that; the work is cancelled then.
    """
    working, waiting = asyncio.ensure_future(work), asyncio.ensure_future(ending.wait())
    try:
        await asyncio.wait({working, waiting}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise Terminated
    finally:
        for each in (working, waiting):
            each.cancel()
        await asyncio.gather(working, waiting, return_exceptions=True)
