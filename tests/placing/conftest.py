"""A cluster of two nodes of its own, with a Plimsoll that recommends, and a namespace."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio
from deploy.local import lifecycle
from deploy.local.layout import Layout, layout_from
from deploy.local.namespaces import move_into_network

from tests.apiserver.controllers import Shop, a_shop
from tests.apiserver.crds import install_crds
from tests.conftest import Cluster
from tests.e2e.plimsolls import Plimsoll, a_plimsoll
from tests.e2e.seeing import sizes_in_mode
from tests.rigs.eater import load_eater


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """Two nodes, beside the checkout's cluster; the tests' process is in their network."""
    home = layout_from(os.environ).home
    handle = lifecycle.Cluster(Layout(home.with_name(f"{home.name}-placing")), dict(os.environ))
    with pytest.MonkeyPatch.context() as patch:
        # By address, which all clusters share, kubectl would take another one's kinds for ours.
        patch.setenv("KUBECACHEDIR", str(handle.layout.home / "kubectl-cache"))
        lifecycle.up(handle, lambda text: print(text, file=sys.stderr), nodes=2)
        try:
            leave = move_into_network(handle.layout.netns)
            try:
                yield Cluster(handle)
            finally:
                leave()
        finally:
            lifecycle.down(handle)


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
