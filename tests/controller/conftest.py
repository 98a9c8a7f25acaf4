"""The fixtures of the API server's tests, and a namespace of Plimsoll's own."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.apiserver.conftest import knowing_cluster, shop
from tests.apiserver.controllers import Shop, a_shop
from tests.conftest import Cluster

__all__ = ["knowing_cluster", "own", "shop"]


@pytest.fixture
async def own(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Shop]:
    """Plimsoll's own namespace, where the cluster's policy is; no task of it is looked at."""
    async with a_shop(cluster.kubeconfig) as made:
        monkeypatch.setenv("PLIMSOLL_NAMESPACE", made.namespace)
        yield made
