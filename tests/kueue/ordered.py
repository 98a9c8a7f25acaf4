"""A Plimsoll that orders pods and Jobs, beside Kueue, on the real node."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kubernetes_asyncio import client

from plimsoll_operator.names import labels
from plimsoll_operator.names.quantity import parse_bytes
from plimsoll_predictor.store import Store
from tests.apiserver.controllers import Shop, until
from tests.conftest import Cluster
from tests.e2e.seeing import create
from tests.e2e.workloads import Manifest, a_job, a_pod
from tests.ha.turns.that_holds import a_plimsoll_that_holds
from tests.ha.turns.waiting_for_turns import COMPUTES, teach
from tests.ha.whole import Whole
from tests.kueue.quotas import Queue

SHORT = "eat 8 4"
LARGE_SHARE = 0.55
"""Share of the node's memory: two such pods have no room beside each other."""


@dataclass(frozen=True, slots=True)
class Ordered:
    """Its namespace, where pods are ordered though they run only for seconds. large: a request."""

    shop: Shop
    whole: Whole
    queue: Queue
    large: str

    def pod(self, name: str, *gates: str, memory: str = "64Mi") -> Manifest:
        """A pod of a task that is ordered."""
        made = a_pod(name, SHORT, task=COMPUTES, memory=memory)
        if gates:
            made["spec"]["schedulingGates"] = [{"name": gate} for gate in gates]
        return made

    def job(self, name: str, memory: str = "64Mi") -> Manifest:
        """A Job of one such pod."""
        return a_job(name, SHORT, task=COMPUTES, backoff_limit=3, memory=memory)

    async def gates(self, name: str) -> list[str]:
        """A pod's scheduling gates."""
        pod = (await self.shop.pods())[name]
        return [each.name for each in pod.spec.scheduling_gates or ()]

    async def read_job(self, name: str) -> Any:
        """A Job as it is now."""
        jobs = client.BatchV1Api(self.shop.core.api_client)
        return await jobs.read_namespaced_job(name, self.shop.namespace)

    async def would_wait(self) -> bool:
        """Whether a new Job would be created suspended by Plimsoll."""
        tried = await create(self.shop, self.job("tried"), dry_run=True)
        return (tried.metadata.labels or {}).get(labels.WAITS) == "true"


@contextlib.asynccontextmanager
async def a_plimsoll_that_orders(
    cluster: Cluster, shop: Shop, own: str, queue: Queue, folder: Path
) -> AsyncIterator[Ordered]:
    """Start it, and wait until new Jobs would wait for their turn; end it with the block."""
    await shop.enforce(mode="recommend", order="enforce", jobsWait="suspended")
    store = Store.open(f"sqlite:///{folder}/plimsoll.db")
    try:
        teach(store, shop)
    finally:
        store.close()
    (node,) = cluster.get("nodes")["items"]
    memory_bytes = parse_bytes(node["status"]["allocatable"]["memory"])
    async with a_plimsoll_that_holds(
        # Its pods end within seconds, and Plimsoll learns that.
        *(cluster, own, folder),
        PLIMSOLL_ORDER_LEAST_RUNTIMES="1",
    ) as whole:
        made = Ordered(shop, whole, queue, str(int(LARGE_SHARE * memory_bytes)))
        await until("a new Job would wait", made.would_wait)
        yield made
