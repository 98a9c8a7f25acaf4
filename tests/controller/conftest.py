"""The fixtures of the API server's tests, and a namespace of Plimsoll's own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.apiserver.conftest import knowing_cluster, shop
from tests.apiserver.controllers import Shop, a_shop
from tests.conftest import Cluster
from tests.rigs.processes.forked_trainers import forked_trainers
from tests.rigs.processes.own_interpreter import NAMED_BY

__all__ = ["knowing_cluster", "own", "shop"]


@pytest.fixture(scope="session", autouse=True)
def trainers() -> Iterator[None]:
    """A server loads the libraries of training once; it starts with the first controller."""
    with forked_trainers() as python, pytest.MonkeyPatch.context() as patch:
        patch.setenv(NAMED_BY, str(python.program))
        yield


@pytest.fixture
async def own(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Shop]:
    """Plimsoll's own namespace, with the cluster's policy; its tasks are ignored."""
    async with a_shop(cluster.kubeconfig) as made:
        monkeypatch.setenv("PLIMSOLL_NAMESPACE", made.namespace)
        yield made
