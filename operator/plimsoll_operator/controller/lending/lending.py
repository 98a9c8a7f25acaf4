"""Looks twice a second at all running pods that lend or may lend, and carries out the decisions.

Its state is on the pods: a controller that starts, or takes the lead, finds each lender by its
annotation, asks the agents for their maxima anew, and takes back where no maximum comes.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from enum import Enum
from functools import partial
from typing import Any, Final, TypeAlias

import structlog

from plimsoll_operator.controller.lending.agents_heard import AgentsHeard
from plimsoll_operator.controller.lending.request_resizer import RequestResizer
from plimsoll_operator.controller.lending.running_pods import Running, RunningPods
from plimsoll_operator.kube.errors import ApiError, NotFound, Unreachable
from plimsoll_operator.kube.resizing import ask_resizing, until_possible
from plimsoll_operator.names.objects import name_of
from plimsoll_operator.pods.spec import Pod
from plimsoll_operator.wording.lending_words import LendingNow
from plimsoll_predictor.lending.node_steps import (
    Lend,
    Patience,
    Step,
    TakeBack,
    Why,
    decide,
)

log = structlog.get_logger()

TICK_S: Final = 0.5
AT_ONCE: Final = 16
WAITED_S: Final = 2.0
"""A look waits for answers no longer than this. A call without an answer goes on, and only its own
pod waits for it."""
MOST_UNANSWERED: Final = 48
"""While so many calls have no answer, no more are begun, but those that take memory back."""
MOST_OF_NAMESPACE: Final = 8
"""While so many of one namespace have none, no more are begun there: its webhook may hang. Those
that take memory back are counted apart."""
REFUSED_PAUSE_S: Final = 30.0
"""What failed, such as a pod's resize that was refused, is not tried again for this long."""
MOST_UNSTEADY: Final = 10_000


class Act(Enum):
    """What can be done to a pod; the value says it in words."""

    LEND = "lend"
    TAKE_BACK = "take back"
    FINISH = "remove the annotation"


_Work: TypeAlias = tuple[Act, Running, Callable[[], Coroutine[Any, Any, None]]]


class Lending:
    """Has running pods lend and take back. ``see`` never waits."""

    def __init__(self, pods: RunningPods, resizer: RequestResizer, patience: Patience) -> None:
        self._pods = pods
        self._resizer = resizer
        self._patience = patience
        self._unsteady: dict[str, None] = {}
        """Tasks with a lender that grew: they do not lend while this controller leads."""
        self._rests_s: dict[tuple[str, Act], float] = {}
        """UID and act -> until when it is not tried again, because it failed."""
        self._unanswered: dict[str, tuple[str, bool]] = {}
        """UID of each pod for which something is under way -> its namespace, and whether its memory
        is taken back."""
        self._tasks: set[asyncio.Task[None]] = set()
        self.told: LendingNow | None = None
        """What was lent at the last look; None while no pod may lend, and none has lent."""
        metrics = resizer.metrics
        metrics.lent.set_function(lambda: float(self.now().lent_bytes))
        metrics.lenders.set_function(lambda: float(self.now().attempts))
        metrics.nodes.set_function(lambda: float(self.now().nodes))
        metrics.waiting.set_function(lambda: float(self.now().waiting))

    @property
    def heard(self) -> AgentsHeard:
        """Return the record of which agents live."""
        return self._pods.heard

    def now(self) -> LendingNow:
        """Return what is lent at this moment."""
        lenders = [pod for pod in self._pods if _lent_bytes(pod) > 0]
        return LendingNow(
            lent_bytes=sum(map(_lent_bytes, lenders)),
            attempts=len(lenders),
            nodes=len({pod.node for pod in lenders}),
            waiting=sum(pod.is_returning and not pod.is_returned for pod in self._pods),
            taken_back=dict(self._resizer.taken_back),
        )

    def lends(self, pod_uid: str) -> bool:
        """Say whether a pod lends, or takes back what it lent."""
        pod = self._pods.get(pod_uid)
        return pod is not None and pod.lent is not None

    def see(self, pod: Pod, *, gone: bool) -> None:
        """Handle one event of a labelled pod, as the API server gives it."""
        self._pods.see(pod, gone=gone)

    async def run(self) -> None:
        """Look and act until cancelled; if pods cannot be resized, check again later."""
        await until_possible(self._why_not, self._say_why_not)
        self._resizer.metrics.on.set(1)
        try:
            while True:
                await asyncio.sleep(TICK_S)
                await self.look()
        finally:
            await self.close()

    async def close(self) -> None:
        """End all that is under way."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def look(self) -> None:
        """Look once at all pods. Wait until what was decided is done, but not for long."""
        self._pods.follow()
        work: list[_Work] = [
            (Act.FINISH, pod, partial(self._finish, pod))
            for pod in self._pods
            if self._is_to_finish(pod)
        ]
        for step in self.decided():
            if (pod := self._pods.get(step.uid)) is not None:
                act = Act.LEND if isinstance(step, Lend) else Act.TAKE_BACK
                work.append((act, pod, partial(self._act, step)))
        work.sort(key=lambda each: each[0] is not Act.TAKE_BACK)
        for begin in range(0, len(work), AT_ONCE):
            await self._do(work[begin : begin + AT_ONCE])
        may_lend = len(self._pods) > 0 or self._resizer.taken_back
        self.told = self.now() if may_lend else None

    def decided(self) -> list[Step]:
        """Return the steps on all nodes; those that take back come first."""
        now_s = self._pods.heard.now_s()
        self._rests_s = {key: s for key, s in self._rests_s.items() if s > now_s}
        used = self._pods.used_by_task()
        steps: list[Step] = []
        for node, pods in self._pods.by_node().items():
            attempts = [
                self._pods.attempt(pod, self._why_not_lend(pod), used.get(str(pod.watched.task), 0))
                for pod in pods
            ]
            room = self._pods.room(node, pods)
            for step in decide(room, attempts, self._unsteady, now_s, self._patience):
                if step.uid in self._unanswered:
                    continue
                # What pods of this node are about to lend is not known yet, so it would be lent
                # twice.
                if isinstance(step, Lend) and any(pod.uid in self._unanswered for pod in pods):
                    continue
                if isinstance(step, Lend) or not self._rests(step.uid, Act.TAKE_BACK):
                    steps.append(step)
        for step in steps:
            self._note_growth(step)
        return sorted(steps, key=lambda step: isinstance(step, Lend))

    def _rests(self, uid: str, act: Act) -> bool:
        return self._rests_s.get((uid, act), 0.0) > self._pods.heard.now_s()

    def _is_to_finish(self, pod: Running) -> bool:
        if pod.uid in self._unanswered:
            return False
        return pod.is_returned and not self._rests(pod.uid, Act.FINISH)

    def _why_not_lend(self, pod: Running) -> str | None:
        if pod.uid in self._unanswered:
            return "a call for it has no answer yet"
        if self._rests(pod.uid, Act.LEND):
            return "it could not lend a moment ago"
        return "it takes back what it lent" if pod.lent is not None else None

    def _note_growth(self, step: Step) -> None:
        pod = self._pods.get(step.uid)
        if pod is None or not isinstance(step, TakeBack) or step.why is not Why.GREW:
            return
        self._unsteady[str(pod.watched.task)] = None
        if len(self._unsteady) > MOST_UNSTEADY:
            self._unsteady.pop(next(iter(self._unsteady)))

    async def _do(self, work: Sequence[_Work]) -> None:
        """Begin what may begin, and wait for it no longer than WAITED_S.

        A pod may need its memory now: other calls do not hold back those that take it back.
        """
        unanswered, tasks = Counter(self._unanswered.values()), list[asyncio.Task[None]]()
        for act, pod, begin in work:
            takes_back = act is Act.TAKE_BACK
            if unanswered[pod.watched.task.namespace, takes_back] >= MOST_OF_NAMESPACE:
                continue
            if unanswered.total() >= MOST_UNANSWERED and not takes_back:
                continue
            task = asyncio.create_task(self._noted(act, pod, begin))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            tasks.append(task)
        if tasks:
            await asyncio.wait(tasks, timeout=WAITED_S)

    async def _noted(
        self, act: Act, pod: Running, begin: Callable[[], Coroutine[Any, Any, None]]
    ) -> None:
        self._unanswered[pod.uid] = (pod.watched.task.namespace, act is Act.TAKE_BACK)
        try:
            await begin()
        finally:
            self._unanswered.pop(pod.uid, None)

    async def _act(self, step: Step) -> None:
        pod = self._pods.get(step.uid)
        if pod is None:
            return
        if isinstance(step, Lend):
            await self._carefully(Act.LEND, pod, lambda: self._resizer.lend(pod, step.held_bytes))
        else:
            await self._carefully(
                Act.TAKE_BACK, pod, lambda: self._resizer.take_back(pod, step.why)
            )

    async def _finish(self, pod: Running) -> None:
        await self._carefully(Act.FINISH, pod, lambda: self._resizer.finish(pod))

    async def _carefully(
        self, act: Act, pod: Running, work: Callable[[], Awaitable[Pod | None]]
    ) -> None:
        """Do one thing to one pod; an error in it does not stop the others."""
        now, rests = None, True
        try:
            now = await work()
            rests = now is None and act is Act.LEND
        except (NotFound, Unreachable):
            # Taking back goes on at once: the pod may need it. All else can wait.
            rests = act is not Act.TAKE_BACK
        except ApiError as error:
            log.warning("refused", pod=name_of(pod.pod), to=act.value, error=str(error))
        except Exception:
            log.exception("failed", pod=name_of(pod.pod), to=act.value)
        if rests:
            self._rests_s[pod.uid, act] = self._pods.heard.now_s() + REFUSED_PAUSE_S
        # An answer may come late: by then the watch may have told that the pod is gone.
        if now is not None and self._pods.get(pod.uid) is not None:
            self._pods.see(now, gone=False)

    async def _why_not(self) -> str | None:
        try:
            return (await ask_resizing(self._resizer.kube.api)).why_not
        except ApiError as error:
            return f"the API server does not say what it can: {error}"

    def _say_why_not(self, why: str) -> None:
        self._resizer.metrics.on.set(0)
        self.told = LendingNow(possible=False) if len(self._pods) else None
        log.warning("nothing lends: running pods cannot be resized", why=why)


def _lent_bytes(pod: Running) -> int:
    return max(0, pod.asked.request_bytes - pod.held_bytes)
