"""Learns from all of a store's runs now and then, in a process of its own.

The leader does it. The process takes turns with trainings, because the controller's memory has
room for one of them. If it fails, what was learned before serves on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

import structlog

from plimsoll_operator.training.limits import MEMORY_MIB
from plimsoll_operator.training.spawning import Ended, LearnedBy, here, result_of, start
from plimsoll_predictor.store import StoreError

log = structlog.get_logger()

LOOK_EVERY_S: Final = 300.0
LIMIT_S: Final = 1200.0
"""Learning takes seconds, but on a busy node it gives way to everything else."""


class LogWords(NamedTuple):
    """What the log says of a lesson: what it is about, that it was learned, that it was not."""

    about: str
    learned: str
    failed: str


class Lesson(Protocol):
    """What is learned, and when."""

    @property
    def words(self) -> LogWords:
        """What the log says of it."""
        ...

    @property
    def command(self) -> Sequence[str]:
        """Starts the process that learns."""
        ...

    async def begin(self) -> bool:
        """Begin a try if it is time and there is enough to learn from; say whether it did."""
        ...

    async def end(self, failure: str | None) -> None:
        """Note how the try ended. failure: why it failed; None if it did not."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreLearning:
    """One per lesson. turn: held by each training. memory_mib: cap of the process.

    learned_by: says who learns.
    """

    lesson: Lesson
    store_url: str
    turn: asyncio.Semaphore
    memory_mib: int = MEMORY_MIB
    learned_by: LearnedBy = here

    async def run(self) -> None:
        """Look every ``LOOK_EVERY_S`` whether to learn, until cancelled."""
        words = self.lesson.words
        while True:
            try:
                await self.look()
            except StoreError as error:
                log.warning(f"the store cannot be read for {words.about}", error=str(error))
            except Exception:
                log.exception(words.failed)
            await asyncio.sleep(LOOK_EVERY_S)

    async def look(self) -> bool:
        """Learn if it is time and there is something to learn from; return whether it did."""
        lesson = self.lesson
        if not await lesson.begin():
            return False
        failure, result = await self.learned_by(self._learn_here)
        if failure is None:
            log.info(lesson.words.learned, words=result.get("words") or "")
        else:
            log.warning(lesson.words.failed, why=failure)
        await lesson.end(failure)
        return failure is None

    async def _learn_here(self) -> Ended:
        async with self.turn:
            cap = ("--memory-mib", str(self.memory_mib))
            starting = start(self.store_url, *self.lesson.command, *cap)
            return await result_of(starting, LIMIT_S)
