"""Folds a log of the store into a state in memory, and saves the state now and then.

    something committed ─► its entry in the log committed with it ─► folded here
                                                                      └─► now and then: state
                                                                          saved, folded entries
                                                                          forgotten
A crash loses nothing: the next start restores the saved state and folds what follows it, and so
comes to the same state. While it lives, this process is the only one that folds.
"""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections import OrderedDict
from typing import ClassVar, Final

import structlog

from plimsoll_operator.controller.hub.habits import READ_PAUSE_S
from plimsoll_predictor.store import StoreError, Writer

log = structlog.get_logger()

SAVE_EVERY_S: Final = 5.0
SAVING_SHARE: Final = 0.05
"""Saving takes at most this part of the time: if much is learned, it is done less often."""


class LogFold(ABC):
    """Holds the tasks that learned last in memory; the others are read again when needed."""

    of: ClassVar[str]
    """The name of the state, for messages."""

    def __init__(self, writer: Writer, held_tasks: int) -> None:
        self._writer = writer
        self._held_tasks = held_tasks
        self._used: OrderedDict[str, None] = OrderedDict()
        """Tasks that are held; the one that learned last is at the end."""
        self.through = 0
        """Serial of the last entry folded."""
        self._saved_through = {0}
        """Serial of the last entry saved, and of those whose saving was not confirmed."""
        self._news = asyncio.Event()
        self._lock = asyncio.Lock()

    def news(self, _event: object = None) -> None:
        """Something was committed that may teach. This never waits."""
        self._news.set()

    @abstractmethod
    async def restore(self) -> None:
        """Restore what was saved, and fold what became known since."""

    async def fold(self) -> None:
        """Learn all that became known."""
        saved_s = time.monotonic()
        while await self._fold_some():
            if time.monotonic() - saved_s > SAVE_EVERY_S:
                # A long backlog is saved in parts, so that saved tasks can leave memory meanwhile.
                await self.save()
                saved_s = time.monotonic()

    @abstractmethod
    async def _fold_some(self) -> bool:
        """Fold the next entries, under the lock; False if there are none."""

    @abstractmethod
    async def _write(self, follows: frozenset[int]) -> bool:
        """Save what changed. Return whether the store held a state that this one follows."""

    @abstractmethod
    def _let_go(self) -> None:
        """Forget in memory what is saved and need not be held."""

    def _is_touched(self) -> bool:
        """Say whether something is to be saved although no entry was folded."""
        return False

    async def save(self) -> None:
        """Save what changed, as of the last entry folded.

        If another controller saved meanwhile (two led for a moment), its state is restored.
        """
        async with self._lock:
            if self._saved_through == {self.through} and not self._is_touched():
                return
            follows = frozenset(self._saved_through)
            self._saved_through.add(self.through)
            if await self._write(follows):
                self._saved_through = {self.through}
                self._let_go()
                return
        log.warning("another controller saved meanwhile; what it saved is restored", of=self.of)
        await self.restore()

    async def run(self) -> None:
        """Fold what comes and save it now and then, until cancelled."""
        loop = asyncio.get_running_loop()
        next_save_s = loop.time() + SAVE_EVERY_S
        while True:
            if (began_s := loop.time()) >= next_save_s:
                await self.save()
                took_s = loop.time() - began_s
                next_save_s = loop.time() + max(SAVE_EVERY_S, took_s / SAVING_SHARE)
            try:
                async with asyncio.timeout_at(next_save_s):
                    await self._news.wait()
                self._news.clear()
                await self.fold()
            except TimeoutError:
                continue
            except StoreError as error:
                log.warning("the store cannot be read, waiting", error=str(error))
                self._news.set()
                await asyncio.sleep(READ_PAUSE_S)

    async def close(self) -> None:
        """Save what was folded; what cannot be saved is folded at the next start."""
        try:
            await self.save()
        except StoreError as error:
            log.warning("not saved; the next start learns again", of=self.of, error=str(error))
