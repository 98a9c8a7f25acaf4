"""Runs the controller from its start to its end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Final

import structlog

from plimsoll_operator.controller.building import ControllerParts
from plimsoll_operator.controller.connecting import connect
from plimsoll_operator.controller.learning.log_fold import LogFold
from plimsoll_operator.controller.placing.listed_pods import ListedPods
from plimsoll_operator.controller.profiles.gathering import LATEST
from plimsoll_operator.controller.restoring import of_what_is_stored, stored_models
from plimsoll_operator.controller.settings import ControllerSettings
from plimsoll_operator.controller.tasks import karpenter
from plimsoll_operator.controller.tasks.autoscalers import AutoscalersSeen
from plimsoll_operator.controller.tasks.healing import HealingWatch
from plimsoll_operator.controller.tasks.missed_deletions import MissedDeletions
from plimsoll_operator.kube.client import Kube
from plimsoll_operator.kube.errors import UNREACHABLE_PAUSE_S, Refused, Unreachable
from plimsoll_operator.profile.conditions import leak_of
from plimsoll_operator.training.queue import Spawns
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import Store, TaskSummary

log = structlog.get_logger()

CARRY_ON_AFTER_S: Final = 5.0

SAVED_WITHIN_S: Final = 5.0
"""How long an ending controller waits for what it learned to be saved."""

Work = Callable[[], Awaitable[None]]


class Controller(ControllerParts):
    """One per cluster. It does nothing before its ``start``."""

    def __init__(
        self,
        settings: ControllerSettings,
        kube: Kube,
        store: Store,
        spawn: Spawns,
        now_s: Callable[[], float] = time.time,
    ) -> None:
        """Make it on the running event loop; as ``ControllerParts``."""
        super().__init__(settings, kube, store, spawn, now_s)
        connect(self)
        self.started = False
        """Whether the feed holds what the store knows; before that, the feed must not be read."""
        self.healing: HealingWatch
        """It is made at the start."""
        self._beside: tuple[asyncio.Task[None], ...] = ()

    async def start(self) -> None:
        """Restore what people have set and the store knows, then run beside the handlers.

        Policies and bounds come first: a pod seen before its namespace's policy would be judged
        by another policy, and one seen before its LimitRange would be lifted above it.
        """
        watch = self.watch
        async for policy in _answered(self.kube.policies):
            await watch.see_policy(policy, gone=False)
        async for profile in _answered(self.kube.profiles):
            await watch.see_profile(profile, gone=False)
        async for bound in _answered(self.kube.bounds):
            see = watch.see_node if bound["kind"] == "Node" else watch.see_bounds
            await see(bound, gone=False)
        if await karpenter.is_installed(self.kube.api):
            watch.see_karpenter()
        autoscalers = AutoscalersSeen(self.kube, self.bounds)
        await autoscalers.look()
        await self.restore()
        listed = ListedPods(self.kube.api, self.encounters.first_list)
        await listed.begin()
        self.healing = HealingWatch(
            self.writer, self.bounds, lambda: self.encounters.first_list.handled
        )
        # Admission lowers sizes as soon as it reads the feed, unless the feed says otherwise.
        self.healing.look()
        self.started = True
        parts = (
            self.profiles,
            self.announcer,
            self.late_peaks,
            self.standings,
            self.runtimes,
            self.long_runs,
            self.watch.policy_statuses,
            self.lending,
            self.rescues,
            self.encounters,
            self.chunks,
            self.leased,
            self.campaigns,
            self.troubles,
            autoscalers,
            MissedDeletions(self.kube.api, watch.last_seen, watch.see_gone()),
            listed,
            self.healing,
            self.publications,
            self.placing_news,
            self.watch.releases,
            self.store_sync,
        )
        works = [part.run for part in parts]
        works += [self.watch.ledger.living.end_missed, self._bind_late]
        if self.rounds is not None:
            works.append(self.rounds.run)
        self._beside = tuple(asyncio.create_task(_carry_on(work)) for work in works)
        log.info("controller started", tasks=len(self.book))

    async def _bind_late(self) -> None:
        """Resize pods that wait once all pods were seen. Before that, each would be as written."""
        await self.healing.begun.wait()
        await self.late_binding.run()

    async def restore(self) -> None:
        """Bring what the store knows into the feed, and go on with the retries it holds."""
        known = await self.store_sync.begin()
        watched = {
            task: remembered
            for task, remembered in known.items()
            if not self.book.policies.leave_alone(task.namespace)
        }
        if left_alone := len(known) - len(watched):
            words = "their TaskProfiles stay as they are, and nothing is learned"
            log.info("tasks of excluded namespaces", tasks=left_alone, left_alone=words)
        for remembered in watched.values():
            self.book.restore(remembered.knowledge)
        await self._restore_models({task: one.summary for task, one in watched.items()})
        for task in watched:
            self.trainings.consider(task)
            await self._restore_leak(task)
            self.profiles.mark(task, after_s=0.0)
        await self.store_sync.look_for_items()
        await self.standings.restore()
        await self.runtimes.restore()
        await self.encounters.restore()
        await self.chunks.restore()
        await self.lease_lessons.restore()
        await self.smaller.restore()
        await self.publications.publish()
        await self.retries.resume()

    async def _restore_models(self, summaries: Mapping[TaskId, TaskSummary]) -> None:
        """Let the stored models serve that have room in the feed, and count what came since."""
        async for task, saved in stored_models(self.store, self.writer):
            summary = summaries.get(task)
            if summary is None:
                continue
            count = partial(of_what_is_stored, self.store, summary, saved)
            self.trainings.restore(summary, await self.writer.read(count))
            if saved.model is not None:
                self.book.serve(task, saved.model)

    async def _restore_leak(self, task: TaskId) -> None:
        leak = leak_of(self.profiles.status(task))
        if leak is not None:
            read = partial(self.store.observations.of_task, task, limit=LATEST)
            self.leaking.restore(task, leak, await self.writer.read(read))

    def known_need(self, pod_uid: str) -> int | None:
        """Return up to which need reports of a running pod are no news; None if nothing is known.

        It is 0 for a pod that lends or was raised: its agent may still hold a need it was told
        before, and would go on keeping reports back if the answer left the pod out.
        """
        wanted = self.lending.lends(pod_uid) or self.rescues.raised(pod_uid)
        return 0 if wanted else self.live_needs.known_bytes(pod_uid)

    async def close(self) -> None:
        """Stop; everything acknowledged is in the store."""
        for task in self._beside:
            task.cancel()
        await asyncio.gather(*self._beside, return_exceptions=True)
        await self.retries.close()
        await self.queue.close()
        await asyncio.gather(_save(self.standings), _save(self.runtimes))
        await self.writer.close()


async def _save(part: LogFold) -> None:
    """Save what was folded. While the store cannot be written, that would wait without end."""
    try:
        await asyncio.wait_for(part.close(), SAVED_WITHIN_S)
    except TimeoutError:
        log.warning("not saved in time; the next start learns again", of=part.of)


async def _answered(pages: Callable[[], AsyncIterator[list[Any]]]) -> AsyncIterator[Any]:
    """Go through a list, and wait while the API server is away or the role lacks a right.

    Neither is an error here: the list begins anew then, and some objects come twice.
    """
    while True:
        try:
            async for page in pages():
                # Decoding a page takes long. Here other work has its turn: it renews the lead.
                await asyncio.sleep(0)
                for each in page:
                    yield each
            return
        except (Refused, Unreachable) as error:
            log.warning("waiting for the API server", error=str(error))
            await asyncio.sleep(UNREACHABLE_PAUSE_S)


async def _carry_on(work: Work) -> None:
    """Run work that should never end; if it ends, log why and begin it again."""
    while True:
        try:
            await work()
        except Exception:
            log.exception("interrupted, going on", work=getattr(work, "__qualname__", str(work)))
            await asyncio.sleep(CARRY_ON_AFTER_S)
