"""Logs the store's trainings to a tracking server. Nothing else waits for it.

The store is the outbox: a training is saved first and logged when the server accepts it. So a
server that was away gets all trainings that it missed, also earlier ones and those made by hand.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final, Protocol

import structlog

from plimsoll_operator.names.conditions import cut
from plimsoll_operator.training.mlflow_client import (
    MlflowClient,
    MlflowServer,
    TrackingError,
    TrackingRefused,
)
from plimsoll_operator.training.mlflow_records import TrackedRun, tracked_run
from plimsoll_predictor.store import BadRecordError, Store, StoreError, Training, Writer

log = structlog.get_logger()

MAX_STRIKES: Final = 5
"""How often the server may fail at one training before it is given up."""
_WORDS: Final = 400


class Logs(Protocol):
    """Takes trainings; see mlflow_client.py."""

    async def log(self, run: TrackedRun) -> str:
        """Log one and return the server's id for it. TrackingError if it was not logged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackingRules:
    """prefix: of experiments' names. look_s: between looks into the store.

    training_s: for all of one training's calls. After a failure the next try waits ``pause_s``,
    after each further failure twice as long, at most ``longest_pause_s``.
    """

    prefix: str = "plimsoll"
    look_s: float = 10.0
    training_s: float = 60.0
    pause_s: float = 30.0
    longest_pause_s: float = 900.0
    batch: int = 20


@dataclass(frozen=True, slots=True)
class Outbox:
    """The trainings that wait. count: called for each try with "logged", "refused" or "failed"."""

    store: Store
    writer: Writer
    count: Callable[[str], None]


class Tracker:
    """Logs the trainings that are not logged yet, one at a time."""

    def __init__(self, client: Logs, outbox: Outbox, rules: TrackingRules) -> None:
        self._client = client
        self._outbox = outbox
        self._rules = rules
        self._strikes: Counter[int] = Counter()
        self.trouble: str | None = None
        """Why trainings are not logged at the moment; None if they are."""

    async def run(self) -> None:
        """Log until cancelled."""
        failures = 0
        while True:
            try:
                more = await self.log_waiting()
                failures = 0
                if self.trouble is not None:
                    log.info("trainings are logged again")
                self.trouble = None
                await asyncio.sleep(0.0 if more else self._rules.look_s)
            except (TrackingError, StoreError) as error:
                failures += 1
                doubled_s = self._rules.pause_s * 2.0 ** min(failures - 1, 20)
                pause_s = min(self._rules.longest_pause_s, doubled_s)
                self.trouble = str(error)
                log.warning("trainings wait to be logged", error=str(error), again_in_s=pause_s)
                await asyncio.sleep(pause_s)
            except Exception:
                log.exception("trainings could not be logged; trying again later")
                await asyncio.sleep(self._rules.longest_pause_s)

    async def log_waiting(self) -> bool:
        """Log the oldest that wait; return True if there may be more.

        Raises:
            TrackingError: if the server cannot be reached now; trainings logged before are noted.
            StoreError: if the store cannot be reached now.
        """
        waiting = await self._outbox.writer.read(
            self._outbox.store.trainings.untracked, limit=self._rules.batch
        )
        for training in waiting:
            await self._log(training)
        return len(waiting) == self._rules.batch

    async def _log(self, training: Training) -> None:
        try:
            async with asyncio.timeout(self._rules.training_s):
                words = await self._client.log(tracked_run(training, self._rules.prefix))
        except TrackingRefused as error:
            await self._give_up(training, error)
        except (TrackingError, TimeoutError) as error:
            self._strikes[training.row] += isinstance(error, TrackingError) and error.about_it
            if self._strikes[training.row] >= MAX_STRIKES:
                await self._give_up(training, error)
                return
            self._outbox.count("failed")
            if isinstance(error, TimeoutError):
                limit_s = self._rules.training_s
                raise TrackingError(f"logging one training took over {limit_s:.0f} s") from error
            raise
        else:
            self._strikes.pop(training.row, None)
            await self._mark(training, words)
            self._outbox.count("logged")

    async def _give_up(self, training: Training, error: Exception) -> None:
        self._strikes.pop(training.row, None)
        log.error("a training is not logged", task=str(training.task), error=str(error))
        self._outbox.count("refused")
        await self._mark(training, cut(f"refused: {error}", _WORDS))

    async def _mark(self, training: Training, words: str) -> None:
        try:
            await self._outbox.writer.call(
                self._outbox.store.trainings.mark_tracked, training.row, words
            )
        except BadRecordError as error:
            log.error("a logged training is not noted", task=str(training.task), error=str(error))


@asynccontextmanager
async def tracking(
    server: MlflowServer | None, outbox: Outbox, rules: TrackingRules
) -> AsyncIterator[Tracker | None]:
    """Log trainings while the block runs; without a server nothing is logged."""
    if server is None:
        yield None
        return
    client = MlflowClient(server)
    tracker = Tracker(client, outbox, rules)
    work = asyncio.create_task(tracker.run(), name="tracking")
    log.info("trainings are logged", server=server.where, prefix=rules.prefix)
    try:
        yield tracker
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
        await client.close()
