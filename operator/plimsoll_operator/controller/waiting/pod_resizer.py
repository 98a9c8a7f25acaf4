"""Resizes one pod that waits for a node, so that neither a race nor a crash harms it.

Two patches, each naming the version of the pod that was decided on:

    annotation (what was asked, what it has, what it gets) ─► resize ─► Event, decision kept

A binding makes a new version of the pod. Either it comes after the resize, or the resize is refused
and the pod keeps the size by which it was placed. After a crash between the two patches, the
annotation still says what the user asked for: a waiting pod is decided again, and the annotation of
a bound one is corrected.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import structlog

from plimsoll_operator.controller.announcing.announcer import Announcer
from plimsoll_operator.controller.hub.habits import KeyedLocks
from plimsoll_operator.controller.tasks.publishing import SizingState
from plimsoll_operator.kube.client import Kube
from plimsoll_operator.kube.errors import (
    UNREACHABLE_PAUSE_S,
    ApiError,
    Changed,
    NotFound,
    Unreachable,
)
from plimsoll_operator.late_binding.resizing import (
    Left,
    Place,
    Resize,
    place_of,
    resize_for,
    unapplied,
)
from plimsoll_operator.late_binding.restoring_written import NO_ROOM
from plimsoll_operator.late_binding.waiting_pods import WaitingPods
from plimsoll_operator.metrics.controller import LateBindingMetrics
from plimsoll_operator.names import labels
from plimsoll_operator.names.objects import name_of
from plimsoll_operator.pods.spec import Pod, annotations_of
from plimsoll_operator.sizing.decision_note import note_to_json
from plimsoll_operator.sizing.patch import Memory
from plimsoll_operator.sizing.state import AdmissionState

log = structlog.get_logger()

TRIES: Final = 5
"""A pod that changes during every try is left until its task learns again."""
MAX_UNANNOUNCED: Final = 10_000


class NotAllowed(Exception):
    """RBAC does not let us patch pods of ``namespace``: nothing more is tried."""

    def __init__(self, namespace: str) -> None:
        super().__init__(f"pods in {namespace} may not be resized")
        self.namespace = namespace


@dataclass(slots=True)
class PodResizer:
    """Decides and resizes single pods of ``waiting``."""

    kube: Kube
    sizing: SizingState
    announcer: Announcer
    metrics: LateBindingMetrics
    waiting: WaitingPods = field(default_factory=WaitingPods)
    now_s: Callable[[], float] = time.time
    limits_fall: bool = True
    """Whether the API server lets a limit be lowered; ``LateBinding`` asks it."""
    _refused: dict[str, Memory] = field(init=False, default_factory=dict)
    """UID -> the size that the API server refused; not tried again."""
    _cpu_refused: set[str] = field(init=False, default_factory=set)
    """UIDs of pods whose CPU request the API server did not let fall; their memory may still be
    resized."""
    _turns: KeyedLocks[str] = field(init=False, default_factory=KeyedLocks)
    """By UID; held while the pod is resized."""
    _unannounced: deque[tuple[Pod, Resize]] = field(
        init=False, default_factory=lambda: deque(maxlen=MAX_UNANNOUNCED)
    )

    def was_refused(self, uid: str, resize: Resize) -> bool:
        """Say whether the API server has refused this size for the pod (for a quota, say)."""
        return self._refused.get(uid) == resize.memory

    def forget(self, uid: str) -> None:
        """Forget a pod that does not wait any more."""
        self._refused.pop(uid, None)
        self._cpu_refused.discard(uid)

    def decide(self, pod: Pod, state: AdmissionState | None = None) -> Resize | Left:
        """Decide what a waiting pod gets. state: its task's, if the caller has it already."""
        try:
            sizing = state or self.sizing.for_pod(pod)
            cpu_falls = str(pod["metadata"]["uid"]) not in self._cpu_refused
            return resize_for(
                *(pod, sizing, self.now_s()), limits_fall=self.limits_fall, cpu_falls=cpu_falls
            )
        except Exception:
            # Strangers write pods: if one causes an error, it keeps what it has.
            log.exception("not decided", pod=name_of(pod))
            return Left("deciding failed")

    async def why_denied(self, namespace: str) -> str | None:
        """Say which right the role lacks to resize pods in a namespace; None if it has all."""
        for resource in ("pods", "pods/resize"):
            try:
                allowed = await self.kube.may("patch", "", resource, namespace)
            except ApiError:
                continue  # if this cannot be asked, a refusal counts as the pod's own
            if not allowed:
                return f'its role lacks the verb "patch" on {resource} in {namespace}'
        return None

    async def resize(self, uid: str) -> None:
        """Decide the pod again, and resize it if it still waits. NotAllowed if RBAC refuses."""
        # The task may learn while the pod is resized: the next resize waits for the result of this
        # one, and does not ask again for a refused size.
        async with self._turns.of(uid):
            await self._resize(uid)

    async def _resize(self, uid: str) -> None:
        pod = None
        for _ in range(TRIES):
            pod = self.waiting.get(uid)
            if pod is None:
                return
            decided = self.decide(pod)
            if isinstance(decided, Left) or self.was_refused(uid, decided):
                return
            if await self._try(pod, decided):
                return
        if pod is not None:
            self._count("failed", pod)

    async def _try(self, pod: Pod, resize: Resize) -> bool:
        """Try once. Return True if nothing is left to do; else the pod must be decided again."""
        try:
            await self._carry_out(pod, resize)
        except Changed:
            return not await self._still_waits(pod)
        except Unreachable:
            await asyncio.sleep(UNREACHABLE_PAUSE_S)
            return not await self._still_waits(pod)
        except NotFound:
            self._count("gone", pod)
        except ApiError as error:
            return await self._was_refused(pod, resize, error)
        return True

    async def announce(self) -> bool:
        """Announce one pod that was resized. Return False if all are announced.

        This is apart from resizing: Events can wait while pods wait to be resized.
        """
        if not self._unannounced:
            return False
        pod, resize = self._unannounced.popleft()
        cpu_given_back = None if resize.cpu_millicores is None else NO_ROOM
        await self.announcer.resized(pod, resize.task, resize.note, cpu_given_back)
        return True

    async def put_right(self, pod: Pod) -> None:
        """Correct a bound pod's annotation if it names a resize that never happened."""
        note = unapplied(pod)
        if note is None:
            return
        try:
            await self.kube.annotate_pod(pod, {labels.DECISION: note_to_json(note)})
        except (Changed, NotFound):
            return  # the change that came first brings another event
        except ApiError as error:
            log.warning("annotation not put right", pod=name_of(pod), error=str(error))

    async def _carry_out(self, pod: Pod, resize: Resize) -> None:
        noted = await self.kube.annotate_pod(pod, {labels.DECISION: note_to_json(resize.note)})
        try:
            resized = await self.kube.resize_pod(noted, resize.body())
        except (Changed, Unreachable, NotFound):
            raise
        except ApiError:
            await self._take_back(noted, pod)
            raise
        self.waiting.see(resized)
        self._count("resized", pod)
        self.metrics.freed.inc(max(0, resize.freed_bytes))
        log.info(
            "resized while waiting",
            task=str(resize.task),
            pod=name_of(pod),
            before_bytes=resize.note.before_bytes,
            allocation_bytes=resize.note.allocation_bytes,
            reason=resize.note.reason.value,
        )
        self._unannounced.append((pod, resize))

    async def _take_back(self, noted: Pod, before: Pod) -> None:
        """Restore the annotation after a resize was refused."""
        text = annotations_of(before).get(labels.DECISION)
        try:
            await self.kube.annotate_pod(noted, {labels.DECISION: text})
        except ApiError as error:
            log.info("annotation not taken back", pod=name_of(before), error=str(error))

    async def _still_waits(self, pod: Pod) -> bool:
        """Ask the API server whether the pod still waits."""
        meta = pod["metadata"]
        try:
            now = await self.kube.read_pod(meta["namespace"], meta["name"])
        except NotFound:
            self._count("gone", pod)
            return False
        except ApiError:
            return True  # as far as we know; the next try finds out
        if now["metadata"]["uid"] != meta["uid"]:
            self._count("gone", pod)
            return False
        self.waiting.see(now)
        if place_of(now) is Place.WAITING:
            return True
        self._count("bound", pod)
        return False

    async def _was_refused(self, pod: Pod, resize: Resize, error: ApiError) -> bool:
        """Remember it. Return True if nothing is left to do, as ``_try``."""
        namespace = str(pod["metadata"]["namespace"])
        if await self.why_denied(namespace) is not None:
            raise NotAllowed(namespace)
        self._count("refused", pod)
        log.info("resize refused", pod=name_of(pod), error=str(error))
        if resize.cpu_millicores is not None:
            self._cpu_refused.add(str(pod["metadata"]["uid"]))
            return not await self._still_waits(pod)
        self._refused[str(pod["metadata"]["uid"])] = resize.memory
        return True

    def _count(self, result: str, pod: Pod) -> None:
        self.metrics.resizes.labels(result).inc()
        if result in ("bound", "gone"):
            self.waiting.drop(str(pod["metadata"]["uid"]))
