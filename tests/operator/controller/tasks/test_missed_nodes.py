"""A node that went while no watch looked is forgotten."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from plimsoll_operator.controller.tasks import missed_nodes
from plimsoll_operator.controller.tasks.missed_nodes import MissedNodes
from plimsoll_operator.controller.tasks.nodes import ClusterNodes
from plimsoll_operator.kube.errors import ApiError, Unreachable
from tests.builders.nodes import a_node


@dataclass
class Cluster:
    """What the API server lists, and the nodes that the controller knows."""

    names: list[str] = field(default_factory=lambda: ["n1", "n2"])
    error: ApiError | None = None
    nodes: ClusterNodes = field(default_factory=ClusterNodes)

    def __post_init__(self) -> None:
        for name in self.names:
            self.nodes.see(a_node(name=name), gone=False)
        self.missed = MissedNodes(cast(Any, self), self.nodes, self.forget)

    @property
    def api(self) -> Cluster:
        return self

    async def items(self, path: str) -> list[dict[str, Any]]:
        assert path == "/api/v1/nodes"
        if self.error is not None:
            raise self.error
        return [a_node(name=name) for name in self.names]

    async def forget(self, document: Any) -> None:
        self.nodes.see(document, gone=True)


async def test_a_node_that_two_lists_lack_is_gone() -> None:
    cluster = Cluster()
    cluster.names.remove("n2")
    await cluster.missed.look()
    assert cluster.nodes.names() == {"n1", "n2"}, "the watch may bring it just now"
    await cluster.missed.look()
    assert cluster.nodes.names() == {"n1"}


async def test_a_node_that_comes_back_stays() -> None:
    cluster = Cluster()
    cluster.names.remove("n2")
    await cluster.missed.look()
    cluster.names.append("n2")
    await cluster.missed.look()
    cluster.names.remove("n2")
    await cluster.missed.look()
    assert cluster.nodes.names() == {"n1", "n2"}


async def test_a_list_that_fails_or_is_cut_takes_no_node(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster()
    cluster.error = Unreachable("away")
    for _ in range(3):
        await cluster.missed.look()
    cluster.error = None
    cluster.names.remove("n2")
    monkeypatch.setattr(missed_nodes, "MOST_OBJECTS", 1)
    for _ in range(3):
        await cluster.missed.look()
    assert cluster.nodes.names() == {"n1", "n2"}
