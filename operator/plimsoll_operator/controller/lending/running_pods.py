"""Holds the running pods that lend or may come to lend, and follows the curve of each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import InitVar, dataclass, field
from typing import Final

from plimsoll_operator.attempts.watched_pod import WatchedPod, read_pod
from plimsoll_operator.controller.attempts.peak_book import PeakBook
from plimsoll_operator.controller.lending.agents_heard import AgentsHeard
from plimsoll_operator.controller.tasks.book import TaskBook
from plimsoll_operator.controller.tasks.bounds import ClusterBounds
from plimsoll_operator.controller.tasks.nodes import ClusterNodes
from plimsoll_operator.lending.eligible import (
    is_granted,
    is_known,
    is_running,
    why_not_by_pod,
    why_not_held,
)
from plimsoll_operator.lending.lent_note import Lent, as_written, lent_by, read_lent
from plimsoll_operator.pods.identity import identify
from plimsoll_operator.pods.running_parts import held_bytes, running_parts
from plimsoll_operator.pods.running_room import RunningRoom
from plimsoll_operator.pods.spec import Pod, mapping, sized_container
from plimsoll_operator.pods.spec import SizedContainer as Sized
from plimsoll_operator.sizing.stepping_back import memory_autoscaler
from plimsoll_predictor.core.policy import Lending
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.lending.curves import Curve
from plimsoll_predictor.lending.node_steps import Attempt, NodeRoom

MOST_PODS: Final = 5_000
"""The most pods that may lend; 20 µs each, twice a second. Pods that lend are held beyond it."""
MAX_BYTES: Final = 64 * MIB
"""The memory of all pods that may lend. When it is full, the namespace that holds most loses its
oldest. Pods that lend have a room of their own."""


@dataclass(slots=True)
class Running:
    """One running pod, of which ``running_parts`` are held.

    asked: its request when it was placed. lent: None unless it lends.

    has_lent: whether its request was seen below what it asked for, since it has its annotation.
    """

    pod: Pod
    watched: WatchedPod
    container: Sized
    asked: Lent
    lent: Lent | None
    by_pod: str | None
    seen_s: float
    curve: Curve | None = None
    has_lent: bool = False

    @property
    def uid(self) -> str:
        """Return the pod's UID."""
        return self.asked.uid

    @property
    def node(self) -> str:
        """Return the pod's node."""
        return self.watched.status.node or ""

    @property
    def held_bytes(self) -> int:
        """Return the container's request now."""
        return self.container.request_bytes or 0

    @property
    def is_returning(self) -> bool:
        """Say whether it asks for all its memory again, but still has its annotation."""
        return self.lent is not None and self.held_bytes >= self.lent.request_bytes

    @property
    def is_returned(self) -> bool:
        """Say whether its node has granted what it took back."""
        return self.is_returning and is_granted(
            self.pod, self.container.name, self.asked.request_bytes
        )


@dataclass(slots=True, kw_only=True)
class RunningPods:
    """Running pods by UID. ``see`` never waits, and costs nothing for pods that may not lend."""

    book: TaskBook
    bounds: ClusterBounds
    peaks: PeakBook
    nodes: ClusterNodes
    heard: AgentsHeard
    max_bytes: InitVar[int] = MAX_BYTES
    _pods: dict[str, Running] = field(init=False, default_factory=dict)
    _room: RunningRoom = field(init=False)

    def __post_init__(self, max_bytes: int) -> None:
        self._room = RunningRoom(max_bytes)

    def __len__(self) -> int:
        return len(self._pods)

    @property
    def held_bytes(self) -> int:
        """Return about how much memory the pods take."""
        return self._room.held_bytes

    def __iter__(self) -> Iterator[Running]:
        return iter(self._pods.values())

    def get(self, uid: str) -> Running | None:
        """Return a pod; None if it does not run any more."""
        return self._pods.get(uid)

    def see(self, pod: Pod, *, gone: bool) -> None:
        """Handle one event of a labelled pod, as the API server gives it."""
        uid = str(pod["metadata"]["uid"])
        running, before = None if gone else self._read(pod), self._take_out(uid)
        if running is None:
            return
        if running.lent is not None:
            lent_before = before is not None and before.has_lent
            running.has_lent = lent_before or not running.is_returning
        if before is not None:
            running.curve, running.seen_s = before.curve, before.seen_s
        elif len(self._pods) >= MOST_PODS and running.lent is None:
            return
        owner, size_bytes = running.watched.task.namespace, held_bytes(running.pod)
        self._pods[uid] = running
        lends = running.lent is not None
        for other in self._room.take(owner, uid, size_bytes, changed=lends):
            self._pods.pop(other, None)

    def _take_out(self, uid: str) -> Running | None:
        held = self._pods.pop(uid, None)
        if held is not None:
            self._room.drop(held.watched.task.namespace, uid)
        return held

    def by_node(self) -> dict[str, list[Running]]:
        """Return the pods of each node."""
        nodes: defaultdict[str, list[Running]] = defaultdict(list)
        for running in self._pods.values():
            nodes[running.node].append(running)
        return nodes

    def follow(self) -> None:
        """Take the newest maxima of all pods."""
        now_s = self.heard.now_s()
        for running in self._pods.values():
            used_bytes = self._used_bytes(running)
            if used_bytes is None:
                continue
            curve = running.curve
            running.curve = (
                Curve.begin(used_bytes, now_s)
                if curve is None
                else curve.advance(used_bytes, now_s)
            )

    def used_by_task(self) -> dict[str, int]:
        """Return the most that a running attempt of each task was seen to use."""
        most: dict[str, int] = {}
        for running in self._pods.values():
            if running.curve is not None:
                task = str(running.watched.task)
                most[task] = max(most.get(task, 0), running.curve.used_bytes)
        return most

    def attempt(self, running: Running, why_not: str | None, siblings_bytes: int) -> Attempt:
        """Return what a decision needs of a pod. why_not: another reason against lending."""
        knowledge = self.book.look(running.watched.task)
        held = why_not_held(
            running.pod,
            running.watched,
            knowledge.policy,
            self.bounds.of_namespace(running.watched.task.namespace),
        )
        autoscalers = self.bounds.autoscalers_in(running.watched.task.namespace)
        if held is None and memory_autoscaler(running.pod, running.container, autoscalers):
            held = "a VerticalPodAutoscaler sets its memory"
        if held is None and self.book.policies.paused:
            held = "all sizing is paused"
        known = "its task's need is known" if is_known(knowledge) else None
        return Attempt(
            uid=running.uid,
            task=str(running.watched.task),
            asked_bytes=running.asked.request_bytes,
            held_bytes=running.held_bytes,
            curve=running.curve,
            seen_s=running.seen_s,
            why_not=held or known or running.by_pod or why_not,
            may_hold=held is None,
            siblings_bytes=siblings_bytes,
        )

    def room(self, node: str, pods: list[Running]) -> NodeRoom:
        """Return the room of a node."""
        return NodeRoom(
            allocatable_bytes=self.nodes.capacity(node).memory_bytes,
            heard_s=self.heard.heard_s(node),
            pressed=self.nodes.is_pressed(node),
            waiting=any(each.is_returning and not each.is_returned for each in pods),
        )

    def _read(self, pod: Pod) -> Running | None:
        if mapping(pod.get("status")).get("phase") != "Running":
            return None
        identity = identify(pod)
        if identity is None:
            return None
        # Anybody can write the annotation. Only one that Plimsoll may have written counts.
        lent = read_lent(pod)
        if lent is None and self.book.look(identity.task).policy.lending is Lending.NEVER:
            return None
        container, whole = sized_container(pod), as_written(pod)
        watched = read_pod(whole, self.book.look)
        if watched is None or not isinstance(container, Sized) or not is_running(watched):
            return None
        asked = lent or lent_by(pod, container)
        if asked is None:
            return None
        by_pod = why_not_by_pod(pod, watched)
        parts = running_parts(pod)
        return Running(parts, watched, container, asked, lent, by_pod, self.heard.now_s())

    def _used_bytes(self, running: Running) -> int | None:
        status = running.watched.status
        report = self.peaks.best(
            status.uid,
            running.watched.measured_container(status),
            running.watched.attempt.containers,
        )
        if report is None or report.final:
            return None
        # If a node is short of memory, the kubelet compares the working set with the request.
        return max(report.need_peak_bytes, report.working_set_peak_bytes)
