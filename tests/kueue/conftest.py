"""One real Kueue and one real Plimsoll beside each other, on one cluster."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio
from deploy.local.binaries.tools import tool

from tests.apiserver.controllers import Shop, a_shop
from tests.chart.helm import Helm
from tests.conftest import Cluster
from tests.e2e.conftest import plimsoll
from tests.e2e.plimsolls import Plimsoll
from tests.e2e.seeing import sizes_in_mode
from tests.kueue.kueues import a_kueue
from tests.kueue.quotas import Queue, a_queue

__all__ = ["plimsoll"]


@pytest.fixture(scope="session")
def kueue(cluster: Cluster) -> Iterator[None]:
    """Kueue itself, with its webhooks."""
    helm = tool("helm", os.environ, lambda text: print(text, file=sys.stderr))
    with a_kueue(cluster, Helm(helm, cluster)):
        yield


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def shop(kueue: None, plimsoll: Plimsoll, cluster: Cluster) -> AsyncIterator[Shop]:
    """A namespace in enforce mode, with an order and with rescue, which admission knows."""
    async with a_shop(cluster.kubeconfig) as made:
        await made.enforce(minRuns=1, rescue="auto", order="enforce")
        await sizes_in_mode(made, "enforce")
        yield made


@pytest_asyncio.fixture(loop_scope="session")
async def queue(shop: Shop) -> AsyncIterator[Queue]:
    """A queue of the namespace with an unused quota; it is removed when a test ends."""
    async with a_queue(shop) as made:
        yield made


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put tests that share a Plimsoll last: it runs to the end, and a cluster has one at a time."""
    items.sort(key=lambda item: "plimsoll" in getattr(item, "fixturenames", ()))
