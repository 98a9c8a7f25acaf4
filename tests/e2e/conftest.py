"""One real Plimsoll for all tests here, and namespaces that it enforces sizes in."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from tests.apiserver.controllers import Shop, a_shop
from tests.apiserver.crds import install_crds
from tests.conftest import Cluster
from tests.e2e.plimsolls import Plimsoll, a_plimsoll
from tests.e2e.seeing import sizes_in_mode
from tests.rigs.images.eater import load_eater
from tests.rigs.processes.forked_trainers import forked_trainers


@pytest.fixture(scope="session")
def plimsoll(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plimsoll]:
    """Controller, admission and agent, shared by all: a test that harms it waits for its return."""
    load_eater(cluster.handle.layout)
    install_crds(cluster)
    folder = tmp_path_factory.mktemp("plimsoll")
    with forked_trainers() as python, a_plimsoll(cluster, folder, interpreter=python) as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shop(plimsoll: Plimsoll, cluster: Cluster) -> AsyncIterator[Shop]:
    """A namespace in enforce mode that admission already knows."""
    async with a_shop(cluster.kubeconfig) as made:
        await made.enforce(minRuns=1)
        await sizes_in_mode(made, "enforce")
        yield made
