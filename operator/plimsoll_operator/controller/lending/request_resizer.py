"""Lowers and raises one running pod's memory request, so that neither a race nor a crash harms it.

    annotation (what it asked for) ─► request lowered ─► ... ─► request raised ─► the node grants it
                                                                       ─► annotation removed

Each patch names the version of the pod that was decided on. After a crash between any two, the
annotation still says what the pod asked for, and its request says whether it lends.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

import structlog

from plimsoll_operator.controller.announcing.announcer import Announcer
from plimsoll_operator.controller.lending.running_pods import Running
from plimsoll_operator.kube.client import Kube
from plimsoll_operator.kube.errors import ApiError, Changed, NotFound, Unreachable
from plimsoll_operator.lending.lent_note import lent_to_json, read_lent, resize_body
from plimsoll_operator.metrics.controller import LendingMetrics
from plimsoll_operator.names import labels
from plimsoll_operator.names.objects import name_of
from plimsoll_operator.names.quantity import format_bytes
from plimsoll_operator.pods.spec import Pod
from plimsoll_operator.wording import event_words
from plimsoll_predictor.lending.node_steps import Why

log = structlog.get_logger()

TRIES: Final = 3
"""A pod may change at any moment; taking back must not wait for the next look."""
WORDS: Final = {
    Why.GREW: "it uses more than while it was flat",
    Why.SIBLING: "another pod of its task grew after it had lent",
    Why.SILENT: "it is no longer measured: its node's agent is silent",
    Why.PRESSURE: "its node is short of memory",
    Why.NOT_ALLOWED: "its policy, a pause or a quota does not allow it any more",
}


@dataclass(frozen=True, slots=True)
class RequestResizer:
    """Each method returns the pod as its call left it; None if the watch has to tell."""

    kube: Kube
    announcer: Announcer
    metrics: LendingMetrics
    taken_back: Counter[str] = field(default_factory=Counter)
    """Reason -> attempts that began to take back what they lent."""

    async def lend(self, running: Running, held_bytes: int) -> Pod | None:
        """Lower the request; raise ApiError if it is refused for good."""
        asked, noted = running.asked, None
        try:
            note = {labels.LENT: lent_to_json(asked)}
            noted = await self.kube.annotate_pod(running.pod, note)
            body = resize_body(asked.container, format_bytes(held_bytes))
            resized = await self.kube.resize_pod(noted, body)
        except (Changed, NotFound, Unreachable):
            # It may be done all the same, and the watch may have shown a newer pod than ``noted``.
            self._count("failed")
            return None
        except ApiError:
            self._count("refused")
            await self._unmark(noted)
            raise
        self._count("lent")
        used_bytes = running.curve.used_bytes if running.curve else 0
        log.info(
            "lends",
            task=str(running.watched.task),
            pod=name_of(running.pod),
            asked_bytes=asked.request_bytes,
            held_bytes=held_bytes,
            used_bytes=used_bytes,
        )
        happening = event_words.lent(asked.request_bytes, held_bytes, used_bytes)
        self._tell(happening, running)
        return resized

    async def take_back(self, running: Running, why: Why) -> Pod | None:
        """Raise the request to what it was; raise ApiError if that is refused."""
        pod: Pod = running.pod
        asked = running.asked
        for _ in range(TRIES):
            try:
                body = resize_body(asked.container, asked.request)
                resized = await self.kube.resize_pod(pod, body)
            except Changed:
                pod = await self._read(running)
                if read_lent(pod) is None:
                    return pod
                continue
            except (NotFound, Unreachable):
                return None
            except ApiError:
                self._count("return_refused")
                raise
            self.metrics.taken_back.labels(why.value).inc()
            self.taken_back[why.value] += 1
            log.info(
                "takes back",
                task=str(running.watched.task),
                pod=name_of(pod),
                asked_bytes=asked.request_bytes,
                held_bytes=running.held_bytes,
                used_bytes=running.curve.used_bytes if running.curve else None,
                why=why.value,
            )
            happening = event_words.taken_back(running.held_bytes, asked.request_bytes, WORDS[why])
            self._tell(happening, running)
            return resized
        return pod

    async def finish(self, running: Running) -> Pod | None:
        """Remove the annotation of a pod with its whole request; raise ApiError if that fails."""
        try:
            pod = await self.kube.annotate_pod(running.pod, {labels.LENT: None})
        except (Changed, NotFound):
            return None
        if running.has_lent:
            self._count("returned")
        return pod

    def _tell(self, happening: event_words.Happening, running: Running) -> None:
        # What is held of the pod may not show its task any more.
        regarding = event_words.Regarding.of(running.pod)
        self.announcer.tell(happening, regarding, running.watched.task)

    async def _read(self, running: Running) -> Pod:
        meta = running.pod["metadata"]
        pod = await self.kube.read_pod(meta["namespace"], meta["name"])
        if pod["metadata"]["uid"] != running.uid:
            raise NotFound(f"{name_of(pod)} is another pod by now")
        return pod

    async def _unmark(self, pod: Pod | None) -> None:
        if pod is None:
            return
        try:
            await self.kube.annotate_pod(pod, {labels.LENT: None})
        except ApiError as error:
            log.info("annotation not removed yet", pod=name_of(pod), error=str(error))

    def _count(self, result: str) -> None:
        self.metrics.resizes.labels(result).inc()
