"""Tells people: Events on pods, and the decisions kept for a profile's status.

Best effort, and never in the way: a queue with one sender, bounded; what does not fit is
counted and dropped, because an Event is a comfort and an observation is not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import structlog

from plimsoll_operator.controller.announcing.events_budget import EventsBudget
from plimsoll_operator.controller.hub.hub import RanLong
from plimsoll_operator.kube.client import Kube
from plimsoll_operator.kube.errors import AlreadyThere, ApiError, NotFound, Unreachable
from plimsoll_operator.pods.identity import identify
from plimsoll_operator.pods.spec import Pod
from plimsoll_operator.pods.status import read_time
from plimsoll_operator.profile import events
from plimsoll_operator.sizing.decision_note import DecisionNote
from plimsoll_predictor.core.policy import Mode
from plimsoll_predictor.core.record import Observation
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import words_for_bytes
from plimsoll_predictor.knowledge.knowledge import Lift
from plimsoll_predictor.store import DecisionRecord, Writer

log = structlog.get_logger()

MAX_QUEUED = 10_000
TRIES = 5


class Announcer:
    """Queues Events and sends them one after another."""

    def __init__(
        self, kube: Kube, writer: Writer, now_s: Callable[[], float], instance: str
    ) -> None:
        self._kube = kube
        self._writer = writer
        self._now_s = now_s
        self._instance = instance
        self._queue: asyncio.Queue[tuple[events.Happening, events.Regarding]] = asyncio.Queue(
            MAX_QUEUED
        )
        self._budget = EventsBudget()
        self._hushed: dict[TaskId | None, None] = {}
        self.dropped = 0
        self.suppressed = 0
        self.sent = 0

    @property
    def results(self) -> Mapping[str, int]:
        """How many Events, by what became of them."""
        return {
            "sent": self.sent,
            "dropped": self.dropped,
            "suppressed": self.suppressed,
        }

    async def run(self) -> None:
        """Send what is queued, until cancelled."""
        while True:
            happening, regarding = await self._queue.get()
            await self._send(happening, regarding)

    async def sized(
        self, pod: Pod, task: TaskId, note: DecisionNote, bids: Mapping[str, float]
    ) -> None:
        """A pod got its size at admission, or would have in recommend mode.

        bids: what each expert would have given it.
        """
        meta = pod["metadata"]
        await self._writer.decide(
            DecisionRecord(
                task=task,
                attempt_uid=str(meta["uid"]),
                # Not now: after a restart, running pods are seen again.
                at_s=read_time(meta.get("creationTimestamp")) or self._now_s(),
                words=f"{meta['name']}: {_sizes(note)}: {note.why}",
                allocation_bytes=note.allocation_bytes,
                request_bytes=note.was_request_bytes,
                reason=note.reason.value,
            ),
            bids,
        )
        if note.mode is Mode.ENFORCE and note.allocation_bytes is not None:
            happening = events.sized(note.allocation_bytes, note.was_request_bytes, note.why)
            self._tell(happening, pod)

    async def resized(self, pod: Pod, task: TaskId, note: DecisionNote) -> None:
        """A pod that waits for a node got another size; this decision replaces admission's."""
        meta = pod["metadata"]
        assert note.allocation_bytes is not None
        happening = events.resized(note.before_bytes, note.allocation_bytes, note.why)
        await self._writer.decide(
            DecisionRecord(
                task=task,
                attempt_uid=str(meta["uid"]),
                at_s=self._now_s(),
                words=f"{meta['name']}: {happening.note}",
                allocation_bytes=note.allocation_bytes,
                request_bytes=note.was_request_bytes,
                reason=note.reason.value,
            ),
        )
        self._tell(happening, pod)

    def lifted(self, pod: Pod, observation: Observation, lift: Lift) -> None:
        """A pod was OOM-killed; its run's next attempt gets more."""
        before = observation.allocation_bytes or lift.after_bytes
        self._tell(events.lifted(before, lift.allocation_bytes, lift.attempt), pod)

    def retried(self, pod: Pod, new_pod: str, lift_attempt: int, allocation_bytes: int) -> None:
        """Plimsoll made the next attempt of ``pod``."""
        self._tell(events.retried(new_pod, lift_attempt, allocation_bytes), pod)

    def leaking(self, pod: Pod, observation: Observation, why: str) -> None:
        """No further lift for this run."""
        self._tell(events.leaking(why, observation.run), pod)

    def replaced(self, pod: Pod) -> None:
        """A pod that would be restarted at its old size was deleted, for its owner to replace."""
        self._tell(events.replaced(), pod)

    def stuck(self, pod: Pod) -> None:
        """A pod is restarted at its old size and nobody would replace it."""
        self._tell(events.stuck(), pod)

    def crowded(self, pod: Pod, most: int) -> None:
        """A pod's task is one more than a namespace may have."""
        self._tell(events.crowded(most), pod)

    def running_long(self, event: RanLong) -> None:
        """A run takes longer than nearly all like it."""
        self.tell(events.running_long(event.words, event.attempt_uid), event.pod, event.task)

    def tell(
        self, happening: events.Happening, regarding: events.Regarding, task: TaskId | None = None
    ) -> None:
        """Queue an Event; it is not told if there are too many (see ``events_budget``).

        task: whose object it is; None for none's.
        """
        now_s = asyncio.get_running_loop().time()
        # Of one reason each: sizes of a batch must not use up what its kills are told with.
        share = None if task is None else f"{task} {happening.reason}"
        if not self._budget.takes(regarding.uid, share, now_s):
            self._hush(happening, task)
            return
        self._hushed.pop(task, None)
        try:
            self._queue.put_nowait((happening, regarding))
        except asyncio.QueueFull:
            self.dropped += 1

    def _tell(self, happening: events.Happening, pod: Pod) -> None:
        meta = pod["metadata"]
        regarding = events.Regarding(
            kind="Pod",
            namespace=str(meta["namespace"]),
            name=str(meta["name"]),
            uid=str(meta["uid"]),
        )
        identity = identify(pod)
        self.tell(happening, regarding, identity.task if identity else None)

    def _hush(self, happening: events.Happening, task: TaskId | None) -> None:
        """Count what is not told; the first of a flood is logged, not all of it."""
        self.suppressed += 1
        if task not in self._hushed:
            log.warning("too many Events, some are not told", task=str(task), of=happening.reason)
            self._hushed[task] = None
            if len(self._hushed) > MAX_QUEUED:
                self._hushed.pop(next(iter(self._hushed)))

    async def _send(self, happening: events.Happening, regarding: events.Regarding) -> None:
        manifest = events.event_for(
            happening, regarding, at_s=self._now_s(), instance=self._instance
        )
        for attempt in range(TRIES):
            try:
                await self._kube.create_event(manifest)
            except (AlreadyThere, NotFound):
                return
            except Unreachable:
                await asyncio.sleep(2.0**attempt)
            except ApiError as error:
                log.warning("event refused", name=manifest["metadata"]["name"], error=str(error))
                self.dropped += 1
                return
            else:
                self.sent += 1
                return
        self.dropped += 1


def _sizes(note: DecisionNote) -> str:
    before = (
        "no request" if note.was_request_bytes is None else words_for_bytes(note.was_request_bytes)
    )
    if note.allocation_bytes is None or note.allocation_bytes == note.was_request_bytes:
        return before
    arrow = "→" if note.mode is Mode.ENFORCE else "would be →"
    return f"{before} {arrow} {words_for_bytes(note.allocation_bytes)}"
