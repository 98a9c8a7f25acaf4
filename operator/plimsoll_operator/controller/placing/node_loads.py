"""Knows from the agents how busy nodes are: the load each attempt started under, and what is left.

All of it is in memory only: a controller that starts knows nothing about what runs already.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from plimsoll_operator.attempts.node_use import NodeUse
from plimsoll_operator.controller.hub.habits import PODS_KEPT, SEEN_AT_ONCE_S, FirstTimes
from plimsoll_operator.controller.tasks.nodes import Capacity
from plimsoll_operator.pods.status import AttemptStatus
from plimsoll_predictor.placing.loads import Expected, NodeLoad, Reading, Size, load_of

NODES_KEPT: Final = 5_000
"""Names come from agents; the node heard longest ago is forgotten first."""
FRESH_S: Final = 120.0
"""An older reading says nothing about now, and is dropped."""
STALE_S: Final = 30.0
"""An older reading does not say what is left of a node; agents read once in ten seconds."""
SETTLING_S: Final = 30.0
"""Readings are ignored for this long after the first one: a controller that has just begun does
not know yet which pods are tasks."""
LEAST_COVERED: Final = 0.5
"""If readings cover less than this share of an attempt's time, the load at its start is taken."""
NOTHING_EXPECTED: Final = Expected()
LIVES_KEPT: Final = 2
"""The lives kept of a pod that restarts in place: the current one, and the one before, whose end
comes late."""


@dataclass(frozen=True, slots=True)
class NodeUsed:
    """What was in use on an attempt's node.

    cpu_share, memory_share: of the whole node, at the start; None if its agent could not tell.
    unlabelled_cores: used by pods of no task, averaged over the attempt; at its start, if less
        than LEAST_COVERED of its time was read. Pods of tasks that are switched off are such pods.
    """

    cpu_share: float | None
    memory_share: float | None
    unlabelled_cores: float


@dataclass(slots=True)
class _Node:
    """The newest reading, and sums over all. heard_s: by a clock that never jumps."""

    heard_s: float
    newest: NodeUsed
    reading: Reading
    core_s: float = 0.0
    """Core seconds of pods of no task."""
    covered_s: float = 0.0


@dataclass(frozen=True, slots=True)
class _Began:
    """The node's figures at an attempt's start."""

    node: _Node
    used: NodeUsed
    core_s: float
    covered_s: float


_Lives = OrderedDict[str, _Began | NodeUsed | None]
"""Attempts of one pod: the figures at the start, or what was in use on the node once it ended."""


@dataclass(slots=True)
class NodeLoads:
    """Readings by node, and attempts by pod. On one event loop.

    now_s: Unix seconds. monotonic_s: gives the age of readings, as agents' clocks may be wrong.
    """

    now_s: Callable[[], float] = time.time
    monotonic_s: Callable[[], float] = time.monotonic
    nodes_kept: int = NODES_KEPT
    pods_kept: int = PODS_KEPT
    _nodes: OrderedDict[str, _Node] = field(init=False, default_factory=OrderedDict)
    _pods: OrderedDict[str, _Lives] = field(init=False, default_factory=OrderedDict)
    """Pods of tasks, seen longest ago first."""
    _running: dict[str, dict[str, Expected]] = field(init=False, default_factory=dict)
    """Node -> pods of tasks that run there, and what they will use."""
    _first_s: float | None = field(init=False, default=None)
    _gone: FirstTimes = field(init=False, default_factory=FirstTimes)
    """Pods of tasks whose cgroups agents may still read."""

    def __len__(self) -> int:
        """How many nodes are known."""
        return len(self._nodes)

    def take(self, use: NodeUse) -> None:
        """Take in a reading. Cost: a look-up for each of its pods."""
        now_s = self.monotonic_s()
        if self._first_s is None:
            self._first_s = now_s
        if now_s - self._first_s < SETTLING_S:
            return
        cores = sum(each for uid, each in use.pods_cores.items() if not self._is_task(uid))
        used = NodeUsed(use.cpu_share, use.memory_share, cores)
        reading = Reading(use.cpu_share, use.memory_share, self._of_tasks(use.pods_bytes))
        node = self._nodes.setdefault(use.node, _Node(now_s, used, reading))
        node.heard_s, node.newest, node.reading = now_s, used, reading
        node.core_s += cores * use.over_s
        node.covered_s += use.over_s
        self._nodes.move_to_end(use.node)
        self._drop_old(now_s)

    def newest(self, node: str) -> NodeUsed | None:
        """Return the newest reading of a node; None if its agent was not heard lately."""
        known = self._fresh(node)
        return None if known is None else known.newest

    def left_on(self, node: str, capacity: Capacity) -> NodeLoad | None:
        """Return what is left of a node; None if its agent was not heard for STALE_S.

        O(tasks on it).
        """
        known = self._nodes.get(node)
        if known is None or self.monotonic_s() - known.heard_s > STALE_S:
            return None
        size = Size(capacity.memory_bytes, capacity.millicores)
        return load_of(size, known.reading, self._running.get(node, {}).items())

    def living(self, status: AttemptStatus, expected: Expected = NOTHING_EXPECTED) -> None:
        """Note an attempt that waits or runs, as often as it is seen. expected: its use."""
        lives = self._lives(status)
        if status.started_s is not None and status.node is not None:
            self._running.setdefault(status.node, {})[status.uid] = expected
        if status.started_s is None or status.node is None or status.attempt_uid in lives:
            return
        late = self.now_s() - status.started_s > SEEN_AT_ONCE_S
        node = None if late else self._fresh(status.node)
        lives[status.attempt_uid] = (
            None if node is None else _Began(node, node.newest, node.core_s, node.covered_s)
        )
        if len(lives) > LIVES_KEPT:
            lives.popitem(last=False)

    def ended(self, status: AttemptStatus) -> NodeUsed | None:
        """Return the load around an attempt, once or again; None if its start was not seen."""
        if status.uid in self._gone:
            return None
        lives = self._lives(status)
        self._runs_no_more(status.uid, status.node)
        began = lives.get(status.attempt_uid)
        if isinstance(began, _Began):
            began = lives[status.attempt_uid] = _over_its_time(began, status)
        return began

    def gone(self, status: AttemptStatus) -> None:
        """Note that the pod is gone from the API server."""
        self._runs_no_more(status.uid, status.node)
        if self._pods.pop(status.uid, None) is not None:
            self._gone.add(status.uid)

    def is_no_task(self, status: AttemptStatus) -> None:
        """Note that the pod's task is switched off: it is among the pods of no task from now on."""
        self._runs_no_more(status.uid, status.node)
        self._pods.pop(status.uid, None)

    def _lives(self, status: AttemptStatus) -> _Lives:
        lives = self._pods.setdefault(status.uid, OrderedDict())
        self._pods.move_to_end(status.uid)
        if len(self._pods) > self.pods_kept:
            uid, _ = self._pods.popitem(last=False)
            for node in [node for node, pods in self._running.items() if uid in pods]:
                self._runs_no_more(uid, node)
        return lives

    def _runs_no_more(self, uid: str, node: str | None) -> None:
        pods = self._running.get(node or "", {})
        if pods.pop(uid, None) is not None and not pods:
            del self._running[node or ""]

    def _of_tasks(self, pods_bytes: Mapping[str, int] | None) -> Mapping[str, int] | None:
        if pods_bytes is None:
            return None
        return {uid: used for uid, used in pods_bytes.items() if self._is_task(uid)}

    def _is_task(self, pod_uid: str) -> bool:
        return pod_uid in self._pods or pod_uid in self._gone

    def _fresh(self, name: str) -> _Node | None:
        node = self._nodes.get(name)
        return node if node and self.monotonic_s() - node.heard_s <= FRESH_S else None

    def _drop_old(self, now_s: float) -> None:
        while self._nodes:
            name, oldest = next(iter(self._nodes.items()))
            if len(self._nodes) <= self.nodes_kept and now_s - oldest.heard_s <= FRESH_S:
                return
            del self._nodes[name]


def _over_its_time(began: _Began, status: AttemptStatus) -> NodeUsed:
    covered_s = began.node.covered_s - began.covered_s
    times = (status.started_s, status.finished_s)
    runtime_s = 0.0 if None in times else (times[1] or 0.0) - (times[0] or 0.0)
    used = began.used
    if covered_s <= 0 or covered_s < LEAST_COVERED * runtime_s:
        return used
    cores = (began.node.core_s - began.core_s) / covered_s
    return NodeUsed(used.cpu_share, used.memory_share, max(0.0, cores))
