"""A cluster of two nodes of its own, with a Plimsoll that recommends, a namespace, and a past."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from tests.apiserver.controllers import Shop, a_shop
from tests.conftest import Cluster
from tests.e2e.conftest import plimsoll
from tests.e2e.plimsolls import Plimsoll
from tests.e2e.seeing import sizes_in_mode
from tests.placing.kinds import Ran, run_shuffled
from tests.placing.two_nodes import two_nodes

__all__ = ["plimsoll"]

SEED = 16


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """Two nodes, beside the checkout's cluster; the tests' process is in their network."""
    with two_nodes() as made:
        yield made


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def shop(plimsoll: Plimsoll, cluster: Cluster) -> AsyncIterator[Shop]:
    """A namespace without a policy: the default mode only recommends."""
    async with a_shop(cluster.kubeconfig) as made:
        await sizes_in_mode(made, "recommend")
        yield made


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def history(shop: Shop) -> list[Ran]:
    """Pods of both kinds in random order, two at a time on each node; all tests learn from them."""
    return await run_shuffled(shop, SEED, "past")
