"""Learns the shapes of runtimes once a day, in a process of its own.

The leader does it. The process takes turns with trainings, because the controller's memory has
room for one of them.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import structlog

from plimsoll_operator.training.limits import MEMORY_MIB
from plimsoll_operator.training.spawning import Ended, LearnedBy, here, result_of, start
from plimsoll_predictor.runtimes.shapes.normalising import SUPPORT
from plimsoll_predictor.store import Store, StoreError, Writer

log = structlog.get_logger()

COMMAND: Final = (sys.executable, "-P", "-m", "plimsoll_operator.processes.shapes_trainer")
LEARN_EVERY_S: Final = 24 * 3600.0
TRY_AGAIN_S: Final = 3600.0
"""The time to the next try after a failure."""
LOOK_EVERY_S: Final = 300.0
LIMIT_S: Final = 1200.0
"""Learning takes seconds, but on a busy node it gives way to everything else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeRules:
    """How shapes are learned. memory_mib: cap of the process."""

    store_url: str
    memory_mib: int = MEMORY_MIB
    command: Sequence[str] = COMMAND


def is_due(made_s: float | None, tried_s: float | None, now_s: float) -> bool:
    """Say whether to learn now. made_s: of the last success. tried_s: of the last try.

    A time in the future, by a clock that was ahead, counts as long ago.
    """
    if made_s is not None and 0 <= now_s - made_s < LEARN_EVERY_S:
        return False
    return tried_s is None or not 0 <= now_s - tried_s < TRY_AGAIN_S


@dataclass(slots=True, kw_only=True)
class ShapeLearning:
    """One per controller. turn: held by each training. now_s: gives Unix seconds.

    learned_by: says who learns.
    """

    rules: ShapeRules
    store: Store
    writer: Writer
    turn: asyncio.Semaphore
    now_s: Callable[[], float]
    learned_by: LearnedBy = here
    _tried_s: float | None = field(default=None, init=False)

    async def run(self) -> None:
        """Look every ``LOOK_EVERY_S`` whether to learn, until cancelled."""
        while True:
            try:
                await self.look()
            except StoreError as error:
                log.warning("the store cannot be read for shapes", error=str(error))
            except Exception:
                log.exception("shapes of runtimes could not be learned")
            await asyncio.sleep(LOOK_EVERY_S)

    async def look(self) -> bool:
        """Learn if it is time and there is something to learn from; return whether it did."""
        now_s = self.now_s()
        made_s = await self.writer.read(self.store.shapes.made_s)
        if not is_due(made_s, self._tried_s, now_s):
            return False
        summaries = await self.writer.read(self.store.totals.by_task)
        if all(each.observations < SUPPORT for each in summaries.values()):
            return False
        self._tried_s = now_s
        failure, result = await self.learned_by(self._learn_here)
        if failure is None:
            log.info("shapes of runtimes are learned", words=result.get("words") or ())
        else:
            # The old shapes serve on; no decision depends on them.
            log.warning("shapes of runtimes could not be learned", why=failure)
        return failure is None

    async def _learn_here(self) -> Ended:
        rules = self.rules
        async with self.turn:
            cap = ("--memory-mib", str(rules.memory_mib))
            starting = start(rules.store_url, *rules.command, *cap)
            return await result_of(starting, LIMIT_S)
