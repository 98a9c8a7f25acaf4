"""Tells admission which tasks run on which node, and what tasks cost each other there.

It does so only while a policy has hints, at most once a second, and only for nodes that changed.
The size of a message grows with the nodes on which something began or ended since the last one.
"""

from __future__ import annotations

import asyncio
import heapq
import zlib
from collections import Counter
from collections.abc import Mapping
from typing import Final, Protocol

from plimsoll_operator.controller.placing.load_news import LoadNews
from plimsoll_operator.controller.placing.node_loads import NodeLoads
from plimsoll_operator.controller.placing.told import ToldNodes
from plimsoll_operator.controller.tasks.nodes import ClusterNodes
from plimsoll_operator.controller.tasks.task_policies import TaskPolicies
from plimsoll_predictor.core.bounded_text import MOST_NODE_BYTES, bounded_or_none
from plimsoll_predictor.placing.hinting import MOST_NODES
from plimsoll_predictor.placing.matrix import Array, Matrix
from plimsoll_predictor.placing.prices import costs_on_nodes

LOOK_EVERY_S: Final = 1.0

_Residents = tuple[tuple[int, int], ...]
"""Places of kinds in the matrix, sorted, and how many of each kind."""


class Encountered(Protocol):
    """Knows which tasks run beside which."""

    @property
    def matrix(self) -> Matrix:
        """Which kind slows which; the same object until a fit makes another."""

    @property
    def complete(self) -> bool:
        """Whether all that runs was seen."""

    def residents(self) -> Mapping[str, Mapping[str, int]]:
        """Return what runs now: node -> task -> how many."""


class PlacingNews:
    """Looks once a second, and has the feed tell what changed."""

    def __init__(
        self,
        encounters: Encountered,
        nodes: ClusterNodes,
        policies: TaskPolicies,
        told: ToldNodes,
        loads: NodeLoads,
    ) -> None:
        self._encounters = encounters
        self._nodes = nodes
        self._policies = policies
        self._nodes_told = told
        self._loads = LoadNews(loads, nodes, told)
        self._matrix: Matrix | None = None
        """The matrix that was told last."""
        self._prices: Array | None = None
        self._told: dict[str, _Residents] = {}
        """Host -> what runs there."""

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            try:
                self.look()
            except Exception:
                self._withdraw()  # else what was told grows old, and nobody notices
                raise
            await asyncio.sleep(LOOK_EVERY_S)

    def look(self) -> None:
        """Look once. O(nodes and the kinds on them)."""
        # After a start, nodes whose pods are not listed yet would look empty.
        if not self._policies.has_hints or not self._encounters.complete:
            self._withdraw()
            return
        matrix = self._encounters.matrix
        if matrix is not self._matrix:
            costs, self._prices = costs_on_nodes(matrix, self._prices)
            self._nodes_told.set_pairs(costs)
            self._matrix = matrix
        hosts = chosen(self._nodes.hosts())
        self._tell(self._now(matrix, hosts))
        self._loads.look(hosts, chosen(self._nodes.strained()))

    def _now(self, matrix: Matrix, hosts: Mapping[str, str]) -> dict[str, _Residents]:
        residents = self._encounters.residents()
        return {
            host: _by_place(residents.get(bounded_or_none(node, MOST_NODE_BYTES) or "", {}), matrix)
            for node, host in hosts.items()
        }

    def _tell(self, now: dict[str, _Residents]) -> None:
        before, self._told = self._told, now
        for host in before.keys() - now.keys():
            self._nodes_told.remove_host(host)
        for host, residents in now.items():
            if before.get(host) != residents:
                self._nodes_told.set_host(host, residents)

    def _withdraw(self) -> None:
        self._loads.withdraw()
        if self._matrix is not None or self._told:
            self._nodes_told.set_pairs(None)
            self._tell({})
            self._matrix = self._prices = None


def chosen(hosts: Mapping[str, str]) -> Mapping[str, str]:
    """Return at most MOST_NODES of the nodes, chosen by a hash of the name, so that they stay."""
    if len(hosts) <= MOST_NODES:
        return hosts
    return {
        name: hosts[name]
        for name in heapq.nsmallest(MOST_NODES, hosts, key=lambda name: zlib.crc32(name.encode()))
    }


def _by_place(residents: Mapping[str, int], matrix: Matrix) -> _Residents:
    if not residents:
        return ()
    counts = Counter[int]()
    for kind, count in residents.items():
        counts[matrix.place(kind)] += count
    return tuple(sorted(counts.items()))
