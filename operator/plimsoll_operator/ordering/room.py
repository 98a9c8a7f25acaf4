"""Adds up what is left on nodes, and which tasks run there, for pods that wait for their turn.

It is an estimate: only the scheduler knows what fits. If it is too large, a pod waits for the
scheduler instead of for its turn. If it is too small, a pod waits longer than it has to; so a pod
that may take no room counts as taking none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from plimsoll_operator.names.labels import HELD
from plimsoll_operator.ordering.asks import Amounts, Asked, amounts_of, asked_by
from plimsoll_operator.ordering.gate import gates_of
from plimsoll_operator.pods.identity import identify
from plimsoll_operator.pods.owners import controller_of
from plimsoll_operator.pods.spec import Pod, annotations_of, mapping, metadata_of, spec_of
from plimsoll_operator.pods.status import read_time

AWAITED_S: Final = 10.0
"""How long a released pod counts on the node that it prefers, unless it is bound."""


@dataclass(frozen=True, slots=True)
class Taker:
    """A pod that takes room on a node. task: ``namespace/name``; None for a pod of no task."""

    node: str
    priority: int
    asked: Asked
    task: str | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """A node as one pod finds it.

    host: the name by which a pod can prefer it. free: what is left of the resources that it names.
    residents: tasks that run there, each once for every pod.
    """

    node: str
    host: str
    free: Amounts
    residents: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outsider:
    """A pod that waits for the scheduler and never waited for its turn."""

    created_s: float
    priority: int


@dataclass(slots=True)
class RoomBook:
    """Nodes that take pods, and the pods that take room on them. Nodes go by their names."""

    _nodes: dict[str, tuple[str, Amounts]] = field(default_factory=dict)
    _tasks: dict[str, Taker] = field(default_factory=dict)
    """Pods of tasks by UID, as they are seen."""
    _waiting: dict[str, Outsider] = field(default_factory=dict)
    """Pods of tasks that wait for the scheduler."""
    _others: tuple[Taker, ...] = ()
    _other_outsiders: tuple[Outsider, ...] = ()
    _awaited: dict[str, tuple[float, list[Taker]]] = field(default_factory=dict)
    """By UID of the pod, or of the Job that makes the pods."""

    def see_node(self, node: str, host: str | None, document: Mapping[str, Any]) -> None:
        """Note a node. host: None if an ordinary pod cannot go there now, or the node is gone."""
        if host is None:
            self._nodes.pop(node, None)
        else:
            status = mapping(document.get("status"))
            self._nodes[node] = host, amounts_of(status.get("allocatable"))

    def see(self, pod: Pod, *, gone: bool) -> None:
        """Note a pod of a task, as often as it is seen."""
        uid = str(metadata_of(pod).get("uid"))
        before = {uid} & self._tasks.keys()
        self._tasks.pop(uid, None)
        self._waiting.pop(uid, None)
        if gone or is_over(pod):
            self._awaited.pop(uid, None)
            return
        taker = taker_of(pod)
        if taker is not None:
            self._tasks[uid] = taker
            self._awaited.pop(uid, None)
            if uid not in before:
                self._await_one_less(str((controller_of(pod) or {}).get("uid")))
        elif (outsider := outsider_of(pod)) is not None:
            self._waiting[uid] = outsider

    def set_others(self, pods: Iterable[Pod]) -> None:
        """Note all pods of no task; forget those noted before."""
        takers, outsiders = list[Taker](), list[Outsider]()
        for pod in pods:
            if is_over(pod):
                continue
            taker, outsider = taker_of(pod), outsider_of(pod)
            takers += () if taker is None else (taker,)
            outsiders += () if outsider is None else (outsider,)
        self._others, self._other_outsiders = tuple(takers), tuple(outsiders)

    def expect(self, uid: str, takers: Iterable[Taker], until_s: float) -> None:
        """Count a released pod on the node that it prefers, until it is bound or the time is up.

        uid: of the pod, or of a resumed Job; a Job counts as one pod less with each that is bound.
        """
        if uid not in self._tasks:
            self._awaited[uid] = until_s, list(takers)

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
                for each in (*self._waiting.values(), *self._other_outsiders)
                if each.priority >= priority
            ),
            default=None,
        )

    def places(self, priority: int, now_s: float) -> list[Place]:
        """Return all nodes as a pod of this priority finds them. O(nodes and pods).

        A pod of lower priority takes no room from it: the scheduler would preempt that pod.
        """
        self._forget_awaited(now_s)
        taken: dict[str, Counter[str]] = {node: Counter() for node in self._nodes}
        residents: dict[str, list[str]] = {node: [] for node in self._nodes}
        for taker in self._takers():
            if taker.node not in taken:
                continue
            if taker.priority >= priority:
                taken[taker.node].update(dict(taker.asked))
            if taker.task is not None:
                residents[taker.node].append(taker.task)
        return [
            Place(
                node,
                host,
                {name: amount - taken[node][name] for name, amount in has.items()},
                tuple(residents[node]),
            )
            for node, (host, has) in self._nodes.items()
        ]

    def capacities(self) -> list[Amounts]:
        """Return what each node has when nobody is there."""
        return [has for _, has in self._nodes.values()]

    def _takers(self) -> Iterator[Taker]:
        yield from self._tasks.values()
        yield from self._others
        for _, takers in self._awaited.values():
            yield from takers

    def _await_one_less(self, job_uid: str) -> None:
        takers = self._awaited.get(job_uid, (0.0, []))[1]
        if takers:
            takers.pop()

    def _forget_awaited(self, now_s: float) -> None:
        for uid in [uid for uid, (until_s, _) in self._awaited.items() if until_s <= now_s]:
            del self._awaited[uid]


def is_over(pod: Pod) -> bool:
    """Say whether the pod no longer takes room."""
    return mapping(pod.get("status")).get("phase") in ("Succeeded", "Failed")


def priority_of(pod: Pod) -> int:
    """Return the pod's priority; 0 if nobody set one."""
    priority = spec_of(pod).get("priority")
    return priority if isinstance(priority, int) and not isinstance(priority, bool) else 0


def taker_of(pod: Pod) -> Taker | None:
    """Return what a pod that has a node takes there; None if it has none."""
    node = spec_of(pod).get("nodeName")
    if not isinstance(node, str) or not node:
        return None
    identity = identify(pod)
    task = None if identity is None else str(identity.task)
    return Taker(node, priority_of(pod), asked_by(pod), task)


def outsider_of(pod: Pod) -> Outsider | None:
    """Return the pod as an outsider if the scheduler has it and it never waited for its turn."""
    spec = spec_of(pod)
    if spec.get("nodeName") or gates_of(pod) or HELD in annotations_of(pod):
        return None
    created_s = read_time(metadata_of(pod).get("creationTimestamp"))
    if created_s is None or metadata_of(pod).get("deletionTimestamp"):
        return None
    return Outsider(created_s, priority_of(pod))
