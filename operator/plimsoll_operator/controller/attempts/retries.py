"""Makes the next attempt after a lift, once, if nobody else makes it.

An intent is committed, the retry is made of it (``retry_creation.py``), and the intent is closed.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import structlog

from plimsoll_operator.attempts.over import changed_s, is_over
from plimsoll_operator.attempts.refused import was_refused_raised
from plimsoll_operator.attempts.retry_pod import NextAttempt, planned_note, retry_name
from plimsoll_operator.attempts.truth_table import OOM_KILLED
from plimsoll_operator.attempts.watched_pod import WatchedPod
from plimsoll_operator.controller.announcing.announcer import Announcer
from plimsoll_operator.controller.attempts.calls_in_turn import CallsInTurn, spread
from plimsoll_operator.controller.attempts.replacing import (
    LONGEST_PAUSE_S,
    Replacements,
    may_follow,
)
from plimsoll_operator.controller.attempts.retry_creation import (
    CREATED,
    EXCLUDED,
    EXPIRED,
    GIVEN_UP,
    KEYS,
    NO_MANIFEST,
    PASSED_OVER,
    RETRY_WITHIN_S,
    THERE_ALREADY,
    Ending,
    RetryMaker,
)
from plimsoll_operator.controller.hub.hub import AttemptEnded
from plimsoll_operator.controller.tasks.task_policies import TaskPolicies
from plimsoll_operator.kube.client import Kube
from plimsoll_operator.names import labels
from plimsoll_operator.pods.attempts import has_only_one
from plimsoll_operator.pods.identity import Retrier, is_bare
from plimsoll_operator.pods.spec import annotations_of
from plimsoll_operator.pods.status import pod_uid
from plimsoll_operator.sizing.cpu_sizing import is_enforced
from plimsoll_operator.sizing.decision_note import CpuNote, DecisionNote, note_to_json
from plimsoll_operator.wording import event_words
from plimsoll_predictor.core.decision import Reason
from plimsoll_predictor.core.policy import Retry
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import words_for_bytes
from plimsoll_predictor.knowledge.knowledge import Lift
from plimsoll_predictor.store import RetryIntent, Store, Writer

log = structlog.get_logger()


@dataclass(slots=True, kw_only=True)
class Retries:
    """Carries out retries; the intent is committed before the pod is created."""

    kube: Kube
    store: Store
    writer: Writer
    announcer: Announcer
    policies: TaskPolicies
    now_s: Callable[[], float]
    results: Counter[str] = field(
        init=False,
        default_factory=lambda: Counter(dict.fromkeys(KEYS, 0)),
    )
    _under_way: dict[str, asyncio.Task[None]] = field(init=False, default_factory=dict)
    _turns: CallsInTurn = field(init=False, default_factory=CallsInTurn)
    _replacements: Replacements = field(init=False)

    def __post_init__(self) -> None:
        """Make the part that deletes pods which somebody else makes again."""
        self._replacements = Replacements(
            kube=self.kube, announcer=self.announcer, now_s=self.now_s
        )

    async def resume(self) -> None:
        """Carry out, at a start, the intents that are not known to be done."""
        for intent in await self.writer.read(self.store.retries.waiting):
            if self.policies.leave_alone(intent.namespace):
                await self._close(intent, EXCLUDED)
            else:
                self._begin(intent)

    async def follow(self, ended: AttemptEnded, lift: Lift) -> bool:
        """Take care of the attempt after a lifted OOM kill, whoever makes it.

        Return False if the pod must be seen again: its other containers have not ended yet.
        """
        watched, status = ended.watched, ended.status
        if not may_follow(status):
            return True
        if not _is_copied(ended):
            # A pod that its node evicted has failed as a whole: it is not restarted in place.
            if status.phase != "Failed":
                self._replacements.replace(ended)
            return True
        if watched.retry is not Retry.AUTO or _is_the_only_one(ended):
            return True
        over = _is_over_for_good(ended)
        if over and status.phase != "Succeeded" and not self._is_history(ended):
            await self._intend(ended, lift)
        return over

    async def pass_over(self, ended: AttemptEnded) -> None:
        """Store that an attempt killed at its written size in a pause is not retried later."""
        intent = self._intent(ended, "", NO_MANIFEST)
        if await self.writer.call(self.store.retries.plan, intent):
            await self._close(intent, PASSED_OVER)

    def _is_history(self, ended: AttemptEnded) -> bool:
        ended_s = ended.status.finished_s
        if ended_s is None:
            # The end of some evicted pods is unknown. They may stay there for weeks.
            ended_s = changed_s(ended.pod) or ended.status.submitted_s
        return ended_s is not None and self.now_s() - ended_s > RETRY_WITHIN_S

    def _intent(self, ended: AttemptEnded, name: str, manifest: str) -> RetryIntent:
        return RetryIntent(
            attempt_uid=ended.status.attempt_uid,
            namespace=str(ended.pod["metadata"]["namespace"]),
            pod=str(ended.pod["metadata"]["name"]),
            new_pod=name,
            manifest=manifest,
            planned_s=self.now_s(),
        )

    async def close(self) -> None:
        """Stop. Retries that are not done stay intended, and the next start resumes them."""
        for task in self._under_way.values():
            task.cancel()
        await asyncio.gather(*self._under_way.values(), return_exceptions=True)
        await self._replacements.close()

    async def _intend(self, ended: AttemptEnded, lift: Lift) -> None:
        pod, watched = ended.pod, ended.watched
        name = retry_name(pod, lift.attempt)
        following = NextAttempt(
            name,
            watched.attempt.container,
            lift.allocation_bytes,
            _note(watched, lift),
            task=watched.task.name,
            written=watched.written if lift.as_written else None,
        )
        intent = self._intent(ended, name, following.to_json())
        if not await self.writer.call(self.store.retries.plan, intent):
            return  # planned before
        if labels.RETRIED_AS in annotations_of(pod):
            # The store was restored from a backup, and lacks the retry that the pod names.
            await self._close(intent, THERE_ALREADY)
            return
        self._begin(intent)

    def _begin(self, intent: RetryIntent) -> None:
        if intent.attempt_uid in self._under_way:
            return
        task = asyncio.create_task(self._carry_out(intent), name=f"retry {intent.new_pod}")
        self._under_way[intent.attempt_uid] = task
        task.add_done_callback(lambda done: self._ended(intent, done))

    def _ended(self, intent: RetryIntent, done: asyncio.Task[None]) -> None:
        self._under_way.pop(intent.attempt_uid, None)
        if not done.cancelled() and (error := done.exception()) is not None:
            # Only the store can fail here, at the end: the next start resumes the intent.
            log.error("retry interrupted", pod=intent.new_pod, error=repr(error))

    async def _carry_out(self, intent: RetryIntent) -> None:
        pause_s = 0.5
        maker = RetryMaker(kube=self.kube, policies=self.policies, now_s=self.now_s)
        while True:
            ending = await self._tried(maker, intent)
            if ending is not None:
                self._tell(intent, ending)
                await self._close(intent, ending)
                return
            await asyncio.sleep(spread(pause_s))
            pause_s = min(pause_s * 2, LONGEST_PAUSE_S)

    async def _tried(self, maker: RetryMaker, intent: RetryIntent) -> Ending | None:
        try:
            async with self._turns.of(intent.namespace):
                return await maker.make(intent)
        except Exception:
            # Nobody else makes this retry, so an error of ours must not end it.
            log.exception("retry failed, trying again", pod=intent.new_pod)
            return None

    def _tell(self, intent: RetryIntent, ending: Ending) -> None:
        """Tell people what became of a retry; if the store then fails, it is told once more."""
        note = ending.note or planned_note(json.loads(intent.manifest or "{}"))
        happening = None if note is None else _happening(intent, ending, note)
        if note is None or happening is None:
            return
        killed = event_words.Regarding(
            kind="Pod",
            namespace=intent.namespace,
            name=intent.pod,
            uid=pod_uid(intent.attempt_uid),
        )
        self.announcer.tell(happening, killed, TaskId.parse(note.task))

    async def _close(self, intent: RetryIntent, ending: Ending) -> None:
        await self.writer.call(self.store.retries.close, intent.attempt_uid, ending.words)
        self.results[ending.key] += 1
        log.info("retry", pod=intent.new_pod, follows=intent.pod, result=ending.words)


def _is_copied(ended: AttemptEnded) -> bool:
    """Say whether Plimsoll makes the next pod. A kubelet restarts no pod that it has refused."""
    retrier = ended.watched.retrier
    if retrier is Retrier.KUBELET:
        return is_bare(ended.pod) and was_refused_raised(ended.watched, ended.status)
    return retrier is Retrier.PLIMSOLL


def _is_the_only_one(ended: AttemptEnded) -> bool:
    """Say whether the run gets no second start.

    A pod that its node refused has had none. What was lowered is given back in any case: an older
    version lowered pods that say this, too.
    """
    if ended.watched.has_less or was_refused_raised(ended.watched, ended.status):
        return False
    return has_only_one(ended.pod)


def _is_over_for_good(ended: AttemptEnded) -> bool:
    """Say whether the pod is over, and the reason of its end cannot change any more.

    If the kernel reports a kill at the limit, that is final. For any other end, only the phase that
    the kubelet sets says whether it was a deadline, an eviction or the node's shutdown.
    """
    status = ended.status
    if status.has_final_phase:
        return True
    killed = status.terminated is not None and status.terminated.reason == OOM_KILLED
    return killed and is_over(ended.pod)


def _happening(
    intent: RetryIntent, ending: Ending, note: DecisionNote
) -> event_words.Happening | None:
    """Return what people are told; None for a retry that nobody waits for."""
    if ending.key in (CREATED.key, THERE_ALREADY.key):
        as_written = note.reason is Reason.NOT_LOWERED
        size_bytes = None if as_written else note.allocation_bytes
        return event_words.retried(intent.new_pod, note.attempt, size_bytes)
    if ending.key in (GIVEN_UP, EXPIRED.key):
        return event_words.retry_not_made(intent.new_pod, note.attempt, ending.words)
    return None


def _note(watched: WatchedPod, lift: Lift) -> str:
    return note_to_json(
        DecisionNote(
            task=str(watched.task),
            run=watched.attempt.run,
            attempt=lift.attempt,
            allocation_bytes=watched.attempt.request_bytes
            if lift.as_written
            else lift.allocation_bytes,
            was_request_bytes=watched.attempt.request_bytes,
            was_limit_bytes=watched.note.was_limit_bytes if watched.note else watched.limit_bytes,
            bin=None,
            probability=None,
            model=None,
            reason=Reason.NOT_LOWERED if lift.as_written else Reason.LIFTED,
            why=f"attempt {lift.attempt}: {_why(lift)}",
            mode=watched.mode,
            container=watched.attempt.container,
            cpu=_cpu_anew(watched.note),
            context=watched.note.context if watched.note else {},
        )
    )


def _cpu_anew(note: DecisionNote | None) -> CpuNote | None:
    """Return no decision on CPU that was applied: the copy has what was written."""
    cpu = note.cpu if note is not None else None
    return None if cpu is None or is_enforced(cpu) else cpu


def _why(lift: Lift) -> str:
    failed_at = words_for_bytes(lift.after_bytes)
    if lift.exactly:
        return "a node refused the one before, which had more, so it has exactly what was written"
    if lift.as_written:
        return f"the one before came to nothing at {failed_at}, so it has what was written"
    return f"{failed_at} was too small"
