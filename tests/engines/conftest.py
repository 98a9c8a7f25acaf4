"""One real Plimsoll, and a namespace whose pods are watched to the millisecond."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from tests.apiserver.controllers import Shop
from tests.conftest import Cluster
from tests.e2e.conftest import plimsoll
from tests.e2e.opted_in import an_opted_in_shop
from tests.e2e.plimsolls import Plimsoll
from tests.e2e.witnesses import Witness, witnessing
from tests.rigs.node.container_ends import ContainerEnds, container_ends

__all__ = ["plimsoll"]


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def shop(plimsoll: Plimsoll, cluster: Cluster) -> AsyncIterator[Shop]:
    """A namespace that wants its engines' pods recognised, in enforce mode."""
    assert plimsoll is not None
    async with an_opted_in_shop(cluster.kubeconfig) as made:
        yield made


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def witness(shop: Shop) -> AsyncIterator[Witness]:
    async with witnessing(shop) as watching:
        yield watching


@pytest.fixture(scope="session")
def ends(cluster: Cluster) -> Iterator[ContainerEnds]:
    with container_ends(cluster.handle.layout) as listening:
        yield listening
