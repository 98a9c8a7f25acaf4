"""Which watched pods run on which node: the surroundings an attempt starts among."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from plimsoll_operator.observing import Surroundings
from plimsoll_predictor.task import TaskId

MAX_NEIGHBOURS: Final = 50
"""Neighbours kept per attempt; a node holds 110 pods by default."""
PODS_KEPT: Final = 50_000


@dataclass(frozen=True, slots=True)
class Placed:
    """One running pod's share of its node."""

    task: TaskId
    memory_bytes: int
    cpu: float


@dataclass(frozen=True, slots=True)
class _Started:
    node: str
    surroundings: Surroundings


class Placement:
    """Running labelled pods by node. A cache; an attempt seen only after its end has none.

    Bounded: a pod whose end the watch missed must not stay for ever.
    """

    def __init__(self, pods_kept: int = PODS_KEPT) -> None:
        self._pods_kept = pods_kept
        self._nodes: dict[str, dict[str, Placed]] = {}
        self._started: OrderedDict[str, _Started] = OrderedDict()

    def __len__(self) -> int:
        return len(self._started)

    def start(self, uid: str, node: str, placed: Placed) -> None:
        """A pod was seen running; the first sight fixes its surroundings."""
        if uid in self._started:
            return
        pods = self._nodes.setdefault(node, {})
        others = sorted({str(other.task) for other in pods.values()})[:MAX_NEIGHBOURS]
        pods[uid] = placed
        surroundings = Surroundings(
            memory_bytes=sum(p.memory_bytes for p in pods.values()),
            cpu=sum(p.cpu for p in pods.values()),
            neighbours=tuple(others),
        )
        self._started[uid] = _Started(node, surroundings)
        if len(self._started) > self._pods_kept:
            self.end(next(iter(self._started)))

    def end(self, uid: str) -> Surroundings | None:
        """A pod ended or went; what it had started among, if it was seen starting."""
        started = self._started.pop(uid, None)
        if started is None:
            return None
        pods = self._nodes[started.node]
        del pods[uid]
        if not pods:
            del self._nodes[started.node]
        return started.surroundings
