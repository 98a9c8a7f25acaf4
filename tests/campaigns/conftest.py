"""One real Plimsoll for all tests here, and namespaces in which it only recommends."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.apiserver.controllers import Shop, a_shop
from tests.conftest import Cluster
from tests.e2e.conftest import plimsoll
from tests.e2e.plimsolls import Plimsoll

__all__ = ["plimsoll"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put first what writes statuses itself: a controller that runs would write others."""
    here = Path(__file__).parent
    places = [at for at, item in enumerate(items) if here in item.path.parents]
    ours = [items[at] for at in places]
    ours.sort(key=lambda item: "plimsoll" in getattr(item, "fixturenames", ()))
    for at, item in zip(places, ours, strict=True):
        items[at] = item


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shop(plimsoll: Plimsoll, cluster: Cluster) -> AsyncIterator[Shop]:
    """A namespace of its own."""
    async with a_shop(cluster.kubeconfig) as made:
        yield made
