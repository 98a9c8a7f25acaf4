"""Finds the pods that wait for a node when their task has learned, and has them resized.

Cost: an event of a pod is O(1); a task that has learned costs one decision for each of its waiting
pods, in slices, and at most a tenth of the event loop. The cluster is never listed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import takewhile
from typing import Final

import structlog

from plimsoll_operator.controller.hub.hub import PolicyChanged
from plimsoll_operator.controller.waiting.pod_resizer import NotAllowed, PodResizer
from plimsoll_operator.kube.errors import ApiError
from plimsoll_operator.kube.resizing import CHECK_AGAIN_S, ask_resizing, until_possible
from plimsoll_operator.late_binding.backlog import Backlog, Rate, Turn
from plimsoll_operator.late_binding.resizing import (
    Left,
    Place,
    place_of,
    unapplied,
)
from plimsoll_operator.pods.spec import Pod
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_predictor.core.task import TaskId

log = structlog.get_logger()

AT_ONCE: Final = 8
"""Pods that are resized at the same time, and pods that are announced at the same time."""
TICK_S: Final = 0.2
SETTLE_S: Final = 1.0
"""A new pod is looked at after this time, because most are bound by then."""
PLANNING_SHARE: Final = 0.1
"""The largest part of the event loop's time for looking through one task's waiting pods."""
YIELD_EVERY: Final = 50
LOOK_AGAIN_S: Final = 600.0
"""By then a pod may have waited for long."""
DENIED_PAUSE_S: Final = 5.0
"""The first pause; each further pause is twice as long, up to CHECK_AGAIN_S."""
EVERYWHERE: Final = PolicyChanged(None)


def _never(_: str) -> bool:
    return False


class LateBinding:
    """Resizes the waiting pods of one cluster. ``see`` and ``learned`` never wait."""

    def __init__(
        self, resizer: PodResizer, per_s: float, may_be_raised: Callable[[str], bool] = _never
    ) -> None:
        """per_s: how many pods may be resized a second; 0 switches it off.

        may_be_raised: says of a pod's UID whether a rescue may have raised it. Its annotation may
        come later than the raise, so nothing tells then whether an earlier resize happened.
        """
        self._may_be_raised = may_be_raised
        self._resizer = resizer
        self._per_s = per_s
        self._waiting = resizer.waiting
        self._backlog = Backlog()
        self._rate = Rate(per_s)
        self._fresh: dict[str, float] = {}
        """UID -> when a new pod is looked at, in the loop's seconds; soonest first."""
        self._learned: dict[TaskId, None] = {}
        self._rests_s: dict[TaskId, float] = {}
        """Task -> until when it is not looked through again; see PLANNING_SHARE."""
        self._untrue: dict[str, Pod] = {}
        """Pods with a node whose annotation names a resize that never happened."""
        self._news = asyncio.Event()
        self._resized = asyncio.Event()
        self._work = asyncio.Event()
        self._logged_why: str | None = ""
        resizer.metrics.waiting.set_function(lambda: float(len(self._waiting)))
        resizer.metrics.backlog.set_function(lambda: float(len(self._backlog)))

    def see(self, pod: Pod, *, gone: bool) -> None:
        """Handle one event of a labelled pod."""
        if not self._per_s:
            return
        uid = str(pod["metadata"]["uid"])
        if self._waiting.see(pod, gone=gone):
            self._fresh.pop(uid, None)
            self._fresh[uid] = _loop_s() + SETTLE_S
            self._news.set()
        elif uid not in self._waiting:
            self._fresh.pop(uid, None)
            self._backlog.drop(uid)
            self._resizer.forget(uid)
            self._look_at_note(uid, pod, gone=gone)

    def _look_at_note(self, uid: str, pod: Pod, *, gone: bool) -> None:
        """Have the annotation of a pod with a node corrected, if it names what never happened."""
        self._untrue.pop(uid, None)
        if gone or place_of(pod) is not Place.BOUND or self._may_be_raised(uid):
            return
        if unapplied(pod) is not None:
            self._untrue[uid] = pod
            self._work.set()

    def learned(self, task: TaskId) -> None:
        """Decide the task's waiting pods again: something that affects their sizes has changed."""
        if self._waiting.has(task):
            self._learned[task] = None
            self._news.set()

    def policy_changed(self, event: PolicyChanged) -> None:
        """Decide the waiting pods of all tasks under the policy again."""
        for task in self._waiting.tasks():
            if event.namespace in (None, task.namespace):
                self.learned(task)

    async def run(self) -> None:
        """Resize until cancelled; if that is not possible, say why and check again later."""
        if not self._per_s:
            self._say("it is switched off (PLIMSOLL_LATE_BINDINGS_PER_S is 0)")
            await asyncio.Event().wait()
        while True:
            await until_possible(self._why_not, self._say)
            self._say(None)
            self.policy_changed(EVERYWHERE)
            denied_in: list[str] = []
            try:
                await self._go_on()
            except* NotAllowed as denied:
                denied_in.append(_where(denied))
            for namespace in denied_in:
                await self._until_allowed(namespace)

    async def _until_allowed(self, namespace: str) -> None:
        """Say once which right the role lacks in a namespace, and wait until it has it."""
        pause_s = DENIED_PAUSE_S
        while (why := await self._resizer.why_denied(namespace)) is not None:
            self._say(why)
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, CHECK_AGAIN_S)

    async def _go_on(self) -> None:
        """Plan and resize until an exception group ends it; ``NotAllowed`` if RBAC refuses."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._plan())
            group.create_task(self._look_again())
            for _ in range(AT_ONCE):
                group.create_task(self._resize())
                group.create_task(self._announce())

    async def _why_not(self) -> str | None:
        try:
            found = await ask_resizing(self._resizer.kube.api)
        except ApiError as error:
            return f"the API server does not say what it can: {error}"
        self._resizer.limits_fall = found.limits_fall
        return found.why_not

    def _say(self, why: str | None) -> None:
        self._resizer.metrics.on.set(float(why is None))
        if why == self._logged_why:
            return
        self._logged_why = why
        if why is None:
            log.info("late binding is on", per_s=self._per_s)
        else:
            log.warning("late binding is off: pods that wait keep their size", why=why)

    async def _plan(self) -> None:
        """Put the pods that are to be resized into the backlog."""
        while True:
            await self._news.wait()
            self._news.clear()
            while self._learned or self._fresh:
                await asyncio.sleep(TICK_S)
                now_s = _loop_s()
                for task in [t for t in self._learned if self._rests_s.get(t, 0.0) <= now_s]:
                    await self._look_through(task)
                for number, uid in enumerate(_due(self._fresh, now_s)):
                    self._fresh.pop(uid, None)
                    self._look_at(uid, None)
                    await _yield_now_and_then(number)

    async def _look_again(self) -> None:
        """Decide all waiting pods again now and then: some have waited too long for a raise."""
        while True:
            await asyncio.sleep(LOOK_AGAIN_S)
            self.policy_changed(EVERYWHERE)

    async def _look_through(self, task: TaskId) -> None:
        self._learned.pop(task, None)
        self._rests_s.pop(task, None)
        began_s = _loop_s()
        state = self._resizer.sizing.of_task(task)
        for number, uid in enumerate(self._waiting.of_task(task)):
            self._look_at(uid, state)
            await _yield_now_and_then(number)
        took_s = _loop_s() - began_s
        if took_s > TICK_S * PLANNING_SHARE:
            self._rests_s[task] = _loop_s() + took_s / PLANNING_SHARE

    def _look_at(self, uid: str, state: AdmissionState | None) -> None:
        pod = self._waiting.get(uid)
        if pod is None:
            return
        decided = self._resizer.decide(pod, state)
        if isinstance(decided, Left) or self._resizer.was_refused(uid, decided):
            self._backlog.drop(uid)
        else:
            self._backlog.put(uid, Turn.of(pod, decided))
            self._work.set()

    async def _resize(self) -> None:
        """Work off the backlog, as one of several workers."""
        while True:
            await self._work.wait()
            try:
                await self._step()
            except NotAllowed:
                raise
            except Exception:
                # One odd pod must not keep the others waiting.
                log.exception("one pod was not resized")

    async def _announce(self) -> None:
        """Announce what was resized, apart from resizing: the store may not be writable for long.

        As one of several; what is not announced yet is bounded.
        """
        while True:
            await self._resized.wait()
            self._resized.clear()
            try:
                while await self._resizer.announce():
                    pass
            except Exception:
                log.exception("one pod was not announced")
                self._resized.set()

    async def _step(self) -> None:
        """Do what is most urgent: correct an untrue annotation, or resize."""
        if self._untrue:
            await self._resizer.put_right(self._untrue.pop(next(iter(self._untrue))))
            return
        uid = self._backlog.pop()
        if uid is not None:
            await asyncio.sleep(self._rate.wait_s(_loop_s()))
            # The pod is decided again: it may be bound by now, and its task may have learned more.
            await self._resizer.resize(uid)
            self._resized.set()
        else:
            self._work.clear()


def _where(denied: BaseExceptionGroup[NotAllowed]) -> str:
    first = denied.exceptions[0]
    return first.namespace if isinstance(first, NotAllowed) else _where(first)


async def _yield_now_and_then(number: int) -> None:
    if number % YIELD_EVERY == YIELD_EVERY - 1:
        await asyncio.sleep(0)


def _due(times_s: dict[str, float], now_s: float) -> list[str]:
    return [uid for uid, _ in takewhile(lambda due: due[1] <= now_s, times_s.items())]


def _loop_s() -> float:
    return asyncio.get_running_loop().time()
