"""The chart's pods on PostgreSQL: two controllers, two admission replicas, namespaces for pods."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from deploy.chart.rendering import NAME
from deploy.local.layout import NODE_ADDRESS

from plimsoll_operator.names.labels import STORE_REACHED_BY
from tests.apiserver.controllers import until
from tests.apiserver.crds import read_at
from tests.chart.helm import Helm
from tests.chart.installing import CONTROLLER_ADDRESS, Release, a_place, chart_values, install
from tests.conftest import Cluster
from tests.rigs.processes.log_records import log_records
from tests.rigs.servers.databases import PostgreSQL

SHOP = "ha-shop"
UNTOUCHED = "ha-shop-untouched"
"""A namespace whose pods the webhook does not see, but the controller does."""
PLAIN = "ha-shop-plain"
"""A namespace with another webhook, which only answers."""
ENDED = "lost the lead, ending at once"
_SECRET = "postgresql"


@dataclass(frozen=True, slots=True)
class Replicated:
    """An installation. url: of its database, as this process and the pods reach it."""

    release: Release
    database: PostgreSQL
    url: str

    @property
    def cluster(self) -> Cluster:
        return self.release.cluster

    async def kubectl(self, *words: str) -> str:
        return await asyncio.to_thread(self.cluster.kubectl, *words)

    async def rolled(self, deployment: str) -> None:
        """Restart a Deployment's pods one after another, until all are new."""
        name = f"deployment/{NAME}-{deployment}"
        await self.kubectl("rollout", "restart", "-n", NAME, name)
        await self.kubectl("rollout", "status", "-n", NAME, name, "--timeout=240s")

    async def scaled(self, deployment: str, count: int) -> None:
        """Ask for that many pods of a Deployment, without waiting for them."""
        name = f"deployment/{NAME}-{deployment}"
        await self.kubectl("scale", "-n", NAME, name, f"--replicas={count}")

    async def only(self, component: str, count: int) -> None:
        """Wait until there are no more pods than that, including those that are about to end."""
        selector = f"app.kubernetes.io/component={component}"

        def found() -> bool:
            path = f"/api/v1/namespaces/{NAME}/pods"
            return len(self._read(path, labelSelector=selector)["items"]) == count

        await until(f"{count} pods of {component}", found)

    def _read(self, path: str, **query: str) -> Any:
        return json.loads(read_at(self.cluster, path, **query))

    def leader(self) -> str | None:
        """The pod that leads and is ready, as the controller's Service sees it."""
        slices = self._read(
            f"/apis/discovery.k8s.io/v1/namespaces/{NAME}/endpointslices",
            labelSelector=f"kubernetes.io/service-name={NAME}-controller",
        )["items"]
        endpoints = [each for found in slices for each in found.get("endpoints") or []]
        # Its Service publishes it also while it is not ready; these conditions say what it is.
        ready = [
            each["targetRef"]["name"]
            for each in endpoints
            if each["conditions"].get("serving") and not each["conditions"].get("terminating")
        ]
        assert len(ready) <= 1
        return ready[0] if ready else None

    def holder(self) -> str | None:
        """The holder of the Lease; empty if it was given back."""
        found: str | None = self._lease()["spec"].get("holderIdentity")
        return found

    def store_reached_by(self) -> str | None:
        """The standby that reaches the store, empty if none does; None while the leader does."""
        annotations = self._lease()["metadata"].get("annotations") or {}
        found: str | None = annotations.get(STORE_REACHED_BY)
        return found

    def _lease(self) -> Any:
        path = f"/apis/coordination.k8s.io/v1/namespaces/{NAME}/leases/{NAME}-controller"
        return self._read(path)

    def stands_by(self, pod: str) -> bool:
        """Whether a controller's pod says that it waits for the end of another."""
        path = f"/api/v1/namespaces/{NAME}/pods/{pod}:8081/proxy/readyz"
        try:
            return read_at(self.cluster, path).startswith("standing by: ")
        except AssertionError:  # it is not ready, or nobody answers
            return False

    def controllers_logs(self) -> list[tuple[str, str]]:
        """The ends of the controllers' logs, of a container that was restarted, too."""
        path = f"/api/v1/namespaces/{NAME}/pods"
        logs = []
        for document in self.release.pods("controller"):
            pod = document["metadata"]["name"]
            for previous in ("true", "false"):
                with contextlib.suppress(AssertionError):  # it was not restarted, or not started
                    log = read_at(
                        self.cluster, f"{path}/{pod}/log", previous=previous, tailLines="60"
                    )
                    logs.append((f"{pod} before" if previous == "true" else pod, log))
        return logs

    def why_ended(self, pod: str) -> str:
        """The last words of a controller's container that lost the lead, and was restarted."""
        path = f"/api/v1/namespaces/{NAME}/pods/{pod}/log"
        records = log_records(read_at(self.cluster, path, previous="true"))
        return str([record["why"] for record in records if record["event"] == ENDED][-1:])

    def logged(self, pod: str, event: str) -> list[dict[str, Any]]:
        """Records of a controller's log."""
        log = read_at(self.cluster, f"/api/v1/namespaces/{NAME}/pods/{pod}/log")
        return [record for record in log_records(log) if record["event"] == event]


@contextlib.contextmanager
def a_replicated_release(
    helm: Helm, cluster: Cluster, image: str, database: PostgreSQL
) -> Iterator[Replicated]:
    """Install the chart in enforce mode on a new database, and take it away afterwards."""
    url = database.url(database.new_database(empty=True), NODE_ADDRESS)
    values = chart_values(
        image,
        policy={"mode": "enforce"},
        database={"existingSecret": _SECRET, "key": "url"},
        controller={
            "clusterIP": CONTROLLER_ADDRESS,
            "replicas": 2,
            "training": {"budgetSeconds": 2},
        },
        trainers={"enabled": True},
        webhook={"excludedNamespaces": [UNTOUCHED, PLAIN], "timeoutSeconds": 5},
    )
    with a_place(cluster, kinds_too=True):  # kubectl made them
        cluster.apply(
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": _SECRET, "namespace": NAME},
                "data": {"url": base64.b64encode(url.encode()).decode()},
            }
        )
        for name in (SHOP, UNTOUCHED, PLAIN):
            cluster.kubectl("create", "namespace", name)
        try:
            yield Replicated(install(helm, cluster, values), database, url)
        finally:
            cluster.kubectl("delete", "namespace", SHOP, UNTOUCHED, PLAIN, "--wait=false")
