"""Which watched pods wait, and which run on which node: the surroundings of an attempt."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Final

from plimsoll_operator.attempts.observation import ClusterLoad, NodeLoad, Surroundings
from plimsoll_operator.controller.attempts.nodes import Capacity, ClusterNodes
from plimsoll_predictor.core.task import TaskId

MAX_NEIGHBOURS: Final = 50
"""Neighbours kept per attempt; a node holds 110 pods by default."""
PODS_KEPT: Final = 50_000
SEEN_AT_ONCE_S: Final = 30.0
"""What was seen later than that after it happened, as after a restart, had another load."""


@dataclass(frozen=True, slots=True)
class Placed:
    """One running pod's share of its node."""

    task: TaskId
    memory_bytes: int
    cpu: float


@dataclass(frozen=True, slots=True)
class _Started:
    node: str
    placed: Placed
    surroundings: Surroundings


class Placement:
    """Labelled pods, waiting or by node. A cache; an attempt seen only after its end has none.

    Bounded: a pod whose end the watch missed must not stay for ever.
    """

    def __init__(self, nodes: ClusterNodes | None = None, pods_kept: int = PODS_KEPT) -> None:
        self._cluster = nodes or ClusterNodes()
        self._pods_kept = pods_kept
        self._nodes: dict[str, dict[str, Placed]] = {}
        self._started: OrderedDict[str, _Started] = OrderedDict()
        self._waiting: OrderedDict[str, ClusterLoad | None] = OrderedDict()
        """Pods that were not seen running, with the load at their submission."""
        self._memory_bytes = 0
        self._millicores = 0
        """Of all started pods. Whole numbers: sums that come and go must come to nothing."""

    def __len__(self) -> int:
        return len(self._started)

    def wait(self, uid: str, age_s: float) -> None:
        """A pod was seen that does not run yet. age_s: since it was submitted."""
        if uid in self._waiting or uid in self._started:
            return
        self._waiting[uid] = self._load() if age_s <= SEEN_AT_ONCE_S else None
        if len(self._waiting) > self._pods_kept:
            self._waiting.popitem(last=False)

    def start(self, uid: str, node: str, placed: Placed, age_s: float = 0.0) -> None:
        """A pod was seen running; the first sight fixes its surroundings.

        age_s: since it started.
        """
        if uid in self._started:
            return
        submitted = self._waiting.pop(uid, None)
        pods = self._nodes.setdefault(node, {})
        others = sorted({str(other.task) for other in pods.values()})[:MAX_NEIGHBOURS]
        pods[uid] = placed
        self._count(placed, 1)
        surroundings = Surroundings(
            memory_bytes=sum(p.memory_bytes for p in pods.values()),
            cpu=sum(p.cpu for p in pods.values()),
            neighbours=tuple(others),
            submitted=submitted,
        )
        if age_s <= SEEN_AT_ONCE_S:
            on_node = self._on_node(node, surroundings)
            surroundings = replace(surroundings, started=self._load(), node=on_node)
        self._started[uid] = _Started(node, placed, surroundings)
        if len(self._started) > self._pods_kept:
            self.end(next(iter(self._started)))

    def end(self, uid: str) -> Surroundings | None:
        """A pod ended or went; what it had started among, if it was seen starting."""
        self._waiting.pop(uid, None)
        started = self._started.pop(uid, None)
        if started is None:
            return None
        pods = self._nodes[started.node]
        self._count(pods.pop(uid), -1)
        if not pods:
            del self._nodes[started.node]
        return started.surroundings

    def _count(self, placed: Placed, sign: int) -> None:
        self._memory_bytes += sign * placed.memory_bytes
        self._millicores += sign * round(1000 * placed.cpu)

    def _load(self) -> ClusterLoad:
        total = self._cluster.total
        return ClusterLoad(
            memory_share=_share(self._memory_bytes, total.memory_bytes),
            cpu_share=_share(self._millicores / 1000, total.cpu),
            waiting_pods=len(self._waiting),
        )

    def _on_node(self, node: str, surroundings: Surroundings) -> NodeLoad:
        capacity: Capacity = self._cluster.capacity(node)
        return NodeLoad(
            memory_share=_share(surroundings.memory_bytes, capacity.memory_bytes),
            cpu_share=_share(surroundings.cpu, capacity.cpu),
        )


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole > 0 else None
