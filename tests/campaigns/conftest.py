"""One real Plimsoll for all tests here, and namespaces in which it only recommends."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.apiserver.controllers import Shop, a_shop
from tests.apiserver.crds import install_crds
from tests.campaigns.campaigns import SMALL
from tests.conftest import Cluster
from tests.e2e.plimsolls import Plimsoll, a_plimsoll
from tests.rigs.images.eater import load_eater
from tests.rigs.processes.forked_trainers import forked_trainers


@pytest.fixture(scope="session")
def plimsoll(
    cluster: Cluster, tmp_path_factory: pytest.TempPathFactory, rounds: int
) -> Iterator[Plimsoll]:
    """Controller, admission and agent.

    Trainers are forked, unless many kills are to meet them: forked ones end too soon for that.
    """
    load_eater(cluster.handle.layout)
    install_crds(cluster)
    folder = tmp_path_factory.mktemp("plimsoll")
    with contextlib.ExitStack() as stack:
        python = None if rounds > SMALL else stack.enter_context(forked_trainers())
        yield stack.enter_context(a_plimsoll(cluster, folder, interpreter=python))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put tests that write statuses themselves first: a running controller would write others."""
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
