"""Which watched pods run on which node: the surroundings an attempt starts among."""

from __future__ import annotations

from dataclasses import dataclass

from plimsoll_operator.observing import Surroundings
from plimsoll_predictor.task import TaskId

MAX_NEIGHBOURS = 50
"""Neighbours kept per attempt; a node holds 110 pods by default."""


@dataclass(frozen=True, slots=True)
class Placed:
    """One running pod's share of its node."""

    task: TaskId
    memory_bytes: int
    cpu: float


class Placement:
    """Running labelled pods by node. A cache; an attempt seen only after its end has none."""

    def __init__(self) -> None:
        self._nodes: dict[str, dict[str, Placed]] = {}
        self._started: dict[str, Surroundings] = {}

    def start(self, uid: str, node: str, placed: Placed) -> None:
        """A pod was seen running; the first sight fixes its surroundings."""
        pods = self._nodes.setdefault(node, {})
        if uid in pods:
            return
        others = sorted({str(other.task) for other in pods.values()})[:MAX_NEIGHBOURS]
        pods[uid] = placed
        self._started[uid] = Surroundings(
            memory_bytes=sum(p.memory_bytes for p in pods.values()),
            cpu=sum(p.cpu for p in pods.values()),
            neighbours=tuple(others),
        )

    def end(self, uid: str, node: str | None) -> Surroundings | None:
        """A pod ended or went; what it had started among, if it was seen starting."""
        if node is not None and node in self._nodes:
            self._nodes[node].pop(uid, None)
            if not self._nodes[node]:
                del self._nodes[node]
        return self._started.pop(uid, None)
