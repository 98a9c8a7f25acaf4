"""Releases pods and Jobs that wait for their turn, as nodes have room.

The queue is what waits in the cluster, in the order of creation: a restarted controller sees it
again. It forgets only how often each was overtaken; no pod waits longer than is written on it.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Final

import structlog

from plimsoll_operator.controller.announcing.announcer import Announcer
from plimsoll_operator.controller.ordering.held_pods import (
    HeldPods,
    is_job,
    is_one,
    path_of_pod,
)
from plimsoll_operator.controller.ordering.ordered_tasks import LONGEST_S, OrderedTasks
from plimsoll_operator.controller.ordering.other_pods import OtherPods
from plimsoll_operator.controller.ordering.stuck_store import StuckStore
from plimsoll_operator.controller.ordering.troubled_namespaces import SLOW_S, TroubledNamespaces
from plimsoll_operator.controller.ordering.unstarted_leader import AT_ONCE, OF_NAMESPACE
from plimsoll_operator.controller.ordering.waiting_events import announce
from plimsoll_operator.controller.ordering.waiting_jobs import WaitingJobs, path_of_job
from plimsoll_operator.controller.tasks.nodes import read_node
from plimsoll_operator.feed.board import FeedBoard
from plimsoll_operator.kube.api_server import ApiServer
from plimsoll_operator.kube.client import ANSWER_WITHIN_S
from plimsoll_operator.kube.errors import (
    UNREACHABLE_PAUSE_S,
    ApiError,
    Changed,
    NotFound,
    Unknown,
    Unreachable,
)
from plimsoll_operator.metrics.ordering import OrderingMetrics
from plimsoll_operator.ordering.gate import release_to
from plimsoll_operator.ordering.namespace_work import NamespaceWork
from plimsoll_operator.ordering.queue import Known, Release, next_releases
from plimsoll_operator.ordering.room import AWAITED_S, RoomBook
from plimsoll_operator.ordering.suspended_jobs import KIND, resume_to
from plimsoll_operator.pods.owners import controller_of
from plimsoll_operator.pods.spec import Pod, metadata_of
from plimsoll_operator.wording import event_words
from plimsoll_predictor.core.task import namespace_of

log = structlog.get_logger()

LOOK_EVERY_S: Final = 1.0
LOOK_WITHIN_S: Final = 10.0
"""However much room there is, after this time Jobs, policies and new pods are looked at again."""
OTHERS_WITHIN_S: Final = 1.0
"""A look waits for a list of the pods of no task for this long. A later one reads what is late."""
RENEW_EVERY_S: Final = 10.0
RENEW_WITHIN_S: Final = 5.0
"""While what was learned is being saved, forecasts wait for it. Releases do not wait for longer."""
SETTLING_S: Final = 5.0
"""For this long after its start, a controller has seen too little: it releases no pods."""
ALL_SEEN_WITHIN_S: Final = 30.0
"""For this long after its start, nobody has a turn unless all pods were seen."""
TRIES: Final = 5
AGAIN_AFTER_S: Final = 2.0
"""A pod that changes during every try is tried again after this time."""
REFUSED_FOR_S: Final = 60.0
"""A pod whose gate may not be removed is tried again after this time. After the first in its
namespace, no task is ordered for this long: it may concern all namespaces."""


@dataclass(slots=True)
class Releases:
    """The queue of one controller that leads.

    store_is_stuck: whether the store cannot be written. now_s: Unix seconds. monotonic_s: on a
    clock that cannot jump.
    """

    api: ApiServer
    ordered: OrderedTasks
    board: FeedBoard
    announcer: Announcer
    metrics: OrderingMetrics
    store_is_stuck: Callable[[], bool]
    now_s: Callable[[], float]
    monotonic_s: Callable[[], float] = time.monotonic
    held: HeldPods = field(default_factory=HeldPods)
    room: RoomBook = field(default_factory=RoomBook)
    others: OtherPods = field(init=False)
    jobs: WaitingJobs = field(init=False)
    _began_s: float | None = field(default=None, init=False)
    _renewed_s: float | None = field(default=None, init=False)
    _refused_s: float | None = field(default=None, init=False)
    _store: StuckStore = field(init=False)
    _namespaces: TroubledNamespaces = field(default_factory=TroubledNamespaces, init=False)
    _work: NamespaceWork = field(default_factory=partial(NamespaceWork, AT_ONCE), init=False)
    """A namespace whose webhook takes long keeps no other one waiting."""
    _news: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _let_go_s: dict[str, float] = field(default_factory=dict, init=False)
    """When pods that are not bound yet were released to nodes with room."""
    _took_s: float = field(default=0.0, init=False)
    _not_before_s: dict[str, float] = field(default_factory=dict, init=False)
    """When pods that could not be released may be tried again."""

    def __post_init__(self) -> None:
        """Limit the time of calls, and watch the queue."""
        self.api = self.api.within(ANSWER_WITHIN_S)
        self._store = StuckStore(self.store_is_stuck)
        self.others = OtherPods(self.api, self.monotonic_s)
        self.jobs = WaitingJobs(self.api, self.monotonic_s)
        self.metrics.watch(lambda: len(self.held), lambda: len(self.ordered.tasks))

    def see(self, pod: Pod, *, gone: bool) -> None:
        """Note a pod of a task, even if the task is not to be ordered any more."""
        self.room.see(pod, gone=gone)
        uid = str(metadata_of(pod).get("uid"))
        self._see_waiting(pod, gone=gone)
        if gone:
            self._not_before_s.pop(uid, None)
        bound = self.room.has_bound(uid)
        job_uid = str((controller_of(pod) or {}).get("uid"))
        for released in (uid, job_uid):
            since_s = self._let_go_s.get(released)
            if since_s is not None and (bound or (gone and released == uid)):
                del self._let_go_s[released]
                if bound:
                    self.ordered.latency.saw(self.monotonic_s() - since_s)
        self._news.set()

    def _see_waiting(self, pod: Pod, *, gone: bool) -> None:
        if self.held.see(pod, gone=gone):
            announce(self.announcer, event_words.held(), pod)

    def see_node(self, document: Pod, *, gone: bool) -> None:
        """Note a node."""
        name, node = str(metadata_of(document).get("name")), read_node(document)
        if node.takes_pods and not gone:
            self.room.see_node(name, node.host, document)
        else:
            self.room.close_node(name, document)
        self._news.set()

    async def run(self) -> None:
        """Release what has its turn, until cancelled."""
        try:
            while True:
                await self.look()
                self._news.clear()
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._news.wait(), LOOK_EVERY_S)
                # News that comes together is looked at once; with many nodes, looks take at most
                # a tenth of the time.
                await asyncio.sleep(max(LOOK_EVERY_S / 20, 9 * self._took_s))
        finally:
            self.board.set_ordered(None)
            self._work.stop()
            self.jobs.stop()
            self.others.stop()

    async def look(self) -> None:
        """Look once: say which tasks' pods may wait, and release all that have their turn."""
        now_s = self.monotonic_s()
        if self._began_s is None:
            self._began_s = now_s
        for sighting in await self.jobs.look(wanted=self.ordered.policies.has_suspended):
            self._see_waiting(sighting.stand_in, gone=sighting.gone)
        self._store.look(now_s)
        await self._renew(now_s)
        if not self.held:
            return
        await self._list_others()
        if self.others.are_awaited():
            return
        try:
            while await self._release_chosen():
                # While there is room, releases take at most half of the time.
                await asyncio.sleep(self._took_s)
                if self.monotonic_s() - now_s > LOOK_WITHIN_S:
                    return
        except (Unreachable, Unknown) as error:
            log.info("the API server does not answer; pods wait", error=str(error))
            await asyncio.sleep(UNREACHABLE_PAUSE_S)

    async def _renew(self, now_s: float) -> None:
        if self._store.is_stuck(now_s) or not self.ordered.policies.has_order:
            self.ordered.tasks, self._renewed_s = frozenset(), None
        elif self._renewed_s is None or now_s - self._renewed_s >= RENEW_EVERY_S:
            self._renewed_s = now_s
            try:
                async with asyncio.timeout(RENEW_WITHIN_S):
                    await self.ordered.renew(self.now_s())
            except TimeoutError:
                log.info("the tasks to order stay as they are: forecasts take long")
            except Exception:
                # Held pods are released all the same, and no others are held.
                log.exception("the tasks to order could not be determined")
                self.ordered.tasks = frozenset()
        late_s = now_s - LONGEST_S  # no event shows that a Job went before its pods came
        self._let_go_s = {uid: at_s for uid, at_s in self._let_go_s.items() if at_s >= late_s}
        refused = self._refused_s is not None and now_s - self._refused_s < REFUSED_FOR_S
        wanted = {
            kind
            for kind in self.ordered.tasks
            if self._orders(kind) and not self._namespaces.forbids(namespace_of(kind), now_s)
        }
        self.board.set_ordered(None if refused else wanted, jobs=self.jobs.are_resumed())

    def _orders(self, kind: str) -> bool:
        """Say whether pods of a task wait for their turn. Where releases are slow, none waits."""
        slow = self._namespaces.is_slow(namespace_of(kind), self.monotonic_s())
        return not slow and self.ordered.orders(kind)

    async def _list_others(self) -> None:
        try:
            pods = await self.others.news(OTHERS_WITHIN_S)
        except ApiError as error:
            log.warning("pods of no task are not known", error=str(error))
            return
        if pods is not None:
            self.room.set_others(pods)
            self._namespaces.was_answered(self.monotonic_s())

    async def _release_chosen(self) -> bool:
        """Release all that need not wait, else some in turn; False if all have to wait."""
        now_s = self.monotonic_s()
        since_s = now_s - (now_s if self._began_s is None else self._began_s)
        if since_s < SETTLING_S:
            return False
        has_seen_all = self.ordered.encounters.complete or since_s >= ALL_SEEN_WITHIN_S
        queue = [
            replace(
                waiter,
                barred=waiter.uid in self._not_before_s
                or self._namespaces.bars(namespace_of(waiter.task), now_s),
            )
            for waiter in self.held.queue(cache(self._orders))
            if self._not_before_s.get(waiter.uid, now_s) <= now_s
            if not self._namespaces.rests(namespace_of(waiter.task), now_s)
            if not self._work.is_busy(namespace_of(waiter.task))
        ]
        known = Known(
            pairs=self.ordered.pairs,
            now_s=self.now_s(),
            capacities=self.room.capacities(),
            outsider_s=cache(self.room.newest_outsider_s),
            has_below=cache(lambda priority: self.room.has_below(priority, now_s)),
            has_from=lambda priority: self.room.has_from(priority, now_s),
            sees=self.others.are_known() and not self._store.is_stuck(now_s),
        )
        chosen = next_releases(
            queue, lambda rank: self.room.places(rank, now_s) if has_seen_all else (), known
        )
        self._took_s = self.monotonic_s() - now_s
        by_namespace = defaultdict[str, list[Release]](list)
        for release in chosen:
            self.held.overtake(release.overtakes)
            if release.takes:  # others are chosen while its release still goes on
                self._expect(release)
            by_namespace[namespace_of(release.waiter.task)].append(release)
        works = {name: partial(self._release_of, name, some) for name, some in by_namespace.items()}
        await self._work.run(works, SLOW_S)
        if len(chosen) > 1:
            # Releasing many takes so long that the last list may be old.
            await self._list_others()
        return bool(chosen)

    async def _release_of(self, namespace: str, some: Sequence[Release]) -> None:
        """Release pods of one namespace; those that fail take no room and overtook nobody."""
        try:
            await self._release_some(namespace, some)
        finally:
            for release in some:
                if self.held.get(release.waiter.uid) is not None:
                    self.room.await_no_more(release.waiter.uid)
                    self.held.take_back(release.overtakes)

    async def _release_some(self, namespace: str, some: Sequence[Release]) -> None:
        """Release pods of one namespace, a few at once; none after one that got no answer."""
        for at in range(0, len(some), OF_NAMESPACE):
            if self._namespaces.rests(namespace, self.monotonic_s()):
                return
            part = (self._let_go(release) for release in some[at : at + OF_NAMESPACE])
            errors = [each for each in await asyncio.gather(*part, return_exceptions=True) if each]
            for error in errors:
                if not isinstance(error, (Unreachable, Unknown)):
                    raise error
            if errors:
                # A webhook of that namespace may be down: the pods of others go on.
                log.info("no answer; its namespace rests", of=namespace, error=str(errors[0]))
                if self._namespaces.was_not_answered(namespace, self.monotonic_s()):
                    raise errors[0]
                return

    async def _let_go(self, release: Release) -> None:
        """Remove the gate. Raises Unreachable or Unknown."""
        left, namespace = release, namespace_of(release.waiter.task)
        for _ in range(TRIES):
            began_s = self.monotonic_s()
            tried = await self._tried(left)
            now_s = self.monotonic_s()
            self._namespaces.was_answered_in(namespace, now_s - began_s, now_s)
            if tried is None:
                return
            left = tried
        self.metrics.failed.inc()
        self._not_before_s[release.waiter.uid] = self.monotonic_s() + AGAIN_AFTER_S

    async def _tried(self, release: Release) -> Release | None:
        """Try once. Return the release to try next; None if done. Raises Unreachable or Unknown."""
        uid = release.waiter.uid
        pod = self.held.get(uid)
        if pod is None:
            return None
        try:
            await self._patch(pod, release)
        except NotFound:
            self.held.drop(uid)
        except Changed:
            await self._read_again(pod)
            return release
        except (Unreachable, Unknown):
            raise
        except ApiError as error:
            if release.places:  # a rule may forbid host names: try without them
                return replace(release, places=())
            self._was_refused(pod, error)
        return None

    async def _patch(self, pod: Pod, release: Release) -> None:
        meta, waiter = metadata_of(pod), release.waiter
        # If several pods start, or some later, one node is not the best for all of them.
        names_hosts = is_one(pod) and not self.room.has_karpenter
        hosts = [place.host for place in release.places if names_hosts and place.host]
        now_s = self.monotonic_s()
        # Before the call: the pod may be seen bound before the answer is here.
        self._expect(release)
        if release.places:
            self._let_go_s[waiter.uid] = now_s
        try:
            answered = await self._patched(pod, hosts)
        except ApiError:
            self.room.await_no_more(waiter.uid)
            self._let_go_s.pop(waiter.uid, None)
            raise
        self._namespaces.has_released(namespace_of(waiter.task))
        waited_s = self.now_s() - waiter.created_s
        self.held.see(answered, gone=False)
        self.metrics.released(release.why, waited_s)
        announce(self.announcer, event_words.released(release.why.value, hosts[:1], waited_s), pod)
        log.info(
            "let go",
            kind=KIND if is_job(pod) else "Pod",
            name=f"{meta.get('namespace')}/{meta.get('name')}",
            why=release.why.value,
            hosts=hosts,
            waited_s=round(waited_s, 1),
            overtaken=waiter.overtaken,
        )

    def _expect(self, release: Release) -> None:
        until_s = self.monotonic_s() + AWAITED_S
        self.room.expect(release.waiter.uid, release.awaited(until_s))

    async def _patched(self, pod: Pod, hosts: Sequence[str]) -> Pod:
        """Remove the gate, or resume the Job. Return the released pod. Raises ApiError."""
        if is_job(pod):
            job = await self.api.patch(path_of_job(pod), resume_to(pod, hosts))
            self.jobs.forget(str(metadata_of(pod).get("uid")))
            return self.jobs.stand_in(job)
        return await self.api.patch(path_of_pod(pod), release_to(pod, hosts))

    async def _read_again(self, pod: Pod) -> None:
        uid, now = metadata_of(pod).get("uid"), None
        with suppress(NotFound):
            now = await (self.jobs.read(pod) if is_job(pod) else self.api.get(path_of_pod(pod)))
        if now is None or metadata_of(now).get("uid") != uid:
            self.held.drop(str(uid))
        else:
            self.held.see(now, gone=False)

    def _was_refused(self, pod: Pod, error: ApiError) -> None:
        """Order nothing there, then try this pod again: admission may release it instead."""
        now_s, meta = self.monotonic_s(), metadata_of(pod)
        namespace = str(meta.get("namespace"))
        if self._namespaces.was_refused(namespace, now_s):
            self._refused_s = now_s
        self._not_before_s[str(meta.get("uid"))] = now_s + REFUSED_FOR_S
        self.metrics.failed.inc()
        announce(self.announcer, event_words.not_released(str(error)), pod)
        name = f"{namespace}/{meta.get('name')}"
        log.warning("a pod or Job may not be let go", name=name, error=str(error))
