"""Hears agents' alarms, decides each at once, and follows every raise until it is granted.

An alarm comes a second or two before a kill. So nothing waits in a queue here, and nothing is read
from the API server: what a pod has and may get is in memory. The pod holds what the next controller
must know.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import Final

import structlog

from plimsoll_operator.attempts.alarms import Alarm, Alarms
from plimsoll_operator.attempts.grants import AskedGrants, Grant, Granted, OwnRaise
from plimsoll_operator.attempts.watched_pod import SAME_BYTES
from plimsoll_operator.controller.rescue.calls_in_flight import CallsInFlight
from plimsoll_operator.controller.rescue.expected_raises import (
    NOTE_AGAIN_S,
    PENDING_S,
    expect,
    fall_back,
    find_again,
    forget_pending,
    is_note_due,
    is_wanted,
    newest,
    take_off,
    undone,
)
from plimsoll_operator.controller.rescue.granting import grant
from plimsoll_operator.controller.rescue.limit_raiser import LimitRaiser
from plimsoll_operator.controller.rescue.lowering import Lowering
from plimsoll_operator.controller.rescue.rescuable_pods import Pending, Rescuable, RescuablePods
from plimsoll_operator.controller.rescue.task_needs import Experts, TaskNeeds
from plimsoll_operator.kube.errors import ApiError
from plimsoll_operator.kube.resizing import ask_resizing, until_possible
from plimsoll_operator.pods.resizes import failed_resize, refusal
from plimsoll_operator.pods.spec import Pod, SizedContainer, metadata_of
from plimsoll_operator.rescue.allowance import nearing
from plimsoll_operator.rescue.eligible import is_of_another_container
from plimsoll_operator.wording.rescue_words import WHY_LEFT, raised_because
from plimsoll_predictor.rescue.deciding import Leave, PodPast, Raise, Why, decide
from plimsoll_predictor.rescue.growth import Outlook

log = structlog.get_logger()

LOOK_S: Final = 1.0
FULL_S: Final = 30.0
"""A node that refused a raise is not asked for one for this long."""
MOST_TASKS: Final = 2_000

_TOLD: Final = frozenset({Why.LEAK, Why.NODE, Why.NAMESPACE, Why.BOUND, Why.TOO_OFTEN})


class Rescues:
    """Belongs to one event loop. ``see`` never waits."""

    def __init__(
        self,
        pods: RescuablePods,
        raiser: LimitRaiser,
        experts: Experts,
        monotonic_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """experts: reads a task's experts, whose past has the needs of its runs."""
        self._pods = pods
        self._raiser = raiser
        self._needs = TaskNeeds(experts, monotonic_s)
        self._lowering = Lowering(pods, raiser, self._needs, monotonic_s)
        self._now_s = monotonic_s
        self._full_s: dict[str, float] = {}
        """Node -> until when it is not asked for a raise, because it refused one."""
        self._calls = CallsInFlight()
        self._works: set[asyncio.Task[None]] = set()
        self._told: Counter[str] = Counter()
        self.off: str | None = None
        """Why the API server resizes no running pod; None if it may."""
        metrics = raiser.metrics
        metrics.pods.set_function(lambda: float(len(pods)))
        metrics.added.set_function(lambda: float(sum(each.added_bytes for each in pods)))

    def rescuable(self, pod_uid: str) -> bool:
        """Say whether a pod's agent should watch it."""
        pod = self._pods.get(pod_uid)
        return self.off is None and pod is not None and self._pods.why_not(pod) is None

    def see(self, pod: Pod, *, gone: bool) -> None:
        """Handle one event of a labelled pod, as the API server gives it."""
        now = self._pods.see(pod, gone=gone)
        if now is not None and now.lost is not None:
            find_again(now, now.lost, self._now_s())
        if now is not None:
            self._follow(now)

    async def hear(self, said: Alarms) -> list[str]:
        """Decide an agent's alarms, and return the pods to be raised; does not wait for raises."""
        raised = []
        for alarm in said.alarms:
            try:
                if await self._answer(said, alarm):
                    raised.append(alarm.pod_uid)
            except Exception:
                # Strangers write pods: an error in one must not stop the others.
                log.exception("alarm not answered")
        return raised

    async def grant(self, asked: AskedGrants) -> Granted:
        """Hear what an agent raised by itself, and return what it may raise next."""
        grants = list[Grant]()
        # As with alarms: an error in one pod must not stop the rescue of others.
        for each in asked.raised:
            try:
                self._hear_raise(asked.node, each)
            except Exception:
                log.exception("raise not followed")
        for uid in asked.pods:
            try:
                grants += await self._grants_of(asked.node, uid)
            except Exception:
                log.exception("raise not granted")
        return Granted(grants=tuple(grants))

    async def run(self) -> None:
        """Look once a second, until cancelled; if pods cannot be resized, check again later."""
        await until_possible(self._why_off, self._say_off)
        self.off = None
        self._raiser.metrics.on.set(1)
        while True:
            await asyncio.sleep(LOOK_S)
            self.look()

    async def _why_off(self) -> str | None:
        try:
            return (await ask_resizing(self._raiser.pods.api)).why_not
        except ApiError as error:
            # It may work all the same, and a raise tells more surely.
            log.info("whether pods can be resized is not known", error=str(error))
            return None

    def _say_off(self, why: str) -> None:
        self.off = why
        self._raiser.metrics.on.set(0)
        if len(self._pods):
            log.warning("nothing is rescued: running pods cannot be resized", why=why)

    def look(self) -> None:
        """Repeat lost notes, give up unanswered raises, let what stopped growing give back."""
        now_s = self._now_s()
        self._full_s = {node: s for node, s in self._full_s.items() if s > now_s}
        for pod in self._pods:
            if is_note_due(pod, now_s):
                self._begin(self._raiser.note(pod))
            if pod.pending is not None and now_s - pod.pending.asked_s > PENDING_S:
                self._raiser.metrics.raises.labels("unanswered").inc()
                forget_pending(pod)
                pod.given_up = "its node has not answered a raise"
            elif pod.pending is None and pod.raises:
                kept = self._lowering.due(pod)
                if kept is not None:
                    self._begin(self._lower(pod, kept))

    def raised(self, pod_uid: str) -> bool:
        """Say whether a pod was raised: then its agent must report every reading of it."""
        pod = self._pods.get(pod_uid)
        return pod is not None and pod.raises > 0

    def may_have_raised(self, pod_uid: str) -> bool:
        """Say whether a pod was raised, or may be raised by its agent at any moment."""
        pod = self._pods.get(pod_uid)
        return pod is not None and (pod.raises > 0 or pod.granted is not None)

    async def _lower(self, pod: Rescuable, limit_bytes: int) -> None:
        before = newest(pod)
        with self._calls.one(pod.uid):
            lowered = await self._lowering.carry_out(pod, limit_bytes)
        if lowered is not None:
            self.see(lowered, gone=False)
        await self._repeat_undone(pod.uid, before, lowered)

    def _begin(self, work: Awaitable[None]) -> None:
        async def carefully() -> None:
            try:
                await work
            except Exception:
                log.exception("raise not carried out")

        task = asyncio.create_task(carefully())
        self._works.add(task)
        task.add_done_callback(self._works.discard)

    async def _answer(self, said: Alarms, alarm: Alarm) -> bool:
        """Return whether the pod is raised."""
        needs = await self._needs_of(alarm.pod_uid)
        # From here to the raise nothing waits, so each alarm sees what the one before was given.
        pod = self._pods.get(alarm.pod_uid)
        passed_over = self._passed_over(said.node, alarm, pod)
        if pod is None or passed_over is not None:
            self._count(passed_over or "unknown")
            return False
        pending = pod.pending
        if pending is not None and abs(pending.limit_bytes - alarm.limit_bytes) <= SAME_BYTES:
            self._grant(pod, pending)  # the kernel has it, and the pod's status will say so
        past = PodPast(needs_bytes=needs, first_bytes=pod.first.limit_bytes or 0, raises=pod.raises)
        # Its node may have refused to lower its limit: then it has more than its spec says.
        limit_bytes = max(pod.limit_bytes, min(alarm.limit_bytes, pod.enforced_bytes))
        decided = decide(
            nearing(alarm, limit_bytes), past, self._pods.room(pod, said.pods_used_bytes)
        )
        if isinstance(decided, Leave):
            self._leave(pod, decided)
            return False
        self._count("raised")
        pending, call = self._expect(pod, alarm, decided), self._calls.one(pod.uid)
        self._begin(self._carry_out(pod, pending, call))
        return True

    def _hear_raise(self, node: str, said: OwnRaise) -> None:
        """Follow an agent's raise like this controller's own; ignore one that it knows."""
        pod = self._pods.get(said.alarm.pod_uid)
        if pod is None or pod.node != node:
            self._count("unknown")
            return
        if said.raises <= pod.raises or pod.granted is None:
            # It was told twice, or another controller granted it and the pod is read as raised.
            return
        if said.limit_bytes <= (pod.granted.limit_bytes or 0):
            return
        pod.container = pod.granted  # its watch may have shown the larger limit already
        if not pod.raises:
            pod.first = pod.granted
        self._count("raised_by_agent")
        pending = self._expect(pod, said.alarm, Raise(said.limit_bytes, said.probability))
        pod.note_due_s = pending.asked_s + NOTE_AGAIN_S
        self._begin(self._raiser.raised_by_agent(pod))
        self._follow(pod)

    async def _grants_of(self, node: str, uid: str) -> tuple[Grant, ...]:
        """Return the grant that a pod gets, if any."""
        needs = await self._needs_of(uid)
        pod = self._pods.get(uid)
        if pod is None or self._refrains_from(node, pod) is not None:
            return ()
        granted = grant(pod, needs, self._pods.room(pod, pods_used_bytes=0))
        pod.granted = pod.container if granted is not None else None
        self._pods.give_room(pod)
        # A pod that finds no room there is not held any more: nobody would take its memory back.
        return () if granted is None or self._pods.get(pod.uid) is None else (granted,)

    async def _needs_of(self, uid: str) -> tuple[float, ...]:
        pod = self._pods.get(uid)
        return () if pod is None else await self._needs.of(pod.watched.task)

    def _passed_over(self, node: str, alarm: Alarm, pod: Rescuable | None) -> str | None:
        """Say why an alarm needs no decision, as the metric calls it; None if it needs one."""
        if pod is None or pod.node != node:
            return "unknown"
        if is_of_another_container(pod.pod, pod.watched, alarm.container_id):
            return "other_container"
        return self._refrains_from(node, pod)

    def _refrains_from(self, node: str, pod: Rescuable) -> str | None:
        """Say why a pod must not be raised now, as the metric calls it; None if it may be."""
        if pod.node != node:
            return "unknown"
        if self.off is not None or self._pods.why_not(pod) is not None:
            return "not_allowed"
        if pod.given_up is not None:
            return "given_up"
        return "node_full" if node in self._full_s else None

    def _leave(self, pod: Rescuable, decided: Leave) -> None:
        self._count(decided.why.value)
        if decided.why not in _TOLD:
            return
        key = f"{pod.uid} {decided.why.value}"
        self._told[key] += 1
        if self._told[key] == 1:
            self._raiser.left(pod, decided.why.value, WHY_LEFT[decided.why])
        if len(self._told) > MOST_TASKS:
            self._told.clear()

    def _expect(self, pod: Rescuable, alarm: Alarm, decided: Raise) -> Pending:
        """Hold a pod as one that is being raised."""
        pending = Pending(
            # If an earlier raise is not granted yet, the pod still has what it had before that.
            before=pod.pending.before if pod.pending is not None else pod.container,
            limit_bytes=decided.limit_bytes,
            used_bytes=alarm.used_bytes,
            asked_s=self._now_s(),
            step_bytes=Outlook(0.0, alarm.step_bytes, alarm.steps).next_step_bytes,
            words=raised_because(alarm.used_bytes, alarm.growth_bytes_s, decided.probability),
            failed_before=failed_resize(pod.pod),
        )
        expect(pod, pending)
        self._pods.give_room(pod)
        return pending

    async def _carry_out(self, pod: Rescuable, pending: Pending, call: ExitStack) -> None:
        def wanted() -> bool:
            return is_wanted(self._pods.get(pod.uid), pending, self._now_s())

        try:
            with call:
                resized = await self._raiser.raise_to(pod, pending, wanted)
        except ApiError as error:
            self._refused(pod, pending, str(error))
            return
        if resized is None:
            self._lose(pod, pending)
        else:
            self.see(resized, gone=False)
        await self._repeat_undone(pod.uid, pending, resized)  # first: the note may hang, too
        if resized is not None:
            now = self._pods.get(pod.uid) or pod
            now.note_due_s = self._now_s() + NOTE_AGAIN_S
            await self._raiser.note(now)

    async def _repeat_undone(self, pod_uid: str, sent: Pending | None, answer: Pod | None) -> None:
        """Make a pod's newest raise again, if an older call reached the API server after it."""
        now = None if self._calls.of(pod_uid) else self._pods.get(pod_uid)
        if now is not None and (later := undone(now, sent, answer)) is not None:
            await self._carry_out(now, later, self._calls.one(pod_uid))

    def _lose(self, pod: Rescuable, pending: Pending) -> None:
        """Count a raise that failed as none; its agent repeats its alarm."""
        now = self._pods.get(pod.uid)
        if now is not None and now.made is pending:
            now.note_due_s = self._now_s()  # only its answer was lost
        elif now is not None:
            take_off(now, pending)
            now.lost = now.lost or pending  # of two, the smaller one may be made alone
            self._follow(now)  # the raise before it, which its node may have granted

    def _refused(self, pod: Rescuable, pending: Pending, why: str) -> None:
        log.warning("raise refused", pod=pod.uid, error=why)
        now = self._pods.get(pod.uid)
        if now is None:
            return
        if now.made is pending:
            now.note_due_s = self._now_s()  # its node granted the try before this one
            return
        take_off(now, pending)
        if now.given_up is None:
            now.given_up = "the API server refuses a raise"
            self._raiser.left(now, "refused", f"the API server refuses it: {why[:200]}")
        self._follow(now)

    def _follow(self, pod: Rescuable) -> None:
        """See whether a raise was granted or refused."""
        if (pending := pod.pending) is None:
            return
        if pod.enforced_bytes >= pending.limit_bytes - SAME_BYTES:
            self._grant(pod, pending)
            return
        why = refusal(pod.pod, pending.failed_before)
        generation = metadata_of(pod.pod).get("generation")
        if why is None or (generation is not None and generation == pending.refused_at):
            return
        if pod.given_up is None:
            self._raiser.left(pod, why.lower(), f"its node answers {why} to a raise")
        pod.given_up, pod.lost = f"its node answers {why}", None
        if why != "Infeasible":  # that says what the pod is, not what room the node has
            self._full_s[pod.node] = self._now_s() + FULL_S
        # Its node may have granted the raise before this one, or may still grant that alone.
        fall_back(pod, pending)
        had = pod.container
        if pod.pending is not None:
            failed = failed_resize(pod.pod)
            pod.pending = replace(pod.pending, failed_before=failed, refused_at=generation)
            if pod.enforced_bytes >= pod.pending.limit_bytes - SAME_BYTES:
                self._grant(pod, pod.pending)
        self._begin(self._withdraw(pod, had, why))

    def _grant(self, pod: Rescuable, pending: Pending) -> None:
        pod.pending, pod.earlier, pod.made = None, (), pending
        if pod.first_s is None:
            pod.first_s = time.time()
        self._begin(self._raiser.granted(pod, pending, self._now_s() - pending.asked_s))

    async def _withdraw(self, pod: Rescuable, had: SizedContainer, why: str) -> None:
        now = await self._raiser.withdraw(pod, had, why)
        if now is not None:
            self.see(now, gone=False)

    def _count(self, answer: str) -> None:
        self._raiser.metrics.alarms.labels(answer).inc()
