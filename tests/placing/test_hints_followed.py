"""Hints learned from runs on two real nodes, given by admission, followed by the scheduler."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from plimsoll_operator.names import labels
from tests.apiserver.controllers import Shop, until
from tests.e2e.seeing import create, running
from tests.e2e.workloads import Manifest, a_pod
from tests.placing.kinds import COMPUTES, HOSTNAME, KINDS, NODES, WAITS, Ran, run_shuffled

pytestmark = [pytest.mark.node, pytest.mark.asyncio(loop_scope="session")]

SEED, FOLLOWERS = 33, 6
WITHIN_S = 120.0
LONG = {COMPUTES: "turns 400 8000 0", WAITS: "turns 12000 8 100"}


def anywhere(name: str, kind: str, command: str) -> Manifest:
    """A pod that says nothing about nodes."""
    return a_pod(name, command, task=kind, memory="32Mi")


def hinted(pod: Any) -> list[str]:
    """The nodes that a pod prefers by its annotation."""
    text = (pod.metadata.annotations or {}).get(labels.HINT)
    return [] if text is None else list(json.loads(text)["nodes"])


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def settled(shop: Shop, history: list[Ran]) -> AsyncIterator[Shop]:
    """Both kinds ran beside each other and themselves; now a pod that computes is on node-1."""
    await shop.enforce(mode="recommend", placing="enforce")
    assert {ran.kind for ran in history} == {COMPUTES, WAITS}
    await run_shuffled(shop, SEED, "more")
    for kind, node in zip((COMPUTES, WAITS), NODES, strict=True):
        long = anywhere(f"long-{kind}", kind, LONG[kind])
        long["spec"]["nodeSelector"] = {HOSTNAME: node}
        await create(shop, long)
        await running(shop, f"long-{kind}")
    yield shop
    for kind in (COMPUTES, WAITS):
        await _remove(shop, f"long-{kind}")


async def test_who_computes_is_sent_to_who_waits(settled: Shop) -> None:
    """One after another: without a hint, half of them would start on either node."""

    async def is_hinted() -> bool:
        tried = await create(settled, anywhere("tried", COMPUTES, KINDS[COMPUTES]), dry_run=True)
        return hinted(tried)[:1] == [NODES[1]]

    bound = []
    for number in range(FOLLOWERS):
        name = f"follows-{number}"
        await until("a pod that computes is hinted at node-2", is_hinted, WITHIN_S)
        created = await create(settled, anywhere(name, COMPUTES, KINDS[COMPUTES]))
        assert hinted(created)[:1] == [NODES[1]]
        await running(settled, name)
        bound.append((await settled.pods())[name].spec.node_name)
        await _remove(settled, name)
    assert bound == [NODES[1]] * FOLLOWERS


async def _remove(shop: Shop, name: str) -> None:
    await shop.core.delete_namespaced_pod(name, shop.namespace, grace_period_seconds=0)
    await until("it is gone", lambda: _gone(shop, name), WITHIN_S)


async def _gone(shop: Shop, name: str) -> bool:
    return name not in await shop.pods()
