"""Holds the running pods that may be rescued, and what rescues have added to each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import InitVar, dataclass, field, replace
from typing import Final

from plimsoll_operator.attempts.watched_pod import WatchedPod, read_pod
from plimsoll_operator.controller.attempts.peak_book import PeakBook
from plimsoll_operator.controller.lending.agents_heard import AgentsHeard
from plimsoll_operator.controller.tasks.book import TaskBook
from plimsoll_operator.controller.tasks.bounds import ClusterBounds
from plimsoll_operator.controller.tasks.nodes import ClusterNodes
from plimsoll_operator.pods.identity import identify
from plimsoll_operator.pods.resizes import granted_memory
from plimsoll_operator.pods.running_parts import held_bytes, running_parts
from plimsoll_operator.pods.running_room import RunningRoom
from plimsoll_operator.pods.spec import Pod, SizedContainer, mapping, sized_container
from plimsoll_operator.rescue.eligible import why_not
from plimsoll_operator.rescue.raising import most_bytes
from plimsoll_operator.sizing.decision_note import memory_asked
from plimsoll_operator.sizing.patch import Memory
from plimsoll_operator.sizing.rescued_note import before_rescue, read_rescued
from plimsoll_operator.sizing.stepping_back import memory_autoscaler
from plimsoll_predictor.core.policy import Rescue
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.lending.curves import Curve
from plimsoll_predictor.rescue.deciding import Room

MOST_PODS: Final = 20_000
"""Raised pods are held beyond it."""
RISE: Final = 0.01
RISE_BYTES: Final = MIB
"""A raised pod has grown if its need has risen by more than both. Its agent reports such a rise at
once. What counts as flat where memory is lent is too coarse here: a pod would be lowered while it
grows."""
MAX_BYTES: Final = 128 * MIB
"""The memory of all pods that may be raised, enough for some 10,000. When it is full, the namespace
that holds most loses its oldest. Pods that may have been raised have a room of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """A raise that was asked for and is not granted yet. asked_s: by the look's clock.

    before: the container as it was. used_bytes: what it used when it was decided.
    step_bytes: how high its next step may be; 0 if none was expected.
    failed_before: why its node could not carry out the resize before; as ``failed_resize``.
    refused_at: the pod's generation when its node refused a larger raise after this one. What its
        node says of that generation says nothing of this raise.
    """

    before: SizedContainer
    limit_bytes: int
    used_bytes: int
    asked_s: float
    words: str
    step_bytes: int = 0
    failed_before: str | None = None
    refused_at: int | None = None


@dataclass(slots=True)
class Rescuable:
    """One pod that may be rescued; only its ``running_parts`` are held.

    container: as it is now. first: as it was before the first raise.
    """

    pod: Pod
    watched: WatchedPod
    container: SizedContainer
    first: SizedContainer
    raises: int = 0
    noted: int = 0
    """How many of the raises its annotation counts."""
    notes: int = 0
    """How often the annotation was written again since the latest raise."""
    note_due_s: float = 0.0
    """When it is written again, by the look's clock, unless the pod has it by then."""
    first_s: float | None = None
    """When this controller first raised it, Unix seconds."""
    curve: Curve | None = None
    """The largest need that its agent has reported, since it was raised."""
    pending: Pending | None = None
    earlier: tuple[Pending, ...] = ()
    """Raises asked for before the pending one, oldest first. As far as is known, their node has not
    granted them, and none has failed. One of them stands if the pending one fails."""
    granted: SizedContainer | None = None
    """The container when its agent was granted a raise that, as far as known, is not made yet."""
    lost: Pending | None = None
    """A raise, if the API server gave no answer to it: it may be made all the same."""
    made: Pending | None = None
    """The latest raise that its node has granted."""
    given_up: str | None = None
    """Why no raise is tried again, in words."""
    back_due_s: float = 0.0
    """Until when it gives nothing back, by the look's clock, because the call failed."""
    keeps: bool = False
    """Whether it keeps what it was given, because the API server lets no limit fall."""

    @property
    def uid(self) -> str:
        """Return the pod's UID."""
        return self.watched.status.uid

    @property
    def node(self) -> str:
        """Return the pod's node; empty if it has none yet."""
        return self.watched.status.node or ""

    @property
    def may_be_raised_already(self) -> bool:
        """Say whether it was raised, or may have been without this controller's knowledge."""
        may_have = (self.pending, self.granted, self.lost)
        return self.raises > 0 or any(each is not None for each in may_have)

    @property
    def limit_bytes(self) -> int:
        """Return the limit in its spec, which its node may not have granted yet."""
        return self.container.limit_bytes or 0

    @property
    def enforced_bytes(self) -> int:
        """Return the limit in its status: a node may refuse to lower it to the one in its spec."""
        return granted_memory(self.pod, self.container.name, "limits") or 0

    @property
    def added_bytes(self) -> int:
        """Return what rescues have added to it."""
        now_bytes = max(self.limit_bytes, self.enforced_bytes)
        return max(0, now_bytes - (self.first.limit_bytes or 0))


@dataclass(slots=True, kw_only=True)
class RescuablePods:
    """Pods by UID. ``see`` never waits, and costs little for pods whose policy says never."""

    book: TaskBook
    bounds: ClusterBounds
    nodes: ClusterNodes
    peaks: PeakBook
    heard: AgentsHeard
    max_bytes: InitVar[int] = MAX_BYTES
    _pods: dict[str, Rescuable] = field(init=False, default_factory=dict)
    _on_node: dict[str, set[str]] = field(init=False, default_factory=dict)
    """Node -> UIDs of its pods: an alarm must not look at those of all nodes."""
    _room: RunningRoom = field(init=False)

    def __post_init__(self, max_bytes: int) -> None:
        self._room = RunningRoom(max_bytes)

    def __len__(self) -> int:
        return len(self._pods)

    @property
    def held_bytes(self) -> int:
        """Return about how much memory the pods take."""
        return self._room.held_bytes

    def __iter__(self) -> Iterator[Rescuable]:
        return iter(tuple(self._pods.values()))

    def get(self, uid: str) -> Rescuable | None:
        """Return a pod; None if it is not known, or may not be rescued."""
        return self._pods.get(uid)

    def see(self, pod: Pod, *, gone: bool) -> Rescuable | None:
        """Handle one event of a labelled pod. Return it, as it is now, if it is held."""
        uid = str(pod["metadata"]["uid"])
        now = None if gone else self._read(pod)
        before = self._take_out(uid)
        if now is None:
            return None
        if before is not None:
            now = _seen_again(before, now)
        elif len(self._pods) >= MOST_PODS and not now.may_be_raised_already:
            return None
        self._pods[uid] = now
        self._on_node.setdefault(now.node, set()).add(uid)
        self.give_room(now)
        return self._pods.get(uid)

    def give_room(self, rescuable: Rescuable) -> None:
        """Give a pod the room that it must have now: what may have been raised stays."""
        owner, size_bytes = rescuable.watched.task.namespace, held_bytes(rescuable.pod)
        changed = rescuable.may_be_raised_already
        for uid in self._room.take(owner, rescuable.uid, size_bytes, changed=changed):
            self._let_go(uid)

    def _take_out(self, uid: str) -> Rescuable | None:
        held = self._let_go(uid)
        if held is not None:
            self._room.drop(held.watched.task.namespace, uid)
        return held

    def _let_go(self, uid: str) -> Rescuable | None:
        held = self._pods.pop(uid, None)
        if held is not None:
            on_node = self._on_node[held.node]
            on_node.discard(uid)
            if not on_node:
                del self._on_node[held.node]
        return held

    def why_not(self, rescuable: Rescuable) -> str | None:
        """Say why a pod may not be rescued, by what holds now; None if it may."""
        watched = rescuable.watched
        policy = self.book.look(watched.task).policy
        autoscalers = self.bounds.autoscalers_in(watched.task.namespace)
        by = memory_autoscaler(rescuable.pod, rescuable.container, autoscalers)
        if by is not None:
            return f"the VerticalPodAutoscaler {by.name} sets its memory"
        return why_not(rescuable.pod, watched, policy, paused=self.book.policies.paused)

    def room(self, rescuable: Rescuable, pods_used_bytes: int) -> Room:
        """Return what may be added. pods_used_bytes: what all pods of its node use now."""
        allocatable = self.nodes.capacity(rescuable.node).memory_bytes
        task = rescuable.watched.task
        beside = [self._pods[uid] for uid in self._on_node.get(rescuable.node, ())]
        # Memory asked for a moment ago is not used yet, but will be.
        soon_bytes = sum(
            max(0, each.pending.limit_bytes - (each.pending.before.limit_bytes or 0))
            for each in beside
            if each.pending is not None
        )
        pressed = self.nodes.is_pressed(rescuable.node)
        free_bytes = None if allocatable is None else allocatable - pods_used_bytes - soon_bytes
        return Room(
            most_bytes=most_bytes(
                rescuable.pod,
                rescuable.container,
                _written(rescuable),
                self.book.look(task).policy,
                self.bounds.of_namespace(task.namespace),
            ),
            free_bytes=0 if pressed else free_bytes,
            allocatable_bytes=allocatable,
            on_node_bytes=sum(each.added_bytes for each in beside),
            in_namespace_bytes=sum(
                each.added_bytes for each in beside if each.watched.task.namespace == task.namespace
            ),
        )

    def follow(self, rescuable: Rescuable, now_s: float) -> Curve | None:
        """Take the newest maximum of a raised pod; None if it is not reported."""
        status, watched = rescuable.watched.status, rescuable.watched
        container = watched.measured_container(status)
        report = self.peaks.best(status.uid, container, watched.attempt.containers)
        if report is None or report.final:
            return None
        need_bytes, curve = report.need_peak_bytes, rescuable.curve
        rescuable.curve = (
            Curve.begin(need_bytes, now_s) if curve is None else _grown(curve, need_bytes, now_s)
        )
        return rescuable.curve

    def _read(self, pod: Pod) -> Rescuable | None:
        if mapping(pod.get("status")).get("phase") not in ("Pending", "Running", None):
            return None
        identity, container = identify(pod), sized_container(pod)
        if identity is None or not isinstance(container, SizedContainer):
            return None
        note = read_rescued(pod, container)
        # Anybody can write the annotation. Only one that Plimsoll may have written counts.
        if note is None and self.book.look(identity.task).policy.rescue is Rescue.NEVER:
            return None
        watched = read_pod(pod, self.book.look)
        if watched is None or watched.status.node is None:
            return None
        if not container.limit_bytes or watched.status.ended:
            return None
        first, raises = before_rescue(pod, container), note.raises if note else 0
        return Rescuable(running_parts(pod), watched, container, first, raises, noted=raises)


def _seen_again(before: Rescuable, now: Rescuable) -> Rescuable:
    """Return a pod as the watch shows it now, with all else that this controller knows of it."""
    pending = before.pending
    # The watch may show a moment before the raise, such as that of the annotation.
    is_not_raised = pending is not None and now.limit_bytes < pending.limit_bytes
    # The watch may show the annotation a moment later.
    is_not_noted = now.raises < before.raises
    return replace(
        before,
        pod=now.pod,
        watched=now.watched,
        container=before.container if is_not_raised else now.container,
        first=before.first if is_not_noted else now.first,
        raises=max(before.raises, now.raises),
        noted=now.noted,
        lost=None if now.raises > before.raises else before.lost,
    )


def _grown(curve: Curve, need_bytes: int, now_s: float) -> Curve:
    """Return a raised pod's curve after a newer maximum of its need."""
    need_bytes, level_bytes = max(need_bytes, curve.used_bytes), curve.level_bytes
    if need_bytes > level_bytes + max(RISE_BYTES, RISE * level_bytes):
        return replace(curve, since_s=now_s, level_bytes=need_bytes, used_bytes=need_bytes)
    return replace(curve, used_bytes=need_bytes)


def _written(rescuable: Rescuable) -> Memory:
    """Return request and limit as the pod's author wrote them."""
    return memory_asked(rescuable.first, rescuable.watched.note)
