"""Tells people: sends Events on pods, and stores the decisions that a profile's status shows.

Events wait in a bounded queue for one sender, and delay nothing. Those that do not fit are counted
and dropped, because an Event is a comfort and an observation is not.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

import structlog

from plimsoll_operator.controller.announcing.events_budget import EventsBudget
from plimsoll_operator.controller.hub.hub import RanLong
from plimsoll_operator.kube.client import Kube
from plimsoll_operator.kube.errors import AlreadyThere, ApiError, NotFound, Unreachable
from plimsoll_operator.pods.identity import identify
from plimsoll_operator.pods.spec import Pod
from plimsoll_operator.pods.status import read_time
from plimsoll_operator.profile.event_manifests import event_for
from plimsoll_operator.sizing.decision_note import DecisionNote
from plimsoll_operator.wording import event_words
from plimsoll_predictor.core.decision import Reason
from plimsoll_predictor.core.policy import Mode
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import words_for_bytes
from plimsoll_predictor.store import DecisionRecord, Writer
from plimsoll_predictor.store.attempts.decisions import RESCUED, rescue_of

log = structlog.get_logger()

MAX_QUEUED = 10_000
TRIES = 5
TOLD_WITHIN_S: Final = 3600.0
"""Nothing older is told. The API server keeps Events for an hour: an earlier one may be gone, and a
controller that starts would tell the pasts of all pods again as news.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Raised:
    """A running attempt's limit, before its first raise and now.

    first_s: when it was first raised, Unix seconds; None if this is the first raise.
    """

    task: TaskId
    first_bytes: int
    limit_bytes: int
    first_s: float | None = None


class Announcer:
    """Queues Events and sends them one after another."""

    def __init__(
        self, kube: Kube, writer: Writer, now_s: Callable[[], float], instance: str
    ) -> None:
        self._kube = kube
        self._writer = writer
        self._now_s = now_s
        self._instance = instance
        self._queue: asyncio.Queue[tuple[event_words.Happening, event_words.Regarding]] = (
            asyncio.Queue(MAX_QUEUED)
        )
        self._budget = EventsBudget()
        self._hushed: dict[TaskId | None, None] = {}
        self.results = Counter({"sent": 0, "dropped": 0, "suppressed": 0})
        """How many Events were sent, did not fit or were refused, and were over the budget."""

    async def run(self) -> None:
        """Send what is queued, until cancelled."""
        while True:
            happening, regarding = await self._queue.get()
            await self._send(happening, regarding)

    async def sized(
        self, pod: Pod, task: TaskId, note: DecisionNote, bids: Mapping[str, float]
    ) -> None:
        """Announce a pod's size: that of admission, or the one recommended.

        bids: what each expert would have given it.
        """
        # The present time would be wrong: after a restart, running pods are seen again.
        at_s = read_time(pod["metadata"].get("creationTimestamp")) or self._now_s()
        record = _record(pod, task, note, at_s, f"{_sizes(note)}: {note.why}")
        await self._writer.decide(replace(record, bids=bids))
        if note.mode is Mode.ENFORCE and note.allocation_bytes is not None:
            happening = event_words.sized(note.allocation_bytes, note.was_request_bytes, note.why)
            self.announce(event_words.at(happening, at_s), pod)
        elif note.reason is Reason.LEFT:
            self.announce(event_words.at(event_words.stepped_back(note.why), at_s), pod)

    async def resized(
        self, pod: Pod, task: TaskId, note: DecisionNote, cpu_given_back: str | None = None
    ) -> None:
        """Announce a waiting pod's new size; its decision replaces admission's.

        cpu_given_back: why it requests the CPU that its author wrote again; None if it does not.
        """
        happenings = []
        if cpu_given_back is not None and (cpu := note.cpu) is not None:
            millicores = cpu.request_millicores, cpu.was_millicores
            happenings.append(event_words.cpu_given_back(*millicores, cpu_given_back))
        size_bytes = note.allocation_bytes
        resized = note.mode is Mode.ENFORCE and size_bytes != note.before_bytes
        if size_bytes is not None and (resized or not happenings):
            happenings.append(event_words.resized(note.before_bytes, size_bytes, note.why))
        words = "; ".join(each.note for each in happenings)
        await self._writer.decide(_record(pod, task, note, self._now_s(), words))
        for each in happenings:
            self.announce(each, pod)

    async def rescued(self, pod: Pod, happening: event_words.Happening, raised: Raised) -> None:
        """Announce that a running pod was given more; the pod's first decision is kept, too."""
        self.tell(happening, event_words.Regarding.of(pod), raised.task)
        meta = pod["metadata"]
        await self._writer.decide(
            DecisionRecord(
                task=raised.task,
                attempt_uid=rescue_of(str(meta["uid"])),
                at_s=raised.first_s or self._now_s(),
                words=f"{meta['name']}: {happening.note}",
                allocation_bytes=raised.limit_bytes,
                request_bytes=raised.first_bytes,
                reason=RESCUED,
            )
        )

    def announce(self, happening: event_words.Happening, pod: Pod) -> None:
        """Queue an Event about a pod."""
        identity = identify(pod)
        self.tell(happening, event_words.Regarding.of(pod), identity.task if identity else None)

    def running_long(self, event: RanLong) -> None:
        """Announce a run that takes longer than nearly all runs like it."""
        self.tell(event_words.running_long(event.words, event.attempt_uid), event.pod, event.task)

    def tell(
        self,
        happening: event_words.Happening,
        regarding: event_words.Regarding,
        task: TaskId | None = None,
    ) -> None:
        """Queue an Event, unless it is old or there are too many (see ``events_budget``).

        task: the task of the object; None if it has none.
        """
        if happening.at_s is not None and self._now_s() - happening.at_s > TOLD_WITHIN_S:
            return
        now_s = asyncio.get_running_loop().time()
        # Each reason has its own share: a batch's sizes must not use up the share of its kills.
        share = None if task is None else f"{task} {happening.reason}"
        if not self._budget.takes(regarding.uid, share, now_s):
            self._hush(happening, task)
            return
        self._hushed.pop(task, None)
        try:
            self._queue.put_nowait((event_words.done(happening, self._now_s()), regarding))
        except asyncio.QueueFull:
            self.results["dropped"] += 1

    def _hush(self, happening: event_words.Happening, task: TaskId | None) -> None:
        """Count an Event that is not sent; only the first of a flood is logged."""
        self.results["suppressed"] += 1
        if task not in self._hushed:
            log.warning(
                "too many Events, some are not written", task=str(task), of=happening.reason
            )
            self._hushed[task] = None
            if len(self._hushed) > MAX_QUEUED:
                self._hushed.pop(next(iter(self._hushed)))

    async def _send(
        self, happening: event_words.Happening, regarding: event_words.Regarding
    ) -> None:
        # A node's clock may be ahead.
        now_s = self._now_s()
        at_s = now_s if happening.at_s is None else min(now_s, happening.at_s)
        manifest = event_for(happening, regarding, at_s=at_s, instance=self._instance)
        for attempt in range(TRIES):
            try:
                await self._kube.create_event(manifest)
            except (AlreadyThere, NotFound):
                return
            except Unreachable:
                await asyncio.sleep(2.0**attempt)
            except ApiError as error:
                log.warning("event refused", name=manifest["metadata"]["name"], error=str(error))
                self.results["dropped"] += 1
                return
            else:
                self.results["sent"] += 1
                return
        self.results["dropped"] += 1


def _record(pod: Pod, task: TaskId, note: DecisionNote, at_s: float, words: str) -> DecisionRecord:
    meta = pod["metadata"]
    return DecisionRecord(
        task=task,
        attempt_uid=str(meta["uid"]),
        at_s=at_s,
        words=f"{meta['name']}: {words}",
        allocation_bytes=note.allocation_bytes,
        request_bytes=note.was_request_bytes,
        reason=note.reason.value,
    )


def _sizes(note: DecisionNote) -> str:
    before = (
        "no request" if note.was_request_bytes is None else words_for_bytes(note.was_request_bytes)
    )
    if note.allocation_bytes is None or note.allocation_bytes == note.was_request_bytes:
        return before
    arrow = "→" if note.mode is Mode.ENFORCE else "would be →"
    return f"{before} {arrow} {words_for_bytes(note.allocation_bytes)}"
