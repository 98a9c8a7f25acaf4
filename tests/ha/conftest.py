"""The real node with PostgreSQL beside it; measured figures are printed at the end."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator, Iterator

import pytest
import pytest_asyncio

from tests.apiserver.controllers import Shop, a_shop
from tests.apiserver.crds import install_crds
from tests.chart.conftest import cluster_helm, helm_program, image
from tests.chart.helm import Helm
from tests.conftest import Cluster
from tests.ha.figures import FIGURES
from tests.ha.replicas.replicated import Replicated, a_replicated_release
from tests.rigs.images.eater import load_eater
from tests.rigs.servers.databases import PostgreSQL, postgresql_server

__all__ = ["cluster_helm", "helm_program", "image"]


@pytest.fixture(scope="session")
def node(cluster: Cluster) -> Cluster:
    """The cluster, with the tests' image and our kinds."""
    load_eater(cluster.handle.layout)
    install_crds(cluster)
    return cluster


@pytest.fixture(scope="session")
def postgresql(node: Cluster) -> Iterator[PostgreSQL]:
    """A server in the cluster's network, reachable also for pods."""
    with postgresql_server("*") as server:
        yield server


@pytest.fixture(scope="session")
def replicated(
    cluster_helm: Helm, node: Cluster, image: str, postgresql: PostgreSQL
) -> Iterator[Replicated]:
    """The chart's pods, installed once for all that use them."""
    with a_replicated_release(cluster_helm, node, image, postgresql) as made:
        yield made


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put tests with the chart's pods last: its controllers would act on other tests' pods, too."""
    items.sort(key=lambda item: "replicated" in getattr(item, "fixturenames", ()))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show with a failure what the chart's controllers wrote: the place goes with the test run."""
    report = yield
    replicated = getattr(item, "funcargs", {}).get("replicated")
    if report.failed and isinstance(replicated, Replicated):
        report.sections += [(f"log of {pod}", log) for pod, log in replicated.controllers_logs()]
    return report


@pytest_asyncio.fixture
async def shop(node: Cluster) -> AsyncIterator[Shop]:
    """A namespace in enforce mode that goes when the test ends."""
    async with a_shop(node.kubeconfig) as made:
        await made.enforce(minRuns=1)
        yield made


@pytest_asyncio.fixture
async def own(node: Cluster) -> AsyncIterator[Shop]:
    """Plimsoll's own namespace, with its Lease; its pods are ignored."""
    async with a_shop(node.kubeconfig) as made:
        yield made


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for line in FIGURES.lines():
        terminalreporter.write_line(line)
