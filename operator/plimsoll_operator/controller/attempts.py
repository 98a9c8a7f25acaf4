"""What happens when an attempt ends: observed, learned, and if too small, lifted and retried.

Every step can be repeated: a crash between any two of them is mended by seeing the pod
again. The order is what makes that true:

    pod ended ─► observation committed ─► lift committed ─► lift in the feed
                    └─► retry intended (committed) ─► pod created ─► intent closed

A step that finds its result in the store does nothing. The store's keys are the pod's UID
(observation, retry) and the run (lift), so two controllers cannot double one either.

Peaks come on another way, before the end or after it: an observation is committed with what is
known of them by then, and amended when more is known.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ParamSpec, TypeVar

import structlog

from plimsoll_operator.annotation import DecisionNote
from plimsoll_operator.attempt_metrics import sizes_of
from plimsoll_operator.controller.announcer import Announcer
from plimsoll_operator.controller.book import TaskBook
from plimsoll_operator.controller.item_needs import ItemNeeds
from plimsoll_operator.controller.learning import Learning
from plimsoll_operator.controller.nodes import ClusterNodes
from plimsoll_operator.controller.peak_book import PeakBook
from plimsoll_operator.controller.placement import Placed, Placement
from plimsoll_operator.controller.retries import Retries
from plimsoll_operator.controller.runtimes_seen import RunSightings
from plimsoll_operator.controller.standings import Standings
from plimsoll_operator.metrics import ControllerMetrics
from plimsoll_operator.observing import observe, with_peak
from plimsoll_operator.peaks import PeakReport
from plimsoll_operator.podstatus import AttemptStatus, Pod
from plimsoll_operator.reading import PodReading, read_pod
from plimsoll_operator.truth import Verdict, judge
from plimsoll_predictor.decision import Bounds
from plimsoll_predictor.documents import from_document
from plimsoll_predictor.experts.would import DECIDED
from plimsoll_predictor.knowledge import Lift
from plimsoll_predictor.lifting import FailedAttempt, Leaking, next_allocation
from plimsoll_predictor.policy import Mode
from plimsoll_predictor.record import Observation, Outcome
from plimsoll_predictor.store import Store, StoreError, Writer

log = structlog.get_logger()
P = ParamSpec("P")
T = TypeVar("T")

DONE_KEPT = 50_000
"""Ended attempts remembered so that repeated events cost nothing; older ones cost a query."""
MEASURED_KEPT = 5_000
"""Pods that ended lately, whose observations a late peak still amends; a restart, too, amends."""
READ_PAUSE_S = 1.0
"""After the store could not be read. Giving up would lose the event: nobody sends it again."""


@dataclass(frozen=True, slots=True)
class Ended:
    """One ended attempt, with all that was read of it."""

    pod: Pod
    reading: PodReading
    status: AttemptStatus
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Measured:
    """An observation as it was recorded, and whose peaks may amend it."""

    observation: Observation
    container_id: str | None
    containers: int


@dataclass(frozen=True, slots=True)
class Tools:
    """What the ledger acts with."""

    store: Store
    writer: Writer
    book: TaskBook
    peaks: PeakBook
    learning: Learning
    standings: Standings
    sightings: RunSightings
    items: ItemNeeds
    retries: Retries
    announcer: Announcer
    bounds: Callable[[str], Bounds]
    """The cluster's bounds in a namespace."""
    nodes: ClusterNodes
    metrics: ControllerMetrics
    now_s: Callable[[], float]


class AttemptLedger:
    """Sees pods, one event at a time per pod; kopf keeps each pod's events in order."""

    def __init__(self, tools: Tools) -> None:
        self._with = tools
        self._placement = Placement(tools.nodes)
        self._done: OrderedDict[str, None] = OrderedDict()
        self._sized: OrderedDict[str, None] = OrderedDict()
        self._unmet: OrderedDict[str, None] = OrderedDict()
        self._measured: OrderedDict[str, dict[str, Measured]] = OrderedDict()
        """Pod UID -> attempt UID -> what was recorded."""
        self._late: dict[str, None] = {}
        self._news = asyncio.Event()

    async def see(self, pod: Pod, *, gone: bool) -> None:
        """One event of a labelled pod. ``gone``: it was deleted from the API server."""
        reading = read_pod(pod, self._with.book.look)
        if reading is None:
            return
        if reading.mode is not Mode.OFF and self._met(pod, reading):
            for status in reading.lives:
                await self._see_life(pod, reading, status, gone=gone)
        if gone:
            self._placement.end(reading.status.uid)

    def peak_came(self, pod_uid: str) -> None:
        """A final report came; if its pod's observation is written already, amend it."""
        if pod_uid in self._measured:
            self._late[pod_uid] = None
            self._news.set()

    async def run(self) -> None:
        """Amend observations whose peaks came late, until cancelled."""
        while True:
            await self._news.wait()
            self._news.clear()
            while self._late:
                pod_uid = next(iter(self._late))
                del self._late[pod_uid]
                await self._amend(pod_uid)

    def _met(self, pod: Pod, reading: PodReading) -> bool:
        if self._with.learning.meet(reading.task):
            return True
        if _first_time(self._unmet, reading.status.uid):
            self._with.announcer.crowded(pod, self._with.book.most_tasks)
        return False

    async def _see_life(
        self, pod: Pod, reading: PodReading, status: AttemptStatus, *, gone: bool
    ) -> None:
        verdict = judge(status, reading.limit_bytes, self._kernel_peak_after(reading, status))
        if verdict is None and gone and status.started_s is not None:
            verdict = Verdict(Outcome.DELETED, "deleted before it ended")
        if verdict is None:
            await self._live(pod, reading, status)
            return
        if status.attempt_uid in self._done:
            return
        if await self._end(Ended(pod, reading, status, verdict)):
            _first_time(self._done, status.attempt_uid)

    async def _live(self, pod: Pod, reading: PodReading, status: AttemptStatus) -> None:
        self._place(reading, status)
        await self._with.sightings.living(pod, reading.task, status)
        if reading.note is not None and _first_time(self._sized, status.uid):
            attempt = reading.attempt
            bids = await self._with.standings.bids(
                reading.task, attempt.request_bytes, attempt.features
            )
            bids = {**bids, **_recommended(reading.note)}
            await self._with.announcer.sized(pod, reading.task, reading.note, bids)
            self._with.learning.note(reading.task)

    def _place(self, reading: PodReading, status: AttemptStatus) -> None:
        now_s = self._with.now_s()
        if status.node is not None and status.started_s is not None:
            size = reading.limit_bytes or reading.attempt.request_bytes or 0
            placed = Placed(reading.task, size, reading.cpu_request)
            self._placement.start(status.uid, status.node, placed, now_s - status.started_s)
        elif status.submitted_s is not None:
            self._placement.wait(status.uid, now_s - status.submitted_s)

    async def _end(self, ended: Ended) -> bool:
        """Whether all is done; False if the pod must be looked at again."""
        status, outcome = ended.status, ended.verdict.outcome
        surroundings = self._placement.end(status.uid)
        node_type = self._with.nodes.type_of(status.node)
        attempt = replace(ended.reading.attempt, node_type=node_type)
        observation = observe(attempt, status, outcome, await self._peak(ended), surroundings)
        kept = await self._with.writer.record(observation)
        # Nothing may come in between: what is added up from the store counts it from here on.
        self._with.learning.learn(observation, kept)
        self._with.standings.news()
        self._with.sightings.ended()
        self._expect_peaks(ended, observation)
        if kept.new or kept.learned:  # not those met again after a restart: others came since
            self._with.items.learn(observation)
        if kept.new:
            self._tell(ended, observation)
        if outcome is Outcome.OOM_KILLED:
            return await self._oom_killed(ended, observation)
        if outcome is Outcome.SUCCEEDED:
            await self._succeeded(ended, observation)
        return True

    def _tell(self, ended: Ended, observation: Observation) -> None:
        log.info(
            "attempt ended",
            task=str(observation.task),
            run=observation.run,
            attempt=observation.attempt,
            outcome=observation.outcome.value,
            why=ended.verdict.why,
            allocation_bytes=observation.allocation_bytes,
            peak_bytes=observation.peak_bytes,
        )
        sizes = sizes_of(observation, ended.reading.mode, ended.reading.note)
        self._with.metrics.attempts.ended(observation, sizes)

    async def _succeeded(self, ended: Ended, observation: Observation) -> None:
        task, run = observation.task, observation.run
        # Without a note nobody knows which attempt it was: then the run is over.
        attempt = observation.attempt if ended.reading.note is not None else None
        if self._with.book.settle(task, run, attempt):
            await self._with.writer.call(self._with.store.lifts.close, task, run)

    async def _oom_killed(self, ended: Ended, observation: Observation) -> bool:
        if ended.reading.mode is not Mode.ENFORCE or ended.status.phase == "Succeeded":
            return True  # a child was killed, the pod got through: nobody makes a next attempt
        if self._with.book.pauses(ended.reading.task):
            await self._with.retries.pass_over(ended.pod, ended.status)
            return True
        if await self._read(self._with.store.observations.got_through, observation):
            return True  # seen late, or again after a restart: the run succeeded meanwhile
        lift = await self._lift(ended, observation)
        if lift is None:
            return True
        return await self._with.retries.follow(ended.pod, ended.reading, ended.status, lift)

    async def _lift(self, ended: Ended, observation: Observation) -> Lift | None:
        task, run = observation.task, observation.run
        assert observation.allocation_bytes is not None
        known = self._with.book.get(task)
        lift = known.lifts.get(run)
        if lift is not None and _lifts_over(lift, observation):
            return lift
        answer = next_allocation(
            FailedAttempt(
                allocation_bytes=observation.allocation_bytes,
                attempt=observation.attempt,
                request_bytes=observation.request_bytes,
            ),
            known,
            self._with.bounds(task.namespace),
        )
        if isinstance(answer, Leaking):
            self._with.learning.leaking(observation, answer.reason)
            self._with.announcer.leaking(ended.pod, observation, answer.reason)
            return None
        await self._with.writer.call(self._with.store.lifts.put, task, run, answer)
        self._with.book.lift(task, run, answer)
        self._with.metrics.lifts.inc()
        self._with.announcer.lifted(ended.pod, observation, answer)
        return answer

    async def _peak(self, ended: Ended) -> PeakReport | None:
        """The best report so far: from memory, else (after a restart) from the store."""
        reading, status = ended.reading, ended.status
        best = self._with.peaks.best(status.uid, status.container_id, reading.attempt.containers)
        if best is not None:
            return best
        stored = await self._read(self._with.store.peaks.of_pod, status.uid)
        if not stored:
            return None
        self._with.peaks.add(from_document(list[PeakReport], stored, "the stored peaks"))
        return self._with.peaks.best(status.uid, status.container_id, reading.attempt.containers)

    def _expect_peaks(self, ended: Ended, observation: Observation) -> None:
        """A pod's cgroup outlives its containers, so its last report comes after their end."""
        status = ended.status
        lives = self._measured.setdefault(status.uid, {})
        lives[status.attempt_uid] = Measured(
            observation, status.container_id, ended.reading.attempt.containers
        )
        self._measured.move_to_end(status.uid)
        if len(self._measured) > MEASURED_KEPT:
            self._measured.popitem(last=False)
        if self._with.peaks.final(status.uid):
            self.peak_came(status.uid)

    async def _amend(self, pod_uid: str) -> None:
        lives = self._measured.get(pod_uid, {})
        for attempt_uid, life in list(lives.items()):
            peak = self._with.peaks.best(pod_uid, life.container_id, life.containers)
            if peak is None:
                continue
            observation = with_peak(life.observation, peak)
            if observation == life.observation:
                continue
            kept = await self._with.writer.record(observation)
            self._with.learning.learn(observation, kept)
            self._with.standings.news()
            self._with.items.learn(observation)
            self._with.metrics.attempts.measured(observation)
            lives[attempt_uid] = Measured(observation, life.container_id, life.containers)

    def _kernel_peak_after(self, reading: PodReading, status: AttemptStatus) -> int | None:
        """The kernel's own peak, if it was read after the end: before, it may still have grown.

        Only the pod's cgroup is there to be read then; a container's goes with it.
        """
        best = self._with.peaks.best(status.uid, status.container_id, reading.attempt.containers)
        if best is None or not best.final or best.container_id or status.finished_s is None:
            return None
        # The API server keeps whole seconds of a time that has fractions.
        return best.kernel_peak_bytes if best.measured_s >= status.finished_s + 1 else None

    async def _read(self, method: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        while True:
            try:
                return await self._with.writer.read(method, *args, **kwargs)
            except StoreError as error:
                log.warning("the store cannot be read, waiting", error=str(error))
                await asyncio.sleep(READ_PAUSE_S)


def _recommended(note: DecisionNote) -> dict[str, float]:
    """What recommend mode decided and did not do, to be counted once the run's need is known."""
    if note.mode is not Mode.RECOMMEND or note.allocation_bytes is None:
        return {}
    return {DECIDED: float(note.allocation_bytes)}


def _lifts_over(lift: Lift, killed: Observation) -> bool:
    """Whether the run's lift is beyond this attempt; pods that share a run differ in size."""
    return lift.attempt > killed.attempt and lift.allocation_bytes > (killed.allocation_bytes or 0)


def _first_time(seen: OrderedDict[str, None], key: str) -> bool:
    if key in seen:
        return False
    seen[key] = None
    if len(seen) > DONE_KEPT:
        seen.popitem(last=False)
    return True
