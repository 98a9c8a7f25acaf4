"""One real Plimsoll and a real Spark beside it, on one cluster."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from plimsoll_operator.names import labels
from tests.apiserver.controllers import Shop, a_shop, until
from tests.conftest import Cluster
from tests.e2e.conftest import plimsoll
from tests.e2e.opted_in import recognised
from tests.e2e.plimsolls import Plimsoll
from tests.e2e.seeing import WITHIN_S, sizes_in_mode
from tests.rigs.spark.spark_applications import let_drivers_in, load_spark

__all__ = ["plimsoll"]


@pytest.fixture(scope="session")
def spark(cluster: Cluster) -> None:
    """Spark's image on the node."""
    load_spark(cluster)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def shop(spark: None, plimsoll: Plimsoll, cluster: Cluster) -> AsyncIterator[Shop]:
    """A namespace whose drivers get properties, and whose memory nobody changes."""
    async with a_shop(cluster.kubeconfig) as made:
        opted_in = {"metadata": {"labels": {labels.ENABLED: "true"}}}
        await made.core.patch_namespace(made.namespace, opted_in)
        await made.enforce(mode="recommend", attempts=3, spark={"mode": "enforce"})
        await sizes_in_mode(made, "recommend")
        await until("the label at the API server", lambda: recognised(made), WITHIN_S)
        let_drivers_in(cluster, made.namespace)
        yield made


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A folder to which drivers write their event logs, whatever account they have."""
    tmp_path.chmod(0o777)
    return tmp_path
