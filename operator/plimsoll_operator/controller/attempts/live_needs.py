"""Knows what running attempts show about their tasks, and tells it to the book.

    a pod starts, an agent's running maximum, a pod ends ─► LiveNeeds ─► book ─► feed
A running maximum is a lower bound of the attempt's need, hours before the need itself is known. So
is a size at which the run was killed, while its next attempt starts from nothing again; and while
that attempt still climbs, nobody knows whether its own size is enough (climbs.py).
This is live state: nothing is saved. After a restart the watch lists running pods again, and agents
report again what they had reached.

Cost: a report below the largest known need of its task costs a look. A report above it marks the
task, and marked tasks are looked through before the next publication.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final

import structlog
from prometheus_client import Counter

from plimsoll_operator.attempts.peaks import within_sandbox
from plimsoll_operator.attempts.watched_pod import WatchedPod
from plimsoll_operator.controller.attempts.climbs import Climbs
from plimsoll_operator.controller.attempts.peak_book import PeakBook
from plimsoll_operator.controller.hub.hub import (
    AttemptEnded,
    Hub,
    ObservationAmended,
    ProfileOutdated,
    TaskChanged,
    TaskForgotten,
    TaskPublished,
)
from plimsoll_operator.controller.tasks.book import TaskBook
from plimsoll_operator.pods.status import AttemptStatus
from plimsoll_predictor.core.record import Outcome
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.experts.in_flight import InFlight
from plimsoll_predictor.experts.standing import Standing
from plimsoll_predictor.knowledge.measured_constants import SERVED
from plimsoll_predictor.knowledge.shown import NOTHING_SHOWN, Shown
from plimsoll_predictor.store import StoreError

log = structlog.get_logger()

PODS_KEPT: Final = 20_000
"""As many as the peak book holds; the pod seen first is forgotten first."""
MATTERS: Final = 1.05
"""A floor is published again once it moved by this factor."""
TASKS_AT_ONCE: Final = 200
"""Marked tasks looked through before one publication; some need their experts from the store."""
LINGERS_S: Final = 60.0
"""An attempt that ended counts as in flight until its need is known or its run's next attempt runs,
but for this long at most."""

Experts = Callable[[TaskId], Awaitable[Standing | None]]


@dataclass(frozen=True, slots=True)
class _Running:
    """One running attempt, and where its peaks are read."""

    task: TaskId
    run: str
    attempt_uid: str
    container_id: str | None
    containers: int
    sandbox_limit_bytes: int | None


@dataclass(frozen=True, slots=True)
class _Lingering:
    """An attempt that ended and still counts. until_s: Unix seconds."""

    task: TaskId
    run: str
    until_s: float


@dataclass(slots=True, kw_only=True)
class LiveNeeds:
    """The attempts in flight of every task. Belongs to one event loop.

    experts: reads a task's experts. raised: counts the floors that rose. on: whether any size goes
    by it.
    """

    book: TaskBook
    peaks: PeakBook
    experts: Experts
    hub: Hub
    raised: Counter
    now_s: Callable[[], float]
    on: bool = True
    pods_kept: int = PODS_KEPT
    _pods: OrderedDict[str, _Running] = field(init=False, default_factory=OrderedDict)
    _tasks: dict[TaskId, InFlight] = field(init=False, default_factory=dict)
    _lingering: OrderedDict[str, _Lingering] = field(init=False, default_factory=OrderedDict)
    """Attempts by their UID; those that ended first come first."""
    _climbs: Climbs = field(init=False, default_factory=Climbs)
    _marked: dict[TaskId, None] = field(init=False, default_factory=dict)
    _young: dict[TaskId, bool] = field(init=False, default_factory=dict)
    """Tasks with few runs and attempts in flight -> whether these outlast those that ended."""

    def __len__(self) -> int:
        return len(self._pods)

    def started(self, watched: WatchedPod, status: AttemptStatus) -> None:
        """Note an attempt that runs, as often as it is seen."""
        if status.started_s is None:
            return
        running = _Running(
            task=watched.task,
            run=watched.attempt.run,
            attempt_uid=status.attempt_uid,
            container_id=watched.measured_container(status),
            containers=watched.attempt.containers,
            sandbox_limit_bytes=watched.sandbox_limit_bytes,
        )
        before = self._pods.get(status.uid)
        if before == running:
            return
        if before is not None and before.attempt_uid != running.attempt_uid:
            self._forget(before.task, before.attempt_uid)
        self._pods[status.uid] = running
        in_flight = self._tasks.setdefault(running.task, InFlight())
        in_flight.started(running.attempt_uid, status.started_s)
        if self._few(running.task):
            self._marked[running.task] = None
        self._follow(running, watched.attempt.number, status.started_s)
        self._reached(status.uid, running)
        while len(self._pods) > self.pods_kept:
            _, oldest = self._pods.popitem(last=False)
            self._forget(oldest.task, oldest.attempt_uid)

    def reported(self, pod_uids: Iterable[str]) -> None:
        """Look at what the peak book knows of these pods now. Others' pods are passed over."""
        for uid in pod_uids:
            if (running := self._pods.get(uid)) is not None:
                self._reached(uid, running)

    def known_bytes(self, pod_uid: str) -> int | None:
        """Return the largest need that is known of a pod's task; None if none is.

        A running maximum up to it is no news.
        """
        running = self._pods.get(pod_uid)
        return None if running is None else self.book.look(running.task).largest_bytes

    def attempt_ended(self, event: AttemptEnded) -> None:
        """Stop counting it, unless its need is still to come: else the floor would dip."""
        self._learned(event)
        uid, observation = event.status.uid, event.observation
        running = self._pods.get(uid)
        if running is None or running.attempt_uid != observation.attempt_uid:
            return
        del self._pods[uid]
        need = observation.need
        unmeasured = observation.outcome is Outcome.SUCCEEDED and need is None
        if need is not None and need.censored:
            self._note(running, need.size_bytes)
        elif not unmeasured:
            self._forget(running.task, running.attempt_uid)
            return
        self._climbs.ended(running.attempt_uid)
        # The entry may be gone: it keeps MOST_ATTEMPTS at most, and those may all have ended.
        if (in_flight := self._tasks.get(running.task)) is not None:
            in_flight.climbs(running.attempt_uid, still=False)
        until_s = self.now_s() + LINGERS_S
        self._lingering[running.attempt_uid] = _Lingering(running.task, running.run, until_s)

    def observation_amended(self, event: ObservationAmended) -> None:
        """Stop counting an attempt whose need is known now; a killed attempt's need is not."""
        self._learned(event)
        need = event.observation.need
        if need is not None and not need.censored:
            self._leave(event.observation.attempt_uid)

    def gone(self, pod_uid: str) -> None:
        """Forget a pod that was deleted, however it ended."""
        if (running := self._pods.pop(pod_uid, None)) is not None:
            self._forget(running.task, running.attempt_uid)

    def task_forgotten(self, event: TaskForgotten) -> None:
        """Forget what the task's attempts showed; its pods show it again if it comes back."""
        self._tasks.pop(event.task, None)
        self._marked.pop(event.task, None)
        for uid in [uid for uid, each in self._lingering.items() if each.task == event.task]:
            del self._lingering[uid]
        self._young.pop(event.task, None)
        for uid in [uid for uid, each in self._pods.items() if each.task == event.task]:
            self._climbs.ended(self._pods.pop(uid).attempt_uid)

    def task_changed(self, event: TaskChanged) -> None:
        """Look at the lifts of runs whose next attempt is still to come."""
        if event.task in self._tasks:
            self._marked[event.task] = None

    async def show(self) -> None:
        """Tell the book what changed enough to matter; before each publication."""
        now_s = self.now_s()
        self._leave_old(now_s)
        if not self.on:
            self._marked.clear()
            return
        self._take_lifts()
        self._take_climbs(now_s)
        for task in tuple(islice(self._marked, TASKS_AT_ONCE)):
            del self._marked[task]
            try:
                experts = await self.experts(task)
            except StoreError:
                self._marked[task] = None  # the reader logs it, and the next call tries again
                return
            if task in self.book:
                self._show(task, experts)
        self._look_at_the_clock(now_s)

    def _leave_old(self, now_s: float) -> None:
        while self._lingering:
            uid, oldest = next(iter(self._lingering.items()))
            if oldest.until_s >= now_s:
                return
            self._leave(uid)

    def _take_lifts(self) -> None:
        for uid, each in self._lingering.items():
            in_flight = self._tasks.get(each.task)
            if in_flight is None or each.task not in self._marked:
                continue
            lift = self.book.look(each.task).lifts.get(each.run)
            if lift is not None and lift.tells_need:
                in_flight.lifted(uid, lift)

    def _take_climbs(self, now_s: float) -> None:
        for task, attempt_uid, still in self._climbs.turned(now_s):
            if (in_flight := self._tasks.get(task)) is not None:
                in_flight.climbs(attempt_uid, still=still)
                self._marked[task] = None

    def _show(self, task: TaskId, experts: Standing | None) -> None:
        in_flight, before = self._tasks.get(task), self.book.look(task).shown
        shown = NOTHING_SHOWN
        if in_flight is not None and experts is not None:
            shown = in_flight.shown(experts.past)
        few = self._few(task)
        if not few:
            shown = Shown(floor_bytes=shown.floor_bytes)
        if few and in_flight is not None:
            self._young.setdefault(task, False)
        if not matters(before, shown):
            return
        if shown.floor_bytes > before.floor_bytes:
            self.raised.inc()
        log.info(
            "running attempts show",
            task=str(task),
            floor_bytes=shown.floor_bytes,
            before_bytes=before.floor_bytes,
            running=len(in_flight or ()),
        )
        self.book.learn(replace(self.book.get(task), shown=shown))
        if shown.floor_bytes != before.floor_bytes:
            self.hub.publish(ProfileOutdated(task))

    def _look_at_the_clock(self, now_s: float) -> None:
        """Have waiting pods decided again once running ones outlast those that ended."""
        for task, outlasted in tuple(self._young.items()):
            known = self.book.look(task)
            if task not in self._tasks or not self._few(task):
                del self._young[task]
                continue
            self._young[task] = known.shown.outlasting(known.runs, now_s)
            if self._young[task] and not outlasted:
                self.hub.publish(TaskPublished(task))

    def _learned(self, event: AttemptEnded | ObservationAmended) -> None:
        """Compare what runs of the task have reached with what it is known to need now."""
        task = event.observation.task
        if event.novelty.learned and task in self._tasks:
            self._marked[task] = None

    def _few(self, task: TaskId) -> bool:
        """Whether so few runs are known that the times of running attempts matter."""
        return self.book.look(task).runs <= SERVED.outlasting_runs

    def _reached(self, pod_uid: str, running: _Running) -> None:
        best = self.peaks.best(pod_uid, running.container_id, running.containers)
        peak = within_sandbox(best, running.sandbox_limit_bytes)
        if peak is None:
            return
        self._note(running, peak.need_peak_bytes)
        self._climbs.reached(running.attempt_uid, peak.need_peak_bytes, self.now_s())

    def _note(self, running: _Running, need_bytes: int) -> None:
        task = running.task
        self._tasks.setdefault(task, InFlight()).reached(running.attempt_uid, need_bytes)
        if need_bytes > (self.book.look(task).largest_bytes or 0):
            self._marked[task] = None

    def _follow(self, running: _Running, number: int, started_s: float) -> None:
        """Take over what the run's previous attempt showed. number: this one's; 1 for the first."""
        lift = self.book.look(running.task).lifts.get(running.run)
        if lift is None or number < lift.attempt:
            return  # pods of one Job may share a run
        if lift.tells_need:
            self._note(running, lift.after_bytes)
            self._tasks[running.task].lifted(running.attempt_uid, lift)
            if number == lift.attempt:
                uid, after_bytes = running.attempt_uid, lift.after_bytes
                self._climbs.follow(uid, running.task, started_s, after_bytes)
            self._marked[running.task] = None
        for uid, each in tuple(self._lingering.items()):
            if each.task == running.task and each.run == running.run:
                self._leave(uid)

    def _leave(self, attempt_uid: str) -> None:
        if (lingering := self._lingering.pop(attempt_uid, None)) is not None:
            self._forget(lingering.task, attempt_uid)

    def _forget(self, task: TaskId, attempt_uid: str) -> None:
        self._climbs.ended(attempt_uid)
        in_flight = self._tasks.get(task)
        if in_flight is None:
            return
        in_flight.ended(attempt_uid)
        if not in_flight:
            del self._tasks[task]
        self._marked[task] = None


def matters(before: Shown, now: Shown) -> bool:
    """Say whether the change matters for sizes.

    >>> matters(Shown(floor_bytes=100), Shown(floor_bytes=104))
    False
    >>> matters(Shown(floor_bytes=100), Shown(floor_bytes=105))
    True
    >>> matters(Shown(floor_bytes=100), Shown())
    True
    """
    if (before.started_s, before.longest_s) != (now.started_s, now.longest_s):
        return True
    low, high = sorted((before.floor_bytes, now.floor_bytes))
    return high > 0 and high >= MATTERS * low
