"""The controller put together: what kopf's handlers call, and what runs beside them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import structlog

from plimsoll_operator.controller.announcer import Announcer
from plimsoll_operator.controller.attempts import AttemptLedger, Tools
from plimsoll_operator.controller.book import TaskBook
from plimsoll_operator.controller.item_needs import ItemNeeds
from plimsoll_operator.controller.kube import Kube
from plimsoll_operator.controller.kube_errors import Refused, Unreachable
from plimsoll_operator.controller.late_binding import LateBinding
from plimsoll_operator.controller.learning import Learning
from plimsoll_operator.controller.nodes import ClusterNodes
from plimsoll_operator.controller.peak_book import PeakBook
from plimsoll_operator.controller.pod_resizer import Tools as ResizerTools
from plimsoll_operator.controller.policy_statuses import PolicyStatuses
from plimsoll_operator.controller.profiles import Known, ProfileKeeper
from plimsoll_operator.controller.retries import Kept, Retries
from plimsoll_operator.controller.runtimes import Runtimes
from plimsoll_operator.controller.runtimes_running import RunningRuns, Told
from plimsoll_operator.controller.runtimes_seen import RunSightings
from plimsoll_operator.controller.standings import Standings
from plimsoll_operator.controller.surroundings import ClusterBounds
from plimsoll_operator.controller.troubles import Troubles
from plimsoll_operator.feed.board import FeedBoard
from plimsoll_operator.live_metrics import Live
from plimsoll_operator.metrics import ControllerMetrics
from plimsoll_operator.policy_levels import OWN_NAMESPACE
from plimsoll_operator.profile_names import profile_name, task_of_profile
from plimsoll_operator.standing_facts import StandingFacts, facts_or_none
from plimsoll_operator.training.queue import Trained, TrainingQueue
from plimsoll_predictor.cpu import CpuUse
from plimsoll_predictor.forecasting.forecast import Forecast
from plimsoll_predictor.knowledge import Knowledge, Lift
from plimsoll_predictor.policy import Policy
from plimsoll_predictor.store import SavedModel, Store, StoreError, TaskSummary, Writer
from plimsoll_predictor.task import TaskId

log = structlog.get_logger()

PRUNE_EVERY_S = 3600.0
UNREACHABLE_PAUSE_S = 2.0
REFRESH_EVERY_S = 10.0
"""How often the store is asked for tasks that others (an import) put something into."""
PUBLISH_EVERY_S = 0.5
CARRY_ON_AFTER_S = 5.0
TASKS_AT_ONCE = 50
"""Resolved again, when the cluster's policy changes, before others get a turn."""

Raw = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Remembered:
    """What the store knew of one task at the start."""

    summary: TaskSummary
    saved: SavedModel | None
    lifts: Mapping[str, Lift]
    cpu: CpuUse | None


class Controller:
    """One per cluster. Made on the event loop that it runs on."""

    def __init__(
        self,
        kube: Kube,
        store: Store,
        queue: Callable[[Callable[..., Any]], TrainingQueue],
        policy: Policy,
        identity: Identity,
    ) -> None:
        self._kube = kube
        self._store = store
        self.writer = Writer(store)
        self.board = FeedBoard(identity.epoch)
        self.book = TaskBook(policy, self._publish)
        self.items = ItemNeeds(self.board)
        self.peaks = PeakBook(on_final=lambda pod_uid: self._ledger.peak_came(pod_uid))
        self.metrics = ControllerMetrics(identity.task_metrics)
        self._now_s = identity.now_s
        self._bounds = ClusterBounds(self.board, self.book, identity.namespace)
        self._announcer = Announcer(kube, store, self.writer, identity.now_s, identity.instance)
        self._troubles = Troubles(kube, self.writer, self.board, self._mark_all)
        self._profiles = ProfileKeeper(
            kube,
            store,
            self.writer,
            Known(
                self.book, self._experts, self._announcer.tell, self._troubles.now, self._forecast
            ),
            identity.now_s,
        )
        self._retries = Retries(
            kube, Kept(store, self.writer), self._announcer, self.book.pauses, identity.now_s
        )
        self.queue = queue(self._trained)
        self.learning = Learning(self.book, self._profiles, self.queue, store, self.writer)
        self.standings = Standings(store, self.writer, self.book)
        self._running = RunningRuns(
            Told(self._announcer.tell, self._profiles.mark), self.metrics.runs, identity.now_s
        )
        self.runtimes = Runtimes(store, self.writer, self._running)
        self._running.noted = self.runtimes.told
        self._nodes = ClusterNodes()
        self._ledger = AttemptLedger(
            Tools(
                store=store,
                writer=self.writer,
                book=self.book,
                peaks=self.peaks,
                learning=self.learning,
                standings=self.standings,
                sightings=RunSightings(self.writer, self.runtimes, self._running),
                items=self.items,
                retries=self._retries,
                announcer=self._announcer,
                bounds=self._bounds.in_namespace,
                nodes=self._nodes,
                metrics=self.metrics,
                now_s=identity.now_s,
            )
        )
        self._policies = PolicyStatuses(kube, self.book, identity.now_s, identity.namespace)
        self._late_binding = LateBinding(
            ResizerTools(
                kube=kube,
                book=self.book,
                bounds=self._bounds,
                items=self.items,
                announcer=self._announcer,
                metrics=self.metrics.late_binding,
            ),
            identity.late_bindings_per_s,
        )
        self.metrics.watch(self._live())
        self._imported = 0
        self._beside: list[asyncio.Task[None]] = []
        self.started = False
        """Whether what the store knows is in the feed: before, nobody may read it."""

    async def start(self) -> None:
        """Take up what the store knows and people have set, then run beside the handlers.

        Policies and bounds come first: a pod seen before its namespace's policy would be judged
        by another, one seen before its namespace's LimitRange be lifted over it.
        """
        for policy in await _answered(self._kube.list_policies):
            await self.see_policy(policy, gone=False)
        for profile in await _answered(self._kube.list_profiles):
            await self.see_profile(profile, gone=False)
        for bound in await _answered(self._kube.list_bounds):
            see = self.see_node if bound["kind"] == "Node" else self.see_bounds
            await see(bound, gone=False)
        # Asked first: an import that comes meanwhile is looked at once too often, not never.
        self._imported = (await self.writer.read(self._store.observations.imported, 0)).serial
        await self.writer.call(self._store.totals.mend)
        for task, remembered in (await self.writer.read(remember_all, self._store)).items():
            self._take_up(task, remembered)
        self.items.restore(await self.writer.read(self._store.observations.item_needs))
        await self.standings.restore()
        await self.runtimes.restore()
        self.book.publish_learned()
        await self._retries.resume()
        self.started = True
        for work in (
            self._profiles.run,
            self._announcer.run,
            self._ledger.run,
            self.standings.run,
            self.runtimes.run,
            self._running.run,
            self._policies.run,
            self._late_binding.run,
            self._troubles.run,
            self._publishing,
            self._housekeeping,
        ):
            self._beside.append(asyncio.create_task(_carry_on(work)))
        log.info("controller started", tasks=len(self.book))

    async def close(self) -> None:
        """Stop; everything acknowledged is in the store."""
        for task in self._beside:
            task.cancel()
        await asyncio.gather(*self._beside, return_exceptions=True)
        await self._retries.close()
        await self.queue.close()
        await self.standings.close()
        await self.runtimes.close()
        await self.writer.close()

    def profile_status(self, task: TaskId) -> Raw:
        """A task's status as the API server has it; empty without a profile."""
        return self._profiles.status(task)

    async def see_pod(self, pod: Raw, *, gone: bool) -> None:
        """A labelled pod appeared, changed or went."""
        await self._ledger.see(pod, gone=gone)
        self._late_binding.see(pod, gone=gone)

    async def see_profile(self, profile: Raw, *, gone: bool) -> None:
        """A TaskProfile appeared, changed or went: its spec is people's, its status ours."""
        meta, spec = profile["metadata"], profile.get("spec") or {}
        task = task_of_profile(meta["namespace"], meta["name"], spec.get("task"))
        if profile_name(task) != meta["name"]:
            log.warning(
                "ignored: not the profile of its task", profile=meta["name"], task=str(task)
            )
            return
        self.book.set_profile_spec(meta["namespace"], meta["name"], None if gone else spec)
        if gone:
            self._profiles.deleted(task)
            return
        # What people wrote before the task's first pod has to be in the feed before it comes.
        if self.book.has_own_policy(task):
            self.book.get(task)
        news = self._profiles.shown(task, profile.get("status") or {}, meta.get("generation"))
        if news and task in self.book:
            self._profiles.mark(task)

    async def see_policy(self, policy: Raw, *, gone: bool) -> None:
        """A SizingPolicy appeared, changed or went; by far the most often only its status did."""
        namespace = policy["metadata"]["namespace"]
        before, paused = self.book.namespace_resolved(namespace), self.book.paused
        defaults_changed = self._bounds.see_policy(policy, gone=gone)
        self._policies.see(policy, gone=gone)
        if defaults_changed or self.book.paused != paused:
            await self._everywhere()
            return
        if self.book.namespace_resolved(namespace) == before:
            return
        self._late_binding.learned_in(namespace)
        for task in self.book:
            if task.namespace == namespace:
                self._profiles.mark(task)

    async def _everywhere(self) -> None:
        """What holds in the whole cluster has changed; the feed said so already."""
        self._late_binding.learned_everywhere()
        for number, task in enumerate(self.book, start=1):
            self.book.resolve_again(task)
            self._profiles.mark(task)
            if number % TASKS_AT_ONCE == 0:
                await asyncio.sleep(0)

    async def see_bounds(self, document: Raw, *, gone: bool) -> None:
        """A LimitRange or ResourceQuota appeared, changed or went."""
        kind = "LimitRange" if "limits" in (document.get("spec") or {}) else "ResourceQuota"
        self._bounds.see(str(document.get("kind") or kind), document, gone=gone)

    async def see_node(self, node: Raw, *, gone: bool) -> None:
        """A node appeared, changed or went."""
        self._bounds.see_node(node, gone=gone)
        self._nodes.see(node, gone=gone)

    async def _trained(self, result: Trained) -> None:
        self.metrics.trainings.labels("failed" if result.failure else "succeeded").inc()
        self.metrics.training_seconds.observe(result.duration_s)
        self.standings.news()
        await self.learning.trained(result)

    def _take_up(self, task: TaskId, remembered: Remembered) -> None:
        saved = remembered.saved
        self.book.restore(
            Knowledge(
                task=task,
                policy=Policy(),
                runs=remembered.summary.runs_known,
                max_need_bytes=remembered.summary.max_need_bytes,
                model=saved.model if saved else None,
                lifts=remembered.lifts,
                cpu=remembered.cpu,
            )
        )
        self.learning.restore(remembered.summary, saved)
        self.learning.consider(task)
        self._profiles.mark(task, after_s=0.0)

    def _mark_all(self) -> None:
        for task in self.book:
            self._profiles.mark(task)

    async def _experts(self, task: TaskId) -> StandingFacts | None:
        standing = await self.standings.standing(task)
        return facts_or_none(standing, await self.standings.pool(task))

    async def _forecast(self, task: TaskId) -> Forecast | None:
        found = await self.runtimes.forecast(task, self._now_s())
        if found is not None:
            self.metrics.runs.forecast(task, found)
        return found

    def _live(self) -> Live:
        return Live(
            leaking=lambda: self._profiles.leaking_tasks,
            models_trained_s=self.learning.models_trained_s.values,
            trainings_waiting=lambda: len(self.queue.waiting),
            trainings_running=lambda: len(self.queue.running),
            feed_readers=lambda: self.board.readers,
            retries=lambda: self._retries.results,
            events=lambda: self._announcer.results,
        )

    def _publish(self, knowledge: Knowledge) -> None:
        self.board.publish(knowledge)
        self._late_binding.learned(knowledge.task)

    async def _publishing(self) -> None:
        while True:
            await asyncio.sleep(PUBLISH_EVERY_S)
            await self._catch_up()
            self.book.publish_learned()

    async def _catch_up(self) -> None:
        """Have the experts learn what is counted already; what they cannot read waits."""
        ahead = self.book.ahead()
        if not ahead:
            return
        try:
            await self.standings.fold()
        except StoreError:
            return  # who folds beside this says so, and goes on trying
        self.book.caught_up(ahead)

    async def _housekeeping(self) -> None:
        """What an import put into the store is met without a restart; old rows go."""
        loop = asyncio.get_running_loop()
        pruned_s = loop.time()
        while True:
            await asyncio.sleep(REFRESH_EVERY_S)
            await self._look_for_imports()
            if loop.time() - pruned_s > PRUNE_EVERY_S:
                pruned_s = loop.time()
                await self._prune()

    async def _look_for_imports(self) -> None:
        found = await self.writer.read(self._store.observations.imported, self._imported)
        if found.tasks:
            # In the order of all writes, likewise: no need that is learned meanwhile is lost.
            self.items.restore(await self.writer.call(self._store.observations.item_needs))
            await self.standings.fold()
        for task in found.tasks:
            # In the order of all writes: what was recorded before is added up, and was learned.
            summary = await self.writer.call(self._store.totals.of, task)
            self.book.add_up(task, summary.runs_known, summary.max_need_bytes)
            self.learning.consider(task)
            self._profiles.mark(task)
        if found.tasks:
            self.standings.news()
            self.runtimes.news()
        self._imported = found.serial

    async def _prune(self) -> None:
        steps = self._store.prune_steps(self._now_s())
        # One by one: what else is to be written comes in between.
        while await self.writer.call(next, steps, None) is not None:
            continue
        self.book.keep_lifts(await self.writer.call(self._store.lifts.waiting))
        stored = await self.writer.call(self._store.totals.tasks)
        self.standings.keep(stored)
        await self.runtimes.keep(stored)
        for task in self.learning.idle(stored):
            self.learning.forget(task)
            self.board.remove(task)
            await self._profiles.remove(task)


@dataclass(frozen=True, slots=True)
class Identity:
    """Who this controller is, its clock and its pace."""

    instance: str
    epoch: str
    now_s: Callable[[], float]
    late_bindings_per_s: float = 50.0
    """Waiting pods resized a second; 0 resizes none."""
    namespace: str = OWN_NAMESPACE
    """Plimsoll's own: the SizingPolicy named cluster there is the default of all namespaces."""
    task_metrics: int = 0
    """Tasks with metrics of their own; 0 for none."""


async def _answered(call: Callable[[], Awaitable[list[Any]]]) -> list[Any]:
    """Wait for an API server that is away, or a role that lacks something: no error, but a wait."""
    while True:
        try:
            return await call()
        except (Refused, Unreachable) as error:
            log.warning("waiting for the API server", error=str(error))
            await asyncio.sleep(UNREACHABLE_PAUSE_S)


async def _carry_on(work: Callable[[], Awaitable[None]]) -> None:
    """Whatever ends work that should never end is logged, and the work begun again."""
    while True:
        try:
            await work()
        except Exception:
            log.exception("interrupted, going on", work=getattr(work, "__qualname__", str(work)))
            await asyncio.sleep(CARRY_ON_AFTER_S)


def remember_all(store: Store) -> dict[TaskId, Remembered]:
    """What the store knows of all tasks, in a handful of queries, whatever their number."""
    lifts, cpus = store.lifts.waiting(), store.totals.cpu_uses()
    saved = dict(store.models.serving())
    return {
        task: Remembered(summary, saved.get(task), lifts.get(task, {}), cpus.get(task))
        for task, summary in store.totals.by_task().items()
    }
