"""Makes the next attempt after a lift where nobody else makes it, and only once."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import structlog

from plimsoll_operator.attempts.retry_pod import NextAttempt, planned_manifest, retry_name
from plimsoll_operator.attempts.watched_pod import WatchedPod
from plimsoll_operator.controller.announcing.announcer import Announcer
from plimsoll_operator.controller.hub.hub import AttemptEnded
from plimsoll_operator.controller.tasks.task_policies import TaskPolicies
from plimsoll_operator.kube.client import Kube
from plimsoll_operator.kube.errors import AlreadyThere, ApiError, Changed, NotFound, Unreachable
from plimsoll_operator.names import labels
from plimsoll_operator.pods.identity import Retrier, identify
from plimsoll_operator.pods.spec import Pod, RestartPolicy, metadata_of, restart_policy
from plimsoll_operator.pods.status import AttemptStatus
from plimsoll_operator.profile import events
from plimsoll_operator.sizing.decision_note import DecisionNote, note_to_json
from plimsoll_predictor.core.decision import Reason
from plimsoll_predictor.core.policy import Retry
from plimsoll_predictor.core.units import words_for_bytes
from plimsoll_predictor.knowledge.knowledge import Lift
from plimsoll_predictor.store import RetryIntent, Store, Writer

log = structlog.get_logger()

GIVE_UP_AFTER_S = 3600.0
"""A retry that the API server refuses (a full quota, say) is tried again this long."""
RETRY_WITHIN_S = 24 * 3600.0
"""A pod killed longer ago, seen at a first start, is history: nobody waits for it any more."""
LONGEST_PAUSE_S = 30.0


NO_MANIFEST = ""
"""A retry with this manifest is not to be made."""


class Ending(NamedTuple):
    """How a retry ended. key: by which it is counted. words: for the log and the store."""

    key: str
    words: str


CREATED = Ending("created", "created")
THERE_ALREADY = Ending("there-already", "was there already")
PASSED_OVER = Ending("passed-over", "passed over: it was killed while its task was paused")
EXCLUDED = Ending("passed-over", "passed over: its namespace is excluded")
GIVEN_UP = "given-up"
GONE = Ending(GIVEN_UP, f"{GIVEN_UP}: the killed pod is gone")


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
        default_factory=lambda: Counter(
            dict.fromkeys((CREATED.key, THERE_ALREADY.key, GIVEN_UP, PASSED_OVER.key), 0)
        ),
    )
    _under_way: dict[str, asyncio.Task[None]] = field(init=False, default_factory=dict)

    async def resume(self) -> None:
        """Carry out at a start what was intended and is not known to be done."""
        for intent in await self.writer.read(self.store.retries.waiting):
            if self.policies.leave_alone(intent.namespace):
                await self._close(intent, EXCLUDED)
            else:
                self._begin(intent)

    async def follow(self, ended: AttemptEnded, lift: Lift) -> bool:
        """See to the attempt after a lifted OOM kill, whoever makes it.

        Return False if the pod must be seen again: its other containers have not ended yet.
        """
        watched, status = ended.watched, ended.status
        if watched.retrier is not Retrier.PLIMSOLL:
            if restart_policy(ended.pod) is not RestartPolicy.NEVER:
                await self._replace(ended.pod, watched)
            return True
        if watched.retry is not Retry.AUTO or status.taken_away:
            return True
        if status.phase == "Failed" and not self._is_history(status):
            await self._intend(ended, lift)
        return status.phase in ("Failed", "Succeeded")

    async def pass_over(self, ended: AttemptEnded) -> None:
        """Store that an attempt killed during a pause is not retried, even after a restart."""
        intent = self._intent(ended, "", NO_MANIFEST)
        if await self.writer.call(self.store.retries.plan, intent):
            await self._close(intent, PASSED_OVER)

    def _is_history(self, status: AttemptStatus) -> bool:
        ended_s = status.finished_s
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

    async def _intend(self, ended: AttemptEnded, lift: Lift) -> None:
        pod, watched = ended.pod, ended.watched
        name = retry_name(pod, lift.attempt)
        following = NextAttempt(
            name, watched.attempt.container, lift.allocation_bytes, _note(watched, lift)
        )
        intent = self._intent(ended, name, following.to_json())
        if not await self.writer.call(self.store.retries.plan, intent):
            return  # planned before: people were told then, or it was passed over
        self._begin(intent)
        happening = events.retried(name, lift.attempt, lift.allocation_bytes)
        self.announcer.announce(happening, pod)

    def _begin(self, intent: RetryIntent) -> None:
        if intent.attempt_uid in self._under_way:
            return
        task = asyncio.create_task(self._carry_out(intent), name=f"retry {intent.new_pod}")
        self._under_way[intent.attempt_uid] = task
        task.add_done_callback(lambda done: self._ended(intent, done))

    def _ended(self, intent: RetryIntent, done: asyncio.Task[None]) -> None:
        self._under_way.pop(intent.attempt_uid, None)
        if not done.cancelled() and (error := done.exception()) is not None:
            # It is still intended, and the next start resumes it.
            log.error("retry interrupted", pod=intent.new_pod, error=repr(error))

    async def _carry_out(self, intent: RetryIntent) -> None:
        pause_s = 0.5
        while True:
            ending = await self._try(intent)
            if ending is not None:
                await self._close(intent, ending)
                return
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 2, LONGEST_PAUSE_S)

    async def _close(self, intent: RetryIntent, ending: Ending) -> None:
        await self.writer.call(self.store.retries.close, intent.attempt_uid, ending.words)
        self.results[ending.key] += 1
        log.info("retry", pod=intent.new_pod, follows=intent.pod, result=ending.words)

    async def _try(self, intent: RetryIntent) -> Ending | None:
        """Try once to create the pod. Return None to try again."""
        if intent.manifest == NO_MANIFEST:
            return PASSED_OVER  # the controller ended between planning and closing it
        manifest = await self._manifest(intent)
        if manifest is None or isinstance(manifest, Ending):
            return manifest
        try:
            await self.kube.create_pod(manifest)
        except AlreadyThere:
            return await self._whose(intent, manifest)
        except NotFound as error:
            return _given_up(str(error))
        except (Unreachable, Changed) as error:
            log.warning("retry postponed", pod=intent.new_pod, error=str(error))
            return None
        except ApiError as error:
            if self.now_s() - intent.planned_s < GIVE_UP_AFTER_S:
                log.warning("retry refused", pod=intent.new_pod, error=str(error))
                return None
            return _given_up(str(error))
        return CREATED

    async def _manifest(self, intent: RetryIntent) -> Mapping[str, Any] | Ending | None:
        """Make the new pod from the killed one. Return None to try again."""
        try:
            killed = await self.kube.read_pod(intent.namespace, intent.pod)
        except NotFound:
            return GONE
        except ApiError as error:
            log.warning("retry postponed", pod=intent.new_pod, error=str(error))
            return None
        if metadata_of(killed).get("uid") != intent.attempt_uid.partition("/")[0]:
            return GONE
        manifest = planned_manifest(json.loads(intent.manifest), killed)
        identity = identify(manifest)
        paused = identity is not None and self.policies.pauses(identity.task)
        return None if paused else manifest

    async def _whose(self, intent: RetryIntent, manifest: Mapping[str, Any]) -> Ending | None:
        """Find out whose pod has the retry's name: one made before a crash, or someone else's."""
        try:
            there = await self.kube.read_pod(intent.namespace, intent.new_pod)
        except ApiError:
            return None
        if _retry_of(there) == _retry_of(manifest):
            return THERE_ALREADY
        log.error("retry given up, another pod has its name", pod=intent.new_pod)
        return _given_up("another pod has its name")

    async def _replace(self, pod: Pod, watched: WatchedPod) -> None:
        """Delete a pod whose owner makes the next one, which admission lifts.

        A container restarted in place keeps the old limit; see kubernetes/kubernetes#138760.
        """
        meta = pod["metadata"]
        if watched.retrier in (Retrier.KUBELET, Retrier.ENGINE):
            self.announcer.announce(events.stuck(), pod)
            return
        try:
            await self.kube.delete_pod(meta["namespace"], meta["name"], meta["uid"])
            self.announcer.announce(events.replaced(), pod)
        except (NotFound, Changed):
            return
        except ApiError as error:
            log.warning("pod not replaced", pod=meta["name"], error=str(error))


def _given_up(why: str) -> Ending:
    return Ending(GIVEN_UP, f"given up: {why}")


def _retry_of(pod: Mapping[str, Any]) -> object:
    return (pod["metadata"].get("annotations") or {}).get(labels.RETRY_OF)


def _note(watched: WatchedPod, lift: Lift) -> str:
    return note_to_json(
        DecisionNote(
            task=str(watched.task),
            run=watched.attempt.run,
            attempt=lift.attempt,
            allocation_bytes=lift.allocation_bytes,
            was_request_bytes=watched.attempt.request_bytes,
            was_limit_bytes=watched.note.was_limit_bytes if watched.note else watched.limit_bytes,
            bin=None,
            probability=None,
            model=None,
            reason=Reason.LIFTED,
            why=f"attempt {lift.attempt}: {words_for_bytes(lift.after_bytes)} was too small",
            mode=watched.mode,
            container=watched.attempt.container,
            cpu=watched.note.cpu if watched.note else None,
            context=watched.note.context if watched.note else {},
        )
    )
