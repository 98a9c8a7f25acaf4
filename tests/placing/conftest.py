"""A cluster of two nodes of its own, with a Plimsoll that recommends, and a namespace."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from tests.apiserver.controllers import Shop, a_shop
from tests.apiserver.crds import install_crds
from tests.conftest import Cluster
from tests.e2e.plimsolls import Plimsoll, a_plimsoll
from tests.e2e.seeing import sizes_in_mode
from tests.placing.two_nodes import two_nodes
from tests.rigs.eater import load_eater


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """Two nodes, beside the checkout's cluster; the tests' process is in their network."""
    with two_nodes() as made:
        yield made


@pytest.fixture(scope="session")
def plimsoll(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plimsoll]:
    """Controller, admission, and one agent: it finds the cgroups of both nodes' pods."""
    load_eater(cluster.handle.layout)
    install_crds(cluster)
    with a_plimsoll(cluster, tmp_path_factory.mktemp("plimsoll")) as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shop(plimsoll: Plimsoll, cluster: Cluster) -> AsyncIterator[Shop]:
    """A namespace without a policy: the default mode only recommends."""
    async with a_shop(cluster.kubeconfig) as made:
        await sizes_in_mode(made, "recommend")
        yield made
