"""A namespace of its own for each test, on a cluster that knows our kinds."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.apiserver.controllers import Shop, a_shop
from tests.apiserver.crds import install_crds
from tests.conftest import Cluster


@pytest.fixture(scope="session")
def knowing_cluster(cluster: Cluster) -> Cluster:
    """The cluster, with TaskProfile and SizingPolicy."""
    install_crds(cluster)
    return cluster


@pytest_asyncio.fixture
async def shop(knowing_cluster: Cluster) -> AsyncIterator[Shop]:
    """A namespace that goes when the test ends."""
    async with a_shop(knowing_cluster.kubeconfig) as made:
        yield made
