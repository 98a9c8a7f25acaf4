"""What happens when an attempt ends: observed, learned, and if too small, lifted and retried.

Every step can be repeated: a crash between any two of them is mended by seeing the pod
again. The order is what makes that true:

    pod ended ─► observation committed ─► lift committed ─► lift in the feed
                    └─► retry intended (committed) ─► pod created ─► intent closed

A step that finds its result in the store does nothing. The store's keys are the pod's UID
(observation, retry) and the run (lift), so two controllers cannot double one either.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from plimsoll_operator.controller.announcer import Announcer
from plimsoll_operator.controller.book import TaskBook
from plimsoll_operator.controller.learning import Learning
from plimsoll_operator.controller.peak_book import PeakBook
from plimsoll_operator.controller.placement import Placed, Placement
from plimsoll_operator.controller.retries import Retries
from plimsoll_operator.identity import Retrier
from plimsoll_operator.metrics import ControllerMetrics
from plimsoll_operator.observing import Surroundings, observe
from plimsoll_operator.peaks import PeakReport
from plimsoll_operator.podstatus import AttemptStatus, Pod
from plimsoll_operator.reading import PodReading, read_pod
from plimsoll_operator.truth import Verdict, judge
from plimsoll_predictor.decision import Bounds
from plimsoll_predictor.knowledge import Lift
from plimsoll_predictor.lifting import FailedAttempt, Leaking, next_allocation
from plimsoll_predictor.policy import Mode
from plimsoll_predictor.record import Observation, Outcome
from plimsoll_predictor.store import Store, Writer

log = structlog.get_logger()

FINAL_PEAK_WAIT_S = 6.0
"""A pod's cgroup outlives its containers by 2-3 s, and the agent looks once a second."""
DONE_KEPT = 50_000
"""Ended attempts remembered so that repeated events cost nothing; older ones cost a query."""


@dataclass(frozen=True, slots=True)
class Ended:
    """One ended attempt, with all that was read of it."""

    pod: Pod
    reading: PodReading
    status: AttemptStatus
    verdict: Verdict
    surroundings: Surroundings | None


@dataclass(frozen=True, slots=True)
class Tools:
    """What the ledger acts with."""

    store: Store
    writer: Writer
    book: TaskBook
    peaks: PeakBook
    learning: Learning
    retries: Retries
    announcer: Announcer
    bounds: Callable[[str], Bounds]
    """The cluster's bounds in a namespace."""
    metrics: ControllerMetrics
    now_s: Callable[[], float]


class AttemptLedger:
    """Sees pods, one event at a time per pod; kopf keeps each pod's events in order."""

    def __init__(self, tools: Tools) -> None:
        self._with = tools
        self._placement = Placement()
        self._done: OrderedDict[str, None] = OrderedDict()
        self._sized: OrderedDict[str, None] = OrderedDict()

    async def see(self, pod: Pod, *, gone: bool) -> None:
        """One event of a labelled pod. ``gone``: it was deleted from the API server."""
        reading = read_pod(pod, self._with.book.get)
        if reading is None or reading.mode is Mode.OFF:
            return
        self._with.learning.meet(reading.task)
        for status in reading.lives:
            verdict = judge(status, reading.limit_bytes, self._final_kernel_peak(reading, status))
            if verdict is None and gone and status.started_s is not None:
                verdict = Verdict(Outcome.DELETED, "deleted before it ended")
            if verdict is not None:
                await self._end(pod, reading, status, verdict)
            else:
                await self._live(pod, reading, status)
        if gone:
            self._placement.end(reading.status.uid, reading.status.node)

    async def _live(self, pod: Pod, reading: PodReading, status: AttemptStatus) -> None:
        if status.node is not None and status.started_s is not None:
            size = reading.limit_bytes or reading.attempt.request_bytes or 0
            self._placement.start(
                status.uid, status.node, Placed(reading.task, size, reading.cpu_request)
            )
        if reading.note is not None and _first_time(self._sized, status.uid):
            await self._with.announcer.sized(pod, reading.task, reading.note)
            self._with.learning.note(reading.task)

    async def _end(
        self, pod: Pod, reading: PodReading, status: AttemptStatus, verdict: Verdict
    ) -> None:
        if status.attempt_uid in self._done:
            return
        surroundings = self._placement.end(status.uid, status.node)
        ended = Ended(pod, reading, status, verdict, surroundings)
        observation = observe(
            reading.attempt, status, verdict.outcome, await self._peak(ended), surroundings
        )
        new = await self._with.writer.record(observation)
        log.info(
            "attempt ended",
            task=str(reading.task),
            run=observation.run,
            attempt=observation.attempt,
            outcome=verdict.outcome.value,
            why=verdict.why,
            allocation_bytes=observation.allocation_bytes,
            peak_bytes=observation.peak_bytes,
            new=new,
        )
        if new:
            self._with.metrics.attempts.labels(verdict.outcome.value).inc()
        if verdict.outcome is Outcome.OOM_KILLED:
            await self._oom_killed(ended, observation, new=new)
        elif verdict.outcome is Outcome.SUCCEEDED:
            await self._succeeded(ended, observation, new=new)
        else:
            self._with.learning.note(reading.task)
        if not _is_looked_at_again(reading, status, verdict):
            _first_time(self._done, status.attempt_uid)

    async def _succeeded(self, ended: Ended, observation: Observation, *, new: bool) -> None:
        task, run = observation.task, observation.run
        if self._with.book.settle(task, run):
            await self._with.writer.call(self._with.store.close_lift, task, run)
        peak = await self._settled_peak(ended)
        if peak is not None and peak.need_peak_bytes != observation.peak_bytes:
            observation = observe(
                ended.reading.attempt, ended.status, Outcome.SUCCEEDED, peak, ended.surroundings
            )
            await self._with.writer.record(observation)
        if new:
            self._with.learning.learn(observation)

    async def _oom_killed(self, ended: Ended, observation: Observation, *, new: bool) -> None:
        if new:
            self._with.learning.learn(observation)
        elif await self._with.writer.read(
            self._with.store.run_succeeded, observation.task, observation.run
        ):
            return  # seen again after a restart; the run got through meanwhile
        if ended.reading.mode is not Mode.ENFORCE:
            return
        lift = await self._lift(ended, observation)
        if lift is not None:
            await self._with.retries.follow(ended.pod, ended.reading, ended.status, lift)

    async def _lift(self, ended: Ended, observation: Observation) -> Lift | None:
        task, run = observation.task, observation.run
        known = self._with.book.get(task)
        lift = known.lifts.get(run)
        if lift is not None and lift.attempt > observation.attempt:
            return lift
        assert observation.allocation_bytes is not None
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
            self._with.learning.leaking(task, answer.reason)
            self._with.announcer.leaking(ended.pod, observation, answer.reason)
            return None
        await self._with.writer.call(self._with.store.put_lift, task, run, answer)
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
        stored = await self._with.writer.read(self._with.store.peaks, status.uid)
        if not stored:
            return None
        self._with.peaks.add([PeakReport.from_dict(each) for each in stored])
        return self._with.peaks.best(status.uid, status.container_id, reading.attempt.containers)

    async def _settled_peak(self, ended: Ended) -> PeakReport | None:
        """The peak once nothing can raise it: final, or late enough that none will come."""
        finished_s = ended.status.finished_s
        if finished_s is not None:
            until_s = finished_s + FINAL_PEAK_WAIT_S
            left_s = min(until_s - self._with.now_s(), FINAL_PEAK_WAIT_S)
            while left_s > 0 and not self._with.peaks.final(ended.status.uid):
                await asyncio.sleep(0.25)
                left_s -= 0.25
        return await self._peak(ended)

    def _final_kernel_peak(self, reading: PodReading, status: AttemptStatus) -> int | None:
        if not self._with.peaks.final(status.uid):
            return None
        best = self._with.peaks.best(status.uid, status.container_id, reading.attempt.containers)
        return best.kernel_peak_bytes if best else None


def _is_looked_at_again(reading: PodReading, status: AttemptStatus, verdict: Verdict) -> bool:
    """A kill is learned when the container ends; a bare pod is retried when the pod has failed.

    The kubelet shows the two in events of their own, and other containers may still run between.
    """
    return (
        verdict.outcome is Outcome.OOM_KILLED
        and reading.retrier is Retrier.PLIMSOLL
        and status.phase not in ("Succeeded", "Failed")
    )


def _first_time(seen: OrderedDict[str, None], key: str) -> bool:
    if key in seen:
        return False
    seen[key] = None
    if len(seen) > DONE_KEPT:
        seen.popitem(last=False)
    return True
