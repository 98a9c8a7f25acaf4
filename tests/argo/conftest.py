"""One real Argo Workflows and one real Plimsoll beside each other, on one cluster."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.apiserver.controllers import Shop
from tests.argo.argos import install_argo, let_in
from tests.conftest import Cluster
from tests.e2e.conftest import plimsoll
from tests.e2e.opted_in import an_opted_in_shop
from tests.e2e.plimsolls import Plimsoll
from tests.engines.conftest import ends, witness

__all__ = ["ends", "plimsoll", "witness"]


@pytest.fixture(scope="session")
def argo(cluster: Cluster) -> None:
    """Argo's kinds, and its executor on the node."""
    install_argo(cluster)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def shop(argo: None, plimsoll: Plimsoll, cluster: Cluster) -> AsyncIterator[Shop]:
    """A namespace that wants its engines' pods recognised, in enforce mode, and lets Argo in."""
    async with an_opted_in_shop(cluster.kubeconfig) as made:
        let_in(cluster, made.namespace)
        yield made
