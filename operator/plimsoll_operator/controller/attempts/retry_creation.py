"""Makes one planned retry at the API server, or says why it is not made.

The killed pod is read, the retry is created, and the killed pod is marked with the retry's name.
So a retry follows only a pod that is still there and that nobody is deleting. A store that was
restored from an old backup repeats nothing: the pods of its intents are gone, or name the retry
that they had.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import structlog

from plimsoll_operator.attempts.healing import Healing, healing_of
from plimsoll_operator.attempts.retry_pod import (
    planned_as_written,
    planned_manifest,
    planned_note,
)
from plimsoll_operator.attempts.watched_pod import read_pod
from plimsoll_operator.controller.tasks.task_policies import TaskPolicies
from plimsoll_operator.kube.client import Kube
from plimsoll_operator.kube.errors import AlreadyThere, ApiError, Changed, NotFound, Unreachable
from plimsoll_operator.names import labels
from plimsoll_operator.pods.spec import Pod, annotations_of, metadata_of
from plimsoll_operator.pods.status import pod_uid
from plimsoll_operator.sizing.decision_note import DecisionNote
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.knowledge.knowledge import Knowledge
from plimsoll_predictor.store import RetryIntent

log = structlog.get_logger()

GIVE_UP_AFTER_S: Final = 3600.0
"""A retry that the API server refuses is tried again for this long, and longer on a full quota."""
EXCEEDED_QUOTA: Final = "exceeded quota"
"""The API server's words for a pod for which a quota has no room."""
RETRY_WITHIN_S: Final = 24 * 3600.0
"""No retry is made if it was planned, or its pod was killed, longer ago: nobody waits for it.

A first start sees such pods, and so does a store restored from a backup.
"""
NO_MANIFEST: Final = ""
"""A retry with this manifest must not be made."""


class Ending(NamedTuple):
    """How a retry ended.

    key: the metric's result. words: for the log, the store and people.
    note: the decision on the retry's pod, where it was made now; people may have changed the plan.
    """

    key: str
    words: str
    note: DecisionNote | None = None


CREATED = Ending("created", "created")
THERE_ALREADY = Ending("there-already", "was there already")
PASSED_OVER = Ending("passed-over", "passed over: killed as written, while its task was paused")
EXCLUDED = Ending(PASSED_OVER.key, "passed over: its namespace is excluded")
GONE = Ending("gone", "not made: the killed pod is gone or being deleted")
EXPIRED = Ending(
    "expired",
    "not made within a day: a quota was full, its task was paused, or the API server did not"
    " answer",
)
GIVEN_UP: Final = "given-up"
KEYS: Final = (
    *(CREATED.key, THERE_ALREADY.key, GIVEN_UP),
    *(PASSED_OVER.key, GONE.key, EXPIRED.key),
)
_MARKED_WITHIN: Final = 3
"""A killed pod that changes while it is marked is read again, this many times at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryMaker:
    """Makes retries. Every step can be repeated: it finds what it did before."""

    kube: Kube
    policies: TaskPolicies
    now_s: Callable[[], float]

    async def make(self, intent: RetryIntent) -> Ending | None:
        """Try once. Return None to try again."""
        ending = self._not_wanted(intent)
        if ending is not None:
            return ending
        try:
            killed = await self._killed(intent)
            if isinstance(killed, Ending):
                return killed
            plan = self._plan(json.loads(intent.manifest), killed)
            if plan is None:
                return None
            ending = await self._create(intent, killed, planned_manifest(plan, killed))
            return ending and ending._replace(note=planned_note(plan))
        except NotFound as error:
            return _given_up(str(error))
        except (Unreachable, Changed) as error:
            log.warning("retry postponed", pod=intent.new_pod, error=str(error))
            return None
        except ApiError as error:
            return self._refused(intent, error)

    def _not_wanted(self, intent: RetryIntent) -> Ending | None:
        if intent.manifest == NO_MANIFEST:
            return PASSED_OVER  # the controller ended between planning and closing it
        return EXPIRED if self.now_s() - intent.planned_s > RETRY_WITHIN_S else None

    def _plan(self, plan: Mapping[str, Any], killed: Pod) -> Mapping[str, Any] | None:
        """Return the plan as far as people allow it now; None if it waits for a pause to end."""
        watched = read_pod(killed, self._knowledge)
        if watched is None:
            return plan
        paused = self.policies.pauses(watched.task)
        healing = healing_of(watched.mode, paused=paused, lowered=watched.is_lowered)
        if plan.get("written") is not None or healing is Healing.ALL:
            return plan
        if healing is Healing.AS_WRITTEN:
            as_written = planned_as_written(plan, watched.written)
            if as_written is not None:
                return as_written
        return None if paused else plan

    def _knowledge(self, task: TaskId) -> Knowledge:
        return Knowledge(task=task, policy=self.policies.of_task(task).policy)

    def _refused(self, intent: RetryIntent, error: ApiError) -> Ending | None:
        # Other pods now use the quota of the killed pod; it comes back when they end.
        waits_for_quota = EXCEEDED_QUOTA in str(error)
        if waits_for_quota or self.now_s() - intent.planned_s < GIVE_UP_AFTER_S:
            log.warning("retry refused", pod=intent.new_pod, error=str(error))
            return None
        return _given_up(str(error))

    async def _killed(self, intent: RetryIntent) -> Pod | Ending:
        """Return the killed pod as it is now, or the ending of a retry that must not be made."""
        try:
            killed = await self.kube.read_pod(intent.namespace, intent.pod)
        except NotFound:
            return GONE
        meta = metadata_of(killed)
        if meta.get("uid") != pod_uid(intent.attempt_uid) or meta.get("deletionTimestamp"):
            return GONE
        return THERE_ALREADY if labels.RETRIED_AS in annotations_of(killed) else killed

    async def _create(
        self, intent: RetryIntent, killed: Pod, manifest: Mapping[str, Any]
    ) -> Ending | None:
        """Create the retry and mark the killed pod; errors are those of ``Kube.create_pod``."""
        ending: Ending | None = CREATED
        try:
            await self.kube.create_pod(manifest)
        except AlreadyThere:
            ending = await self._whose(intent, manifest)
        if ending in (CREATED, THERE_ALREADY):
            await self._mark(intent, killed)
        return ending

    async def _mark(self, intent: RetryIntent, killed: Pod) -> None:
        """Write the retry's name on the killed pod, where it outlives the store."""
        for _ in range(_MARKED_WITHIN):
            try:
                await self.kube.annotate_pod(killed, {labels.RETRIED_AS: intent.new_pod})
            except Changed:
                with contextlib.suppress(ApiError):
                    killed = await self.kube.read_pod(intent.namespace, intent.pod)
                if metadata_of(killed).get("uid") != pod_uid(intent.attempt_uid):
                    return
            except ApiError as error:
                log.warning("killed pod not marked", pod=intent.pod, error=str(error))
                return
            else:
                return

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


def _given_up(why: str) -> Ending:
    return Ending(GIVEN_UP, f"given up: {why}")


def _retry_of(pod: Mapping[str, Any]) -> object:
    return (pod["metadata"].get("annotations") or {}).get(labels.RETRY_OF)
