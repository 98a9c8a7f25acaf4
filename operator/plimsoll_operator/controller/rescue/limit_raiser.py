"""Changes a running pod's memory by one call, with nothing read before it.

    PATCH pods/resize ──┬─► the node grants it ──► Rescued
                        │   the node refuses it ─► PATCH pods/resize, back to what it has
                        └─► PATCH annotation

The resize subresource takes no annotation, so a second call writes what the pod had before, as soon
as the API server has taken the raise; nothing waits for it. Both name the pod's UID and no version.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import structlog

from plimsoll_operator.controller.announcing.announcer import Announcer, Raised
from plimsoll_operator.controller.rescue.rescuable_pods import Pending, Rescuable
from plimsoll_operator.kube.errors import ApiError, Changed, NotFound, Unreachable
from plimsoll_operator.kube.running_pods import PodWriter
from plimsoll_operator.metrics.rescues import RescueMetrics
from plimsoll_operator.names import labels
from plimsoll_operator.names.objects import name_of
from plimsoll_operator.pods.spec import Pod, SizedContainer
from plimsoll_operator.rescue.raising import resize_body_by_uid, with_limit
from plimsoll_operator.sizing.patch import Memory
from plimsoll_operator.sizing.rescued_note import Rescued, rescued_to_json
from plimsoll_operator.wording import event_words

log = structlog.get_logger()

TRIES: Final = 2
"""A quota under many writes answers 409, a busy API server 429. Later tries would be too late."""


@dataclass(frozen=True, slots=True)
class LimitRaiser:
    """Methods return the pod as it is now; None if it is as it was, or is gone."""

    pods: PodWriter
    announcer: Announcer
    metrics: RescueMetrics

    async def raise_to(
        self, rescuable: Rescuable, pending: Pending, is_wanted: Callable[[], bool]
    ) -> Pod | None:
        """Raise request and limit; raise ApiError if it is refused for good.

        is_wanted: says whether it is worth a second try: one may have hung for long.
        """
        memory = with_limit(pending.before, pending.limit_bytes)
        body = resize_body_by_uid(rescuable.pod, pending.before.name, memory)
        began_s = time.monotonic()
        try:
            resized = await self._patch(rescuable.pod, body, is_wanted)
        except (NotFound, Unreachable, Changed):
            self._count("failed")
            return None
        except ApiError:
            self._count("refused")
            raise
        self.metrics.patch_seconds.observe(time.monotonic() - began_s)
        self._count("asked")
        return resized

    async def raised_by_agent(self, rescuable: Rescuable) -> None:
        """Write on a pod what it had before its agent raised it: the agent may not write that."""
        self._count("asked")
        await self.note(rescuable)

    async def withdraw(self, rescuable: Rescuable, before: SizedContainer, why: str) -> Pod | None:
        """Ask for what the pod has, after its node refused a raise: this frees the room again."""
        memory = Memory(before.request_bytes, before.limit_bytes)
        try:
            body = resize_body_by_uid(rescuable.pod, before.name, memory)
            pod = await self.pods.resize_in_place(rescuable.pod, body)
        except ApiError as error:
            # A server that lets no limit fall (1.33) keeps the raise as asked for, not granted.
            log.info("raise not withdrawn", pod=rescuable.uid, error=str(error))
            pod = None
        self._count(why.lower())
        return pod

    async def lower(self, rescuable: Rescuable, before: SizedContainer, memory: Memory) -> Pod:
        """Lower a pod that has stopped growing to what it needs; ApiError if refused."""
        pod = await self.pods.resize_in_place(
            rescuable.pod, resize_body_by_uid(rescuable.pod, before.name, memory)
        )
        self._count("given_back")
        log.info(
            "gives back",
            task=str(rescuable.watched.task),
            pod=name_of(rescuable.pod),
            before_bytes=before.limit_bytes,
            limit_bytes=memory.limit_bytes,
        )
        return pod

    async def _patch(self, pod: Pod, body: Mapping[str, Any], is_wanted: Callable[[], bool]) -> Pod:
        for number in range(TRIES):
            try:
                return await self.pods.resize_in_place(pod, body)
            except (Changed, Unreachable):
                if number + 1 == TRIES or not is_wanted():
                    raise
        raise AssertionError("it is returned or raised above")

    async def note(self, rescuable: Rescuable) -> None:
        """Write what the pod had before its first raise, and how often it was raised."""
        first = rescuable.first
        rescued = Rescued(
            uid=rescuable.uid,
            container=first.name,
            request_bytes=first.request_bytes or first.limit_bytes or 0,
            limit_bytes=first.limit_bytes or 0,
            raises=rescuable.raises,
        )
        try:
            await self.pods.note_on_pod(rescuable.pod, {labels.RESCUED: rescued_to_json(rescued)})
        except ApiError as error:
            log.warning("rescue not noted on its pod", pod=rescuable.uid, error=str(error))

    async def granted(self, rescuable: Rescuable, pending: Pending, took_s: float) -> None:
        """Tell that its node has granted a raise."""
        self._count("granted")
        self.metrics.granted_seconds.observe(took_s)
        before_bytes = pending.before.limit_bytes or 0
        log.info(
            "rescued",
            task=str(rescuable.watched.task),
            pod=name_of(rescuable.pod),
            before_bytes=before_bytes,
            limit_bytes=pending.limit_bytes,
            used_bytes=pending.used_bytes,
            raises=rescuable.raises,
            took_s=round(took_s, 3),
        )
        happening = event_words.rescued(before_bytes, pending.limit_bytes, pending.words)
        raised = Raised(
            task=rescuable.watched.task,
            first_bytes=rescuable.first.limit_bytes or 0,
            limit_bytes=pending.limit_bytes,
            first_s=rescuable.first_s,
        )
        await self.announcer.rescued(rescuable.pod, happening, raised)

    def left(self, rescuable: Rescuable, reason: str, words: str) -> None:
        """Tell once why a pod that nears its limit is left as it is."""
        log.info(
            "not rescued",
            task=str(rescuable.watched.task),
            pod=name_of(rescuable.pod),
            limit_bytes=rescuable.limit_bytes,
            why=reason,
        )
        happening = event_words.not_rescued(reason, words)
        # What is held of the pod may not show its task any more.
        regarding = event_words.Regarding.of(rescuable.pod)
        self.announcer.tell(happening, regarding, rescuable.watched.task)

    def _count(self, result: str) -> None:
        self.metrics.raises.labels(result).inc()
