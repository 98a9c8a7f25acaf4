"""Tells admission and the extender what is left of nodes, and which are under pressure.

A node's load is sent once in LOOK_EVERY_S at most, and only if it changed by a step. So an idle
cluster sends nothing. If all change, it is some 100 bytes a node in ten seconds, as agents read.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from plimsoll_operator.controller.placing.node_loads import NodeLoads
from plimsoll_operator.controller.placing.told import ToldNodes
from plimsoll_operator.controller.tasks.nodes import NOTHING, Capacity, ClusterNodes
from plimsoll_predictor.placing.loads import NodeLoad, Size, matters

LOOK_EVERY_S: Final = 5.0
PRESSED: Final = NodeLoad(pressed=True)


@dataclass(slots=True)
class LoadNews:
    """What was told of each host. On one event loop."""

    loads: NodeLoads
    nodes: ClusterNodes
    told: ToldNodes
    monotonic_s: Callable[[], float] = time.monotonic
    _told: dict[str, NodeLoad] = field(init=False, default_factory=dict)
    _due_s: float = field(init=False, default=float("-inf"))

    def look(self, hosts: Mapping[str, str], strained: Mapping[str, str]) -> None:
        """Tell what changed. hosts, strained: node -> its host's name; the caller bounds both.

        O(nodes and the tasks on them).
        """
        now_s = self.monotonic_s()
        if now_s < self._due_s:
            return
        self._due_s = now_s + LOOK_EVERY_S
        for host in self._told.keys() - {*hosts.values(), *strained.values()}:
            self._forget(host)
        for node, host in hosts.items():
            capacity = self.nodes.capacity(node)
            self._tell(host, self.loads.left_on(node, capacity), capacity)
        for host in strained.values():
            self._tell(host, PRESSED, NOTHING)

    def withdraw(self) -> None:
        """Take back all that was told."""
        for host in tuple(self._told):
            self._forget(host)
        self._due_s = float("-inf")

    def _tell(self, host: str, now: NodeLoad | None, capacity: Capacity) -> None:
        if now is None:
            self._forget(host)
            return
        before, size = self._told.get(host), Size(capacity.memory_bytes, capacity.millicores)
        if before is None or matters(before, now, size):
            self._told[host] = now
            self.told.set_load(host, now)

    def _forget(self, host: str) -> None:
        if self._told.pop(host, None) is not None:
            self.told.remove_load(host)
