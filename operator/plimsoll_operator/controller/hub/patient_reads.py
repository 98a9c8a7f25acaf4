"""Reads of the store that must not fail: giving up would lose an event that nobody sends again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, ParamSpec, TypeVar

import structlog

from plimsoll_predictor.store import StoreError, Writer

log = structlog.get_logger()
P = ParamSpec("P")
T = TypeVar("T")

PAUSE_S: Final = 1.0


async def read_patiently(
    writer: Writer, method: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """What the store's method answers, once the store can be read."""
    while True:
        try:
            return await writer.read(method, *args, **kwargs)
        except StoreError as error:
            log.warning("the store cannot be read, waiting", error=str(error))
            await asyncio.sleep(PAUSE_S)
