"""One real Airflow and one real Plimsoll beside each other, on one cluster."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from deploy.local.layout import CHECKOUT

from tests.airflow.servers import Airflow, serving
from tests.apiserver.controllers import Shop
from tests.conftest import Cluster
from tests.e2e.conftest import plimsoll
from tests.e2e.opted_in import an_opted_in_shop
from tests.e2e.plimsolls import Plimsoll
from tests.e2e.witnesses import Witness, witnessing
from tests.rigs.images.eater import IMAGE

__all__ = ["plimsoll"]

DAGS = Path(__file__).parent / "dags"
USUAL = "2,5,8"
"""The default of dags/nightly.py."""
_PYTHON = re.compile(r"```python\n(.*?)```", re.DOTALL)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def shop(plimsoll: Plimsoll, cluster: Cluster) -> AsyncIterator[Shop]:
    """A namespace that wants its engines' pods recognised, in enforce mode."""
    async with an_opted_in_shop(cluster.kubeconfig) as made:
        yield made


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def witness(shop: Shop) -> AsyncIterator[Witness]:
    async with witnessing(shop) as watching:
        yield watching


def pytest_addoption(parser: pytest.Parser) -> None:
    """Which of the ten mapped tasks of a night are too large for their size."""
    parser.addoption("--large", default=USUAL, help="map indexes of the tasks that need more")


@pytest.fixture(scope="session")
def large(pytestconfig: pytest.Config) -> str:
    """The map indexes of the tasks that need more than they ask for, with commas between."""
    return str(pytestconfig.getoption("--large", USUAL))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With other large tasks than usual, leave out tests that need large ones among small ones."""
    if config.getoption("--large", USUAL) == USUAL:
        return
    left = [item for item in items if item.get_closest_marker("usual_order") is not None]
    config.hook.pytest_deselected(items=left)
    items[:] = [item for item in items if item not in left]


@pytest.fixture(scope="session")
def airflow(
    shop: Shop, cluster: Cluster, large: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Airflow]:
    """An Airflow that is set up only as docs/airflow.md says."""
    home = tmp_path_factory.mktemp("airflow")
    (home / "config").mkdir()
    documented = _PYTHON.search((CHECKOUT / "docs" / "airflow.md").read_text())
    assert documented is not None
    (home / "config" / "airflow_local_settings.py").write_text(documented[1])
    settings = {
        "EATER_IMAGE": IMAGE,
        "EATER_NAMESPACE": shop.namespace,
        "EATER_KUBECONFIG": str(cluster.kubeconfig),
        "EATER_LARGE": large,
    }
    with serving(home, DAGS, settings) as running:
        yield running
