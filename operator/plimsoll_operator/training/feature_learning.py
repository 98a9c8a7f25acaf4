"""Fits the forecasts' expert that uses features, whenever there are enough new runs.

The leader does it, in a process of its own that takes turns with trainings. If it fails, the
previous fit serves on, or forecasts use only the past; ``plimsoll forecast`` says so.
"""

from __future__ import annotations

import asyncio
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import structlog

from plimsoll_operator.training.features import known_runs
from plimsoll_operator.training.limits import MEMORY_MIB
from plimsoll_operator.training.spawning import Ended, LearnedBy, here, result_of, start
from plimsoll_predictor.runtimes.features.fitting import is_due
from plimsoll_predictor.store import LastTry, Store, StoreError, Writer

log = structlog.get_logger()

COMMAND: Final = (sys.executable, "-P", "-m", "plimsoll_operator.processes.features_trainer")
TRY_AGAIN_S: Final = 3600.0
"""The time from one fit, or failure, to the next."""
FIT_ANYWAY_S: Final = 7 * 24 * 3600.0
"""A fit that is older than this is made again if there are any newer runs."""
LOOK_EVERY_S: Final = 300.0
LIMIT_S: Final = 1200.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureRules:
    """How the expert is fitted. memory_mib: cap of the process."""

    store_url: str
    memory_mib: int = MEMORY_MIB
    command: Sequence[str] = COMMAND


def should_fit(last: LastTry | None, known: int, now_s: float) -> bool:
    """Say whether to fit now. last: how the last fit ended. known: see ``known_runs``."""
    if last is None:
        return is_due(known, 0)
    # A time in the future, by a clock that was ahead, counts as long ago.
    since_s = now_s - last.at_s if last.at_s <= now_s else math.inf
    if since_s < TRY_AGAIN_S:
        return False
    if last.failure is not None:
        return is_due(known, 0)
    # Old runs are pruned, so there may be fewer runs than before.
    return is_due(known, min(last.known, known)) or (
        since_s >= FIT_ANYWAY_S and known != last.known and is_due(known, 0)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureLearning:
    """One per controller. turn: held by each training. fitted: is called after a success.

    learned_by: says who fits.
    """

    rules: FeatureRules
    store: Store
    writer: Writer
    turn: asyncio.Semaphore
    fitted: Callable[[], None]
    now_s: Callable[[], float]
    learned_by: LearnedBy = here

    async def run(self) -> None:
        """Look every ``LOOK_EVERY_S`` whether to fit, until cancelled."""
        while True:
            try:
                await self.look()
            except StoreError as error:
                log.warning("the store cannot be read for features", error=str(error))
            except Exception:
                log.exception("what features say of runtimes could not be fitted")
            await asyncio.sleep(LOOK_EVERY_S)

    async def look(self) -> bool:
        """Fit if it is time and there are enough runs; return whether it did."""
        read, features = self.writer.read, self.store.features
        last, known = await read(features.last_try), await read(known_runs, self.store)
        if not should_fit(last, known, self.now_s()):
            return False
        failure, result = await self.learned_by(self._fit_here)
        if failure is None:
            log.info("what features say of runtimes", words=result.get("words") or "")
            self.fitted()
            return True
        log.warning("what features say of runtimes could not be fitted", why=failure)
        await self.writer.call(features.record_failure, self.now_s(), known, failure)
        return False

    async def _fit_here(self) -> Ended:
        rules = self.rules
        async with self.turn:
            cap = ("--memory-mib", str(rules.memory_mib))
            starting = start(rules.store_url, *rules.command, *cap)
            return await result_of(starting, LIMIT_S)
