"""What a namespace allows, and pods that ask for nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.apiserver.controllers import Shop, a_shop, until
from tests.conftest import Cluster
from tests.e2e.plimsolls import Plimsoll
from tests.e2e.seeing import (
    WITHIN_S,
    create,
    decision_of,
    end_of,
    ended,
    memory_of,
    retried,
    retries_of,
    sizes_in_mode,
    told,
)
from tests.e2e.workloads import a_pod

pytestmark = [pytest.mark.node, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def narrow(plimsoll: Plimsoll, cluster: Cluster) -> AsyncIterator[Shop]:
    """A namespace that allows a container 96Mi at most."""
    async with a_shop(cluster.kubeconfig) as shop:
        limits = {"limits": [{"type": "Container", "max": {"memory": "96Mi"}}]}
        await shop.core.create_namespaced_limit_range(
            shop.namespace, {"metadata": {"name": "narrow"}, "spec": limits}
        )
        await shop.enforce()
        await sizes_in_mode(shop, "enforce")
        yield shop


async def test_a_lift_stops_at_the_limit_range_and_is_then_given_up(narrow: Shop) -> None:
    first = await create(narrow, a_pod("heavy", "eat 200"))
    retry = await retried(narrow, first.metadata.uid)
    assert memory_of(retry) == ("96Mi", "96Mi")
    assert end_of(retry) == ("OOMKilled", 137)
    await told(narrow, retry.metadata.name, "Leaking")
    assert await retries_of(narrow, retry.metadata.uid) == []


async def test_a_pod_that_asks_for_nothing_is_left_and_one_with_a_request_is_sized(
    shop: Shop,
) -> None:
    first = await create(shop, a_pod("first", "eat 40 1", memory=None))
    assert memory_of(first) == (None, None)
    assert first.status.qos_class == "BestEffort"
    assert (await ended(shop, "first")).status.phase == "Succeeded"

    async def known() -> bool:
        probe = await create(shop, a_pod("probe", "eat 40", memory="1Mi"), dry_run=True)
        return bool(decision_of(probe)["reason"] != "cold-start")

    await until("the first run's need at admission", known, WITHIN_S)
    second = await create(shop, a_pod("second", "eat 40 1", memory=None))
    assert memory_of(second) == (None, None)
    assert second.status.qos_class == "BestEffort"
    assert "write a request" in decision_of(second)["why"]
    assert (await ended(shop, "second")).status.phase == "Succeeded"
    third = await create(shop, a_pod("third", "eat 40 1", memory="1Mi"))
    request, limit = memory_of(third)
    assert request not in (None, "1Mi")
    assert third.status.qos_class == "Burstable"
    assert limit in (None, request)
    assert (await ended(shop, "third")).status.phase == "Succeeded"
