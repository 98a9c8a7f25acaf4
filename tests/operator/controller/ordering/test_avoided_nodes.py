"""Nodes that take pods but cannot be preferred have room for pods that wait for their turn."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders.controller.turns import Queueing, a_node, a_queue, runs, waits

SOFT = {"key": "DeletionCandidateOfClusterAutoscaler", "effect": "PreferNoSchedule"}
HARD = {"key": "dedicated", "effect": "NoSchedule"}


def tainted(name: str, *taints: dict[str, str]) -> dict[str, Any]:
    return {**a_node(name), "spec": {"taints": list(taints)}}


async def with_full_nodes(queueing: Queueing) -> None:
    queueing.see(runs("full-1", "node-1"))
    queueing.see(runs("full-2", "node-2"))
    await queueing.look()


async def test_a_node_with_a_soft_taint_has_room() -> None:
    async with a_queue() as queueing:
        await with_full_nodes(queueing)
        queueing.releases.see_node(tainted("node-3", SOFT), gone=False)
        queueing.see(waits("cpu-0"))
        await queueing.look()
        assert queueing.server.held == set()
        assert queueing.prefers("cpu-0") == []


async def test_a_node_without_the_name_of_its_host_has_room() -> None:
    async with a_queue() as queueing:
        await with_full_nodes(queueing)
        node = a_node("node-3")
        node["metadata"]["labels"] = {}
        queueing.releases.see_node(node, gone=False)
        queueing.see(waits("cpu-0"))
        await queueing.look()
        assert queueing.server.held == set()
        assert queueing.prefers("cpu-0") == []


@pytest.mark.parametrize("effect", ["NoSchedule", "NoExecute"])
async def test_a_node_with_a_hard_taint_has_none(effect: str) -> None:
    async with a_queue() as queueing:
        await with_full_nodes(queueing)
        node = tainted("node-3", SOFT, {**HARD, "effect": effect})
        queueing.releases.see_node(node, gone=False)
        queueing.see(waits("cpu-0"))
        await queueing.look()
        assert queueing.server.held == {"cpu-0"}
