"""An attempt that ends is observed and published. If it was too small, it is lifted and retried.

Every step can be repeated: after a crash between two of them, the pod is seen again and the
missing steps follow. The order of the steps makes that true:

    pod ended ─► observation committed ─► lift committed ─► lift in the feed
                    └─► retry intended (committed) ─► killed pod is there ─► pod created
                                                ─► killed pod marked ─► intent closed

An end is taken up once the pod's state tells why it came (``over.waits_for_its_reason``): one
written a second too early would stay a success, or a failure by itself, for good. Until then it is
kept as it was seen (``passed_over.py``).

A step that finds its result in the store does nothing. The store's keys are the pod's UID
(observation, retry) and the run (lift, with the time of the latest kill), so two controllers cannot
double one either. The mark on the killed pod outlives a store that was restored from a backup.

Peaks come separately, before the end or after it. An observation is committed with the peaks known
by then, and amended when more is known (``late_peaks``).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

import structlog

from plimsoll_operator.attempts.observation import observe
from plimsoll_operator.attempts.peaks import PeakReport, within_sandbox
from plimsoll_operator.attempts.truth_table import AttemptEnd, Readings, judge
from plimsoll_operator.attempts.watched_pod import WatchedPod, read_pod
from plimsoll_operator.controller.attempts.lifts import Lifts
from plimsoll_operator.controller.attempts.living import LivingAttempts, Placement
from plimsoll_operator.controller.attempts.passed_over import PassedOver
from plimsoll_operator.controller.attempts.peak_book import PeakBook
from plimsoll_operator.controller.hub.habits import FirstTimes, KeyedLocks, read_patiently
from plimsoll_operator.controller.hub.hub import AttemptEnded, Hub
from plimsoll_operator.controller.placing.encounters import Encounters
from plimsoll_operator.controller.placing.node_loads import NodeLoads, NodeUsed
from plimsoll_operator.controller.profiles.profiles import MetTasks
from plimsoll_operator.controller.tasks.book import TaskBook
from plimsoll_operator.controller.tasks.nodes import ClusterNodes
from plimsoll_operator.pods.engines.row import Executions
from plimsoll_operator.pods.identity import Retrier
from plimsoll_operator.pods.spec import Pod
from plimsoll_operator.pods.status import AttemptStatus, read_status
from plimsoll_predictor.core.documents import from_document
from plimsoll_predictor.core.policy import Mode
from plimsoll_predictor.core.record import Cause, Observation, Outcome
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.placing.stays import with_unlabelled
from plimsoll_predictor.store import Novelty, Store, Writer

log = structlog.get_logger()
GONE: Final = AttemptEnd(Outcome.DELETED, "deleted before it ended", Cause.DELETED)
UNRECORDED: Final = Novelty(new=False, learned=False)


@dataclass(slots=True, kw_only=True)
class AttemptLedger:
    """Sees pods, one event at a time per pod; kopf keeps each pod's events in order."""

    store: Store
    writer: Writer
    hub: Hub
    book: TaskBook
    met_tasks: MetTasks
    living: LivingAttempts
    peaks: PeakBook
    placement: Placement
    encounters: Encounters
    loads: NodeLoads
    nodes: ClusterNodes
    lifts: Lifts
    _done: FirstTimes = field(init=False, default_factory=FirstTimes)
    """Ended attempts whose repeated events cost nothing; those of older attempts cost a query."""
    _given_back: FirstTimes = field(init=False, default_factory=FirstTimes)
    """The same for tasks that are switched off; they are observed once they are switched on."""
    _passed_over: PassedOver = field(init=False, default_factory=PassedOver)
    _turns: KeyedLocks[tuple[TaskId, str]] = field(init=False, default_factory=KeyedLocks)

    async def see(self, pod: Pod, *, gone: bool) -> None:
        """Handle one event of a labelled pod. gone: it was deleted from the API server."""
        watched = read_pod(pod, self.book.look)
        if watched is None:
            if gone:
                await self._gone_unread(pod)
            return
        watched = self._passed_over.recalled(watched)
        if watched.mode is not Mode.OFF and self.met_tasks.meet(pod, watched.task):
            for status in watched.lives:
                self.living.sightings.see(status.attempt_uid)
                await self._see_life(pod, watched, status, gone=gone)
        else:
            await self._see_unobserved(pod, watched, gone=gone)
        if gone:
            self._gone(watched.status)

    async def _gone_unread(self, pod: Pod) -> None:
        """Forget a pod that is gone and cannot be read: its end is not observed.

        Of a large pod that went while no watch looked, only the name and the node are known.
        """
        attempt_uid = self._gone(read_status(pod, container=""))
        await self.living.gone_unread(attempt_uid)

    def _gone(self, status: AttemptStatus) -> str:
        """Forget a pod that was deleted. Return its attempt that was seen running last."""
        attempt_uid = self._runs_no_more(status)
        self.loads.gone(status)
        self.living.needs.gone(status.uid)
        self._passed_over.gone(status.uid)
        return attempt_uid

    async def _see_unobserved(self, pod: Pod, watched: WatchedPod, *, gone: bool) -> None:
        """Handle a pod whose task is switched off: it is among the pods of no task from now on."""
        if watched.mode is Mode.OFF and watched.has_less and watched.task in self.book:
            for status in watched.lives:
                if gone or not self._passed_over.passes(pod, watched, status):
                    await self._see_life_unobserved(pod, watched, status)
        # Nobody would see its end, and it must not count as running for ever.
        self._runs_no_more(watched.status)
        self.loads.is_no_task(watched.status)
        await self.living.gone(watched.task, watched.status)

    def _runs_no_more(self, status: AttemptStatus) -> str:
        self.placement.end(status.uid)
        return self.encounters.gone(status)

    async def _see_life(
        self, pod: Pod, watched: WatchedPod, status: AttemptStatus, *, gone: bool
    ) -> None:
        if not gone and self._passed_over.passes(pod, watched, status):
            return  # what was noted when it started stays noted
        end = judge(status, watched.limit_bytes)
        if end is None and gone and status.started_s is not None:
            end = GONE
        if end is None and gone:
            await self.living.gone(watched.task, status)
        elif end is None:
            await self.living.see(pod, watched, status)
        elif status.attempt_uid not in self._done and await self._ended(pod, watched, status, end):
            self._done.add(status.attempt_uid)
            self._passed_over.judged(status)

    async def _see_life_unobserved(
        self, pod: Pod, watched: WatchedPod, status: AttemptStatus
    ) -> None:
        """Give a run its written memory again, if it was lowered before its task was switched off.

        Nothing else is done in this mode: nothing is recorded, counted or learned.
        """
        end = judge(status, watched.limit_bytes)
        if end is None or status.attempt_uid in self._given_back:
            return
        watched = await self._as_it_ran(watched, status)
        had_less, _ = await self._judged(watched, status, end)
        ended = AttemptEnded(had_less, UNRECORDED, pod, watched, status)
        if await self.lifts.follow(ended):
            self._given_back.add(status.attempt_uid)
            self._passed_over.judged(status)

    async def look_again(self, ended: AttemptEnded) -> None:
        """Judge an end again, because a late reading says more about it."""
        if not await self._ended(ended.pod, ended.watched, ended.status, GONE):
            self._done.discard(ended.status.attempt_uid)

    async def _ended(
        self, pod: Pod, watched: WatchedPod, status: AttemptStatus, unread: AttemptEnd
    ) -> bool:
        """Record an end and act on it; False if the pod must be seen again.

        unread: how it ended, if its status alone does not say so.
        """
        watched = await self._as_it_ran(watched, status)
        observation, why = await self._judged(watched, status, unread)
        observation, novelty = await self._recorded(observation, watched)
        # Nothing may come in between: from here on, sums over the store count this observation.
        ended = AttemptEnded(observation, novelty, pod, watched, status)
        self.hub.publish(ended)
        if novelty.new or novelty.revised:
            _log(observation, why)
        return await self.lifts.follow(ended) and not _waits_for_its_phase(ended)

    async def _recorded(
        self, observation: Observation, watched: WatchedPod
    ) -> tuple[Observation, Novelty]:
        """Record an observation; return it with its run, which may be one of several of its key."""
        if watched.executions is Executions.ONE:
            return observation, await self.writer.record(observation)
        records, in_turn = self.store.observations, watched.executions is Executions.IN_TURN
        found = records.run_in_turn if in_turn else records.run_at_once
        # Two first successes would be one run.
        async with self._turns.of((observation.task, observation.run)):
            run = await read_patiently(self.writer, found, observation)
            observation = replace(observation, run=run)
            return observation, await self.writer.record(observation)

    async def _judged(
        self, watched: WatchedPod, status: AttemptStatus, unread: AttemptEnd
    ) -> tuple[Observation, str]:
        """Return the observation of an end, and the reason of the end in words."""
        final_kernel_bytes = self._kernel_peak_after(watched, status)
        peak = await self._peak(watched, status)
        readings = Readings(
            final_kernel_bytes=final_kernel_bytes,
            seen_bytes=None if peak is None else peak.need_peak_bytes,
        )
        end = judge(status, watched.limit_bytes, readings) or unread
        surroundings = self.placement.end(status.uid)
        beside = self.encounters.ended(watched.task, status)
        attempt = replace(watched.attempt, node_type=self.nodes.type_of(status.node))
        observation = observe(attempt, status, end, peak, surroundings)
        observation = replace(observation, beside=beside)
        return _among_load(observation, self.loads.ended(status)), end.why

    async def _as_it_ran(self, watched: WatchedPod, status: AttemptStatus) -> WatchedPod:
        """Return the pod with the limit that the kernel enforced at this end."""
        if not status.ended or watched.raised_bytes is None:
            return watched
        best = await self._peak(watched, status)
        own = self.peaks.of_container(status.uid, watched.measured_container(status))
        return watched.as_it_ran(own, best)

    async def _peak(self, watched: WatchedPod, status: AttemptStatus) -> PeakReport | None:
        """Return the best report so far: from memory, else (after a restart) from the store."""
        best = self._best_peak(watched, status)
        if best is None:
            stored = await read_patiently(self.writer, self.store.peaks.of_pod, status.uid)
            self.peaks.add(from_document(list[PeakReport], stored, "the stored peaks"))
            best = self._best_peak(watched, status)
        return best

    def _kernel_peak_after(self, watched: WatchedPod, status: AttemptStatus) -> int | None:
        """Return the kernel's own peak, if it was read after the end and can grow no more.

        Only the pod's cgroup can be read then; a container's cgroup goes with the container.
        """
        best = self._best_peak(watched, status)
        if best is None or not best.final or best.container_id or status.finished_s is None:
            return None
        # The API server cuts times to whole seconds.
        return best.kernel_peak_bytes if best.measured_s >= status.finished_s + 1 else None

    def _best_peak(self, watched: WatchedPod, status: AttemptStatus) -> PeakReport | None:
        measured = watched.measured_container(status)
        best = self.peaks.best(status.uid, measured, watched.attempt.containers)
        return within_sandbox(best, watched.sandbox_limit_bytes)


def _waits_for_its_phase(ended: AttemptEnded) -> bool:
    """Say whether a late reading may explain the end, and the pod is not known to be over.

    Only the phase lets such a pod be tried again, and its event may be the pod's last.
    """
    if ended.watched.retrier is not Retrier.PLIMSOLL or ended.status.has_final_phase:
        return False
    return ended.observation.cause is Cause.KILLED


def _among_load(observation: Observation, used: NodeUsed | None) -> Observation:
    """Add the load of its node, if the node's agent was heard at the start."""
    if used is None:
        return observation
    beside = observation.beside
    return replace(
        observation,
        # If not all of its time was seen, its neighbours are unknown.
        beside=None if beside is None else with_unlabelled(beside, used.unlabelled_cores),
        node_use_cpu_share=used.cpu_share,
        node_use_memory_share=used.memory_share,
    )


def _log(observation: Observation, why: str) -> None:
    log.info(
        "attempt ended",
        task=str(observation.task),
        run=observation.run,
        attempt=observation.attempt,
        outcome=observation.outcome.value,
        cause=observation.cause.value if observation.cause else None,
        why=why,
        allocation_bytes=observation.allocation_bytes,
        peak_bytes=observation.peak_bytes,
    )
