"""Adds up what is left on nodes, and which tasks run there, for pods that wait for their turn.

It is an estimate: only the scheduler knows what fits. If it is too large, a pod waits for the
scheduler instead of for its turn. If it is too small, a pod waits longer than it has to; so a pod
that may take no room counts as taking none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from plimsoll_operator.ordering.asks import Amounts, Asked, amounts_of, asked_by
from plimsoll_operator.ordering.fitting import Fitting
from plimsoll_operator.ordering.pending import Pending, pending_of, priority_of
from plimsoll_operator.pods.identity import identify
from plimsoll_operator.pods.owners import controller_of
from plimsoll_operator.pods.spec import (
    Pod,
    RestartPolicy,
    labels_of,
    mapping,
    metadata_of,
    spec_of,
)
from plimsoll_operator.pods.status import has_final_phase
from plimsoll_operator.sizing.bounds.selecting import NAME, Wanted
from plimsoll_operator.sizing.node_hint import is_of_karpenter

AWAITED_S: Final = 10.0
"""How long a released pod counts on the node that it prefers, unless it is bound."""


@dataclass(frozen=True, slots=True)
class Taker:
    """A pod that takes room on a node. task: ``namespace/name``; None for a pod of no task.

    lasts: whether it does not end by itself.
    """

    node: str
    priority: int
    asked: Asked
    task: str | None = None
    lasts: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """A node as one pod finds it.

    host: the name by which a pod can prefer it; None if it has none, or the scheduler avoids it
        while another node has room. free: what is left of the resources that it names.
    residents: tasks that run there, each once for every pod.
    """

    node: str
    host: str | None
    free: Amounts
    residents: tuple[str, ...]


@dataclass(slots=True)
class Awaited:
    """What was released and is not bound yet. takers: its pods, if there was room for them."""

    until_s: float
    priority: int
    takers: list[Taker]


@dataclass(frozen=True, slots=True)
class _Node:
    host: str | None
    has: Amounts
    labels: Mapping[str, str]
    """These include its name under NAME."""


@dataclass(slots=True)
class RoomBook:
    """Nodes that take pods, and the pods that take room on them. Nodes go by their names."""

    has_karpenter: bool = False
    """Whether Karpenter is installed, or made any node that was seen."""
    _nodes: dict[str, _Node] = field(default_factory=dict)
    _tasks: dict[str, Taker] = field(default_factory=dict)
    """Pods of tasks by UID, as they are seen."""
    _pending: dict[str, Pending] = field(default_factory=dict)
    """Pods of tasks that wait for the scheduler."""
    _others: tuple[Taker, ...] = ()
    _other_pending: tuple[Pending, ...] = ()
    _awaited: dict[str, Awaited] = field(default_factory=dict)
    """By UID of the pod, or of the Job that makes the pods."""

    def see_node(self, node: str, host: str | None, document: Mapping[str, Any]) -> None:
        """Note a node to which an ordinary pod may go now. host: as in ``Place``."""
        self._see_labels(document)
        has = amounts_of(mapping(document.get("status")).get("allocatable"))
        self._nodes[node] = _Node(host, has, {**labels_of(document), NAME: node})

    def close_node(self, node: str, document: Mapping[str, Any]) -> None:
        """Note a node to which an ordinary pod cannot go now, or that is gone."""
        self._see_labels(document)
        self._nodes.pop(node, None)

    def _see_labels(self, document: Mapping[str, Any]) -> None:
        self.has_karpenter = self.has_karpenter or is_of_karpenter(labels_of(document))

    def see(self, pod: Pod, *, gone: bool) -> None:
        """Note a pod of a task, as often as it is seen."""
        uid = str(metadata_of(pod).get("uid"))
        before = {uid} & self._tasks.keys()
        self._tasks.pop(uid, None)
        self._pending.pop(uid, None)
        if gone or has_final_phase(pod):
            self._awaited.pop(uid, None)
            return
        taker = taker_of(pod)
        if taker is not None:
            self._tasks[uid] = taker
            self._awaited.pop(uid, None)
            if uid not in before:
                self._await_one_less(str((controller_of(pod) or {}).get("uid")))
        elif (pending := pending_of(pod)) is not None:
            self._pending[uid] = pending

    def set_others(self, pods: Iterable[Pod]) -> None:
        """Note all pods of no task; forget those noted before."""
        takers, others = list[Taker](), list[Pending]()
        for pod in pods:
            if has_final_phase(pod):
                continue
            taker, pending = taker_of(pod), pending_of(pod)
            takers += () if taker is None else (taker,)
            others += () if pending is None else (pending,)
        self._others, self._other_pending = tuple(takers), tuple(others)

    def expect(self, uid: str, awaited: Awaited) -> None:
        """Count a released pod on the node that it prefers, until it is bound or the time is up.

        uid: of the pod, or of a resumed Job; a Job counts as one pod less with each that is bound.
        """
        if uid not in self._tasks:
            self._awaited[uid] = awaited

    def await_no_more(self, uid: str) -> None:
        """Stop counting a pod that was not released after all."""
        self._awaited.pop(uid, None)

    def has_bound(self, uid: str) -> bool:
        """Say whether a pod of a task has a node."""
        return uid in self._tasks

    def newest_outsider_s(self, priority: int) -> float | None:
        """Return when the newest pod was created that the scheduler has, of this priority or more.

        None if it has only pods that were released.
        """
        return max(
            (
                each.created_s
                for each in (*self._pending.values(), *self._other_pending)
                if each.outside and each.priority >= priority
            ),
            default=None,
        )

    def has_from(self, priority: int, now_s: float) -> bool:
        """Say whether the scheduler has a pod of this priority or more that no room awaits."""
        self._forget_awaited(now_s)
        sent = (each.priority for each in self._awaited.values() if not each.takers)
        seen = (each.priority for each in self._pending_without_room())
        return any(each >= priority for each in (*sent, *seen))

    def has_below(self, priority: int, now_s: float) -> bool:
        """Say whether the scheduler has a pod of lower priority that could take room that comes.

        It is a pod for which the scheduler found a node full, and which fits on one of the nodes
        that it selects once all pods there that end by themselves have ended. O(nodes and pods).
        """
        self._forget_awaited(now_s)
        lower = {
            (each.asked, each.wanted)
            for each in self._pending_without_room()
            if each.lacks_room and each.priority < priority
        }
        if not lower:
            return False
        nodes = list(self._nodes.values())
        position = {name: at for at, name in enumerate(self._nodes)}
        emptied = Fitting(self._left(taker for taker in self._takers() if taker.lasts))

        @cache
        def selected(wanted: Wanted | None) -> frozenset[int]:
            if wanted is None:
                return frozenset(range(len(nodes)))
            # Each pod of a DaemonSet names one node, and there may be as many as nodes.
            names = position if wanted.names is None else wanted.names
            among = (position[name] for name in names if name in position)
            return frozenset(at for at in among if wanted.matches(nodes[at].labels))

        return any(not selected(wanted).isdisjoint(emptied.of(asked)) for asked, wanted in lower)

    def places(self, priority: int, now_s: float) -> list[Place]:
        """Return all nodes as a pod of this priority finds them. O(nodes and pods).

        A pod of lower priority takes no room from it: the scheduler would preempt that pod.
        """
        self._forget_awaited(now_s)
        residents: dict[str, list[str]] = {node: [] for node in self._nodes}
        for taker in self._takers():
            if taker.task is not None and taker.node in residents:
                residents[taker.node].append(taker.task)
        left = self._left(taker for taker in self._takers() if taker.priority >= priority)
        return [
            Place(name, node.host, free, tuple(residents[name]))
            for (name, node), free in zip(self._nodes.items(), left, strict=True)
        ]

    def capacities(self) -> list[Amounts]:
        """Return what each node has when nobody is there."""
        return [node.has for node in self._nodes.values()]

    def _left(self, takers: Iterable[Taker]) -> list[Amounts]:
        """Return what these pods leave of each node."""
        left = {name: dict(node.has) for name, node in self._nodes.items()}
        for taker in takers:
            free = left.get(taker.node, {})
            for name, amount in taker.asked:
                if name in free:
                    free[name] -= amount
        return list(left.values())

    def _pending_without_room(self) -> Iterator[Pending]:
        """Return the pods that the scheduler has, but those that were released into room."""
        for uid, pending in self._pending.items():
            released = self._awaited.get(uid) or self._awaited.get(pending.made_by or "")
            if released is None or not released.takers:
                yield pending
        yield from self._other_pending

    def _takers(self) -> Iterator[Taker]:
        yield from self._tasks.values()
        yield from self._others
        for awaited in self._awaited.values():
            yield from awaited.takers

    def _await_one_less(self, job_uid: str) -> None:
        awaited = self._awaited.get(job_uid)
        if awaited is not None:
            del awaited.takers[-1:]
            if not awaited.takers:
                del self._awaited[job_uid]

    def _forget_awaited(self, now_s: float) -> None:
        for uid in [uid for uid, each in self._awaited.items() if each.until_s <= now_s]:
            del self._awaited[uid]


def taker_of(pod: Pod) -> Taker | None:
    """Return what a pod that has a node takes there; None if it has none."""
    node = spec_of(pod).get("nodeName")
    if not isinstance(node, str) or not node:
        return None
    identity = identify(pod)
    task = None if identity is None else str(identity.task)
    lasts = spec_of(pod).get("restartPolicy") == RestartPolicy.ALWAYS
    return Taker(node, priority_of(pod), asked_by(pod), task, lasts)
