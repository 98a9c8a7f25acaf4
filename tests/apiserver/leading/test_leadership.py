"""Controllers that compete on the real API server: one leads, and when it is gone, another."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import pytest
from kubernetes_asyncio import client

from tests.apiserver.controllers import PATIENCE_S, Shop, until
from tests.apiserver.leading.candidates import LEASE, LOST, Candidate, a_candidate, environment
from tests.conftest import Cluster

pytestmark = [pytest.mark.cluster]

SHORT_S = 15
"""A lease that runs out while the test waits."""


async def holder(shop: Shop) -> str | None:
    lease = await client.CoordinationV1Api(shop.core.api_client).read_namespaced_lease(
        LEASE, shop.namespace
    )
    found: str | None = lease.spec.holder_identity
    return found


async def _says(candidate: Candidate, words: str) -> bool:
    return await candidate.get("/readyz") == (200, words)


async def test_of_two_controllers_one_leads_and_the_other_follows_when_it_ends(
    shop: Shop, knowing_cluster: Cluster, tmp_path: Path
) -> None:
    told = environment(shop, tmp_path)
    async with a_candidate(knowing_cluster.kubeconfig, tmp_path, "one", told) as one:
        await until("one leads", one.leads)
        async with a_candidate(knowing_cluster.kubeconfig, tmp_path, "two", told) as two:
            await until("two stands by", two.stands_by)
            await until("two says who leads", lambda: _says(two, "standing by: one leads\n"))
            assert (await two.get("/v1/feed"))[0] == 503
            assert await two.metric("plimsoll_leader") == 0
            assert await one.get("/readyz") == (200, "ok\n")
            assert await one.end() == 0
            await until("two leads", two.leads)
            assert await holder(shop) == "two"
    assert await holder(shop) in ("", None)


async def test_a_leader_that_hangs_is_replaced_and_ends_itself_when_it_wakes(
    shop: Shop, knowing_cluster: Cluster, tmp_path: Path
) -> None:
    told = environment(shop, tmp_path, LEASE_S=str(SHORT_S))
    async with (
        a_candidate(knowing_cluster.kubeconfig, tmp_path, "one", told) as one,
        a_candidate(knowing_cluster.kubeconfig, tmp_path, "two", told) as two,
    ):
        first, second = await until("one of them leads", lambda: _in_order(one, two))
        first.process.send_signal(signal.SIGSTOP)
        await until("the other leads", second.leads)
        first.process.send_signal(signal.SIGCONT)
        assert await asyncio.wait_for(first.process.wait(), PATIENCE_S) == LOST
        assert first.logged("lost the lead, ending at once")
        assert await holder(shop) == second.name


async def _in_order(one: Candidate, two: Candidate) -> tuple[Candidate, Candidate] | None:
    for first, second in ((one, two), (two, one)):
        if await first.leads():
            return first, second
    return None
