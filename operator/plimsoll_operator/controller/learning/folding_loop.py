"""What folds a log in the store: told that there is news, it folds, and saves now and then."""

from __future__ import annotations

import asyncio
from typing import Final, Protocol

import structlog

from plimsoll_predictor.store import StoreError

log = structlog.get_logger()

SAVE_EVERY_S: Final = 5.0
SAVING_SHARE: Final = 0.05
"""Of the time, at most, for saving: where much is learned, it is done less often."""
READ_PAUSE_S: Final = 1.0


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
