"""The controller from its start to its end: what it restores first, and what runs in it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final

import structlog

from plimsoll_operator.controller.announcing.announcer import Announcer
from plimsoll_operator.controller.attempts.late_peaks import LatePeaks
from plimsoll_operator.controller.attempts.peak_book import PeakBook
from plimsoll_operator.controller.attempts.retries import Retries
from plimsoll_operator.controller.housekeeping import Housekeeping
from plimsoll_operator.controller.learning.standings import Standings
from plimsoll_operator.controller.profiles.profiles import ProfileKeeper
from plimsoll_operator.controller.profiles.troubles import Troubles
from plimsoll_operator.controller.runtimes.living_runs import LongRuns
from plimsoll_operator.controller.runtimes.runtimes import Runtimes
from plimsoll_operator.controller.tasks.book import TaskBook
from plimsoll_operator.controller.tasks.item_needs import ItemNeeds
from plimsoll_operator.controller.tasks.leaking import LeakingTasks
from plimsoll_operator.controller.tasks.publishing import Publications
from plimsoll_operator.controller.trainings import Learning
from plimsoll_operator.controller.watching import ClusterWatch
from plimsoll_operator.feed.board import FeedBoard
from plimsoll_operator.kube.client import Kube
from plimsoll_operator.kube.errors import UNREACHABLE_PAUSE_S, Refused, Unreachable
from plimsoll_operator.metrics.controller import ControllerMetrics
from plimsoll_operator.training.queue import TrainingQueue
from plimsoll_predictor.store import StoreError, Writer

log = structlog.get_logger()

PUBLISH_EVERY_S: Final = 0.5
CARRY_ON_AFTER_S: Final = 5.0

Work = Callable[[], Awaitable[None]]


@dataclass(slots=True, kw_only=True)
class Controller:
    """One per cluster, and its parts; ``building.build`` makes it."""

    kube: Kube
    writer: Writer
    board: FeedBoard
    metrics: ControllerMetrics
    announcer: Announcer
    book: TaskBook
    publications: Publications
    leaking: LeakingTasks
    items: ItemNeeds
    peaks: PeakBook
    standings: Standings
    runtimes: Runtimes
    troubles: Troubles
    profiles: ProfileKeeper
    long_runs: LongRuns
    retries: Retries
    learning: Learning
    queue: TrainingQueue
    late_peaks: LatePeaks
    housekeeping: Housekeeping
    watch: ClusterWatch
    started: bool = field(init=False, default=False)
    """Whether the feed holds what the store knows; before that, nobody may read the feed."""
    _beside: list[asyncio.Task[None]] = field(init=False, default_factory=list)

    async def start(self) -> None:
        """Restore what people have set and the store knows, then run beside the handlers.

        Policies and bounds come first: a pod seen before its namespace's policy would be judged
        by another policy, and one seen before its LimitRange would be lifted above it.
        """
        watch = self.watch
        for policy in await _answered(self.kube.list_policies):
            await watch.see_policy(policy, gone=False)
        for profile in await _answered(self.kube.list_profiles):
            await watch.see_profile(profile, gone=False)
        for bound in await _answered(self.kube.list_bounds):
            see = watch.see_node if bound["kind"] == "Node" else watch.see_bounds
            await see(bound, gone=False)
        await self.take_up()
        self.started = True
        for work in (
            self.profiles.run,
            self.announcer.run,
            self.late_peaks.run,
            self.standings.run,
            self.runtimes.run,
            self.long_runs.run,
            watch.policy_statuses.run,
            watch.late_binding.run,
            self.troubles.run,
            self.publish_regularly,
            self.housekeeping.run,
        ):
            self._beside.append(asyncio.create_task(_carry_on(work)))
        log.info("controller started", tasks=len(self.book))

    async def take_up(self) -> None:
        """Have what the store knows in the feed, and go on with the retries it holds."""
        await self.housekeeping.take_up()
        self.publications.publish_learned()
        await self.retries.resume()

    async def publish_regularly(self) -> None:
        """Publish what was learned, until cancelled."""
        while True:
            await asyncio.sleep(PUBLISH_EVERY_S)
            await self.publish()

    async def publish(self) -> None:
        """Publish what was learned, once the experts know the runs that are counted."""
        if ahead := self.publications.ahead():
            # If the store cannot be read, ``Standings.run`` says so and tries again.
            with contextlib.suppress(StoreError):
                await self.standings.fold()
                self.publications.caught_up(ahead)
        self.publications.publish_learned()

    async def close(self) -> None:
        """Stop; everything acknowledged is in the store."""
        for task in self._beside:
            task.cancel()
        await asyncio.gather(*self._beside, return_exceptions=True)
        await self.retries.close()
        await self.queue.close()
        await self.standings.close()
        await self.runtimes.close()
        await self.writer.close()


async def _answered(call: Callable[[], Awaitable[list[Any]]]) -> list[Any]:
    """Wait while the API server is away or the role lacks something; neither is an error here."""
    while True:
        try:
            return await call()
        except (Refused, Unreachable) as error:
            log.warning("waiting for the API server", error=str(error))
            await asyncio.sleep(UNREACHABLE_PAUSE_S)


async def _carry_on(work: Work) -> None:
    """Run work that should never end: log whatever ends it, and begin it again."""
    while True:
        try:
            await work()
        except Exception:
            log.exception("interrupted, going on", work=getattr(work, "__qualname__", str(work)))
            await asyncio.sleep(CARRY_ON_AFTER_S)
