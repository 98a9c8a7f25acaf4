"""Pods that wait for their turn: released in it, and whoever of Plimsoll is killed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from plimsoll_operator.names import labels
from tests.apiserver.controllers import Shop, a_shop, until
from tests.conftest import Cluster
from tests.ha.waiting_for_turns import COMPUTES, WAITS, Waiting, pods_that_wait

pytestmark = [pytest.mark.node]

LONGEST_S = 60.0
"""No pod waits longer than that for a Plimsoll that is away."""


@pytest_asyncio.fixture
async def waiting(node: Cluster, own: Shop, tmp_path: Path) -> AsyncIterator[Waiting]:
    """Both nodes are full: one that computes and one that waits run, each beside a third."""
    async with a_shop(node.kubeconfig) as shop:
        await shop.enforce(order="enforce")
        async with pods_that_wait(node, shop, own.namespace, tmp_path) as made:
            yield made


async def full(waiting: Waiting) -> dict[str, str]:
    """Run pods in all slots; the node of each."""
    first = {
        "computes-0": await waiting.run("computes-0", COMPUTES),
        "waits-0": await waiting.run("waits-0", WAITS),
    }
    assert len(set(first.values())) == 2
    for name in ("waits-1", "waits-2"):
        first[name] = await waiting.run(name, WAITS)
    return first


async def test_who_gets_along_comes_first_and_all_come(waiting: Waiting) -> None:
    first = await full(waiting)
    for name, task in (("computes-1", COMPUTES), ("computes-2", COMPUTES), ("waits-3", WAITS)):
        await waiting.create(name, task)
    assert await waiting.held() == {"computes-1", "computes-2", "waits-3"}
    beside_computes = next(
        name for name in ("waits-1", "waits-2") if first[name] == first["computes-0"]
    )
    await waiting.shop.end(beside_computes, "succeeded")
    found = await until("waits-3 has a node", lambda: waiting.node_of("waits-3"))
    assert found == first["computes-0"]
    assert await waiting.held() == {"computes-1", "computes-2"}
    for name in ("computes-0", "waits-0"):
        await waiting.shop.end(name, "succeeded")
    for name in ("computes-1", "computes-2"):
        await until(f"{name} has a node", lambda name=name: waiting.node_of(name))
    pod = (await waiting.shop.pods())["waits-3"]
    terms = pod.spec.affinity.node_affinity
    assert terms.required_during_scheduling_ignored_during_execution is None
    assert labels.HELD in pod.metadata.annotations
