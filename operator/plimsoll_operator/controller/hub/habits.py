"""The habits that the controller's parts share.

Keys that were met are remembered for a while. Reads of the store never give up, because nobody
sends a lost event again. A state that is a fold over a log folds in slices and saves now and then.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, ParamSpec, Protocol, TypeVar

import structlog

from plimsoll_predictor.store import StoreError, Writer

log = structlog.get_logger()
P = ParamSpec("P")
T = TypeVar("T")

REMEMBERED: Final = 50_000
READ_PAUSE_S: Final = 1.0
"""A store that cannot be read is asked again after this pause."""
SLICE_S: Final = 0.02
"""Folding holds the event loop for so long at a time."""
SAVE_EVERY_S: Final = 5.0
SAVING_SHARE: Final = 0.05
"""Saving takes at most this part of the time: where much is learned, it is done less often."""


class FirstTimes:
    """Keys met lately; those met longest ago are forgotten, and would count as new again."""

    def __init__(self) -> None:
        self._keys: OrderedDict[str, None] = OrderedDict()

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def add(self, key: str) -> bool:
        """Remember the key. Return whether it was new."""
        if key in self._keys:
            return False
        self._keys[key] = None
        if len(self._keys) > REMEMBERED:
            self._keys.popitem(last=False)
        return True


async def read_patiently(
    writer: Writer, method: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """Return what the store's method answers, and wait until the store can be read."""
    while True:
        try:
            return await writer.read(method, *args, **kwargs)
        except StoreError as error:
            log.warning("the store cannot be read, waiting", error=str(error))
            await asyncio.sleep(READ_PAUSE_S)


class Turns:
    """Gives others their turn once in a slice; the first slice begins when it is made."""

    def __init__(self) -> None:
        self._since_s = time.monotonic()

    async def rest(self) -> None:
        """Let others run, if the event loop was held for a whole slice."""
        if time.monotonic() - self._since_s > SLICE_S:
            await asyncio.sleep(0)
            self._since_s = time.monotonic()


class Folds(Protocol):
    """A state that is a fold over a log."""

    async def fold(self) -> None:
        """Learn all that became known."""

    async def save(self) -> None:
        """Save what changed."""


async def fold_and_save(state: Folds, news: asyncio.Event) -> None:
    """Fold what comes and save it now and then, until cancelled. news: set when there is more."""
    loop = asyncio.get_running_loop()
    next_save_s = loop.time() + SAVE_EVERY_S
    while True:
        if (began_s := loop.time()) >= next_save_s:
            await state.save()
            took_s = loop.time() - began_s
            next_save_s = loop.time() + max(SAVE_EVERY_S, took_s / SAVING_SHARE)
        try:
            async with asyncio.timeout_at(next_save_s):
                await news.wait()
            news.clear()
            await state.fold()
        except TimeoutError:
            continue
        except StoreError as error:
            log.warning("the store cannot be read, waiting", error=str(error))
            news.set()
            await asyncio.sleep(READ_PAUSE_S)
