"""The chart where cert-manager makes the certificate and Prometheus' operator asks for metrics.

Neither runs here: their definitions do, and the test does what cert-manager would.
"""

from __future__ import annotations

import json
import urllib.request
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
from deploy.chart.rendering import NAME

from plimsoll_operator.credentials.issuing import Pair, issue
from tests.chart.creating import is_decided
from tests.chart.foreign_kinds import CERT_MANAGER, PROMETHEUS, foreign_kinds
from tests.chart.helm import Helm
from tests.chart.installing import Release, a_place, chart_values, install, until
from tests.conftest import Cluster

pytestmark = [pytest.mark.cluster, pytest.mark.node]

SHOP = "chart-shop"
ADMISSION = f"{NAME}-admission"
ON = {"enabled": True}


@dataclass(frozen=True, slots=True)
class Managed:
    """A release, and a certificate that somebody else made for it."""

    release: Release
    pair: Pair
    data: dict[str, str]


@pytest.fixture(scope="module")
def managed(cluster_helm: Helm, cluster: Cluster, image: str) -> Iterator[Managed]:
    values = chart_values(
        image,
        policy={"mode": "enforce"},
        certificates={"mode": "cert-manager"},
        monitoring={"serviceMonitor": ON, "rules": ON, "dashboard": ON},
    )
    pair = issue([f"{ADMISSION}.{NAME}.svc"], datetime.now(UTC), timedelta(days=1))
    entries = {"tls.crt": pair.certificate, "tls.key": pair.key, "ca.crt": pair.authority}
    data = {key: b64encode(entry).decode() for key, entry in entries.items()}
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/tls",
        "metadata": {"name": f"{ADMISSION}-tls", "namespace": NAME},
        "data": data,
    }
    cluster.kubectl("delete", "namespace", SHOP, "--ignore-not-found")
    cluster.kubectl("create", "namespace", SHOP)
    with foreign_kinds(cluster, (*CERT_MANAGER, *PROMETHEUS)), a_place(cluster):
        cluster.apply(secret)
        yield Managed(install(cluster_helm, cluster, values), pair, data)
    cluster.kubectl("delete", "namespace", SHOP, "--wait=false")


def test_a_certificate_of_cert_managers_is_served_and_left_alone(managed: Managed) -> None:
    cluster = managed.release.cluster
    assert managed.release.authority() is None
    configuration = f"mutatingwebhookconfiguration/{NAME}"
    authority = b64encode(managed.pair.authority).decode()
    injected = [
        {"op": "add", "path": f"/webhooks/{number}/clientConfig/caBundle", "value": authority}
        for number in range(len(cluster.get(configuration)["webhooks"]))
    ]
    cluster.kubectl("patch", configuration, "--type=json", f"--patch={json.dumps(injected)}")
    until("pods are decided", lambda: is_decided(cluster, SHOP, "trusted"))
    assert cluster.get("secret", f"{ADMISSION}-tls", "-n", NAME)["data"] == managed.data


def test_cert_manager_is_asked_for_what_admission_needs(managed: Managed) -> None:
    cluster = managed.release.cluster
    asked = cluster.get("certificate", ADMISSION, "-n", NAME)["spec"]
    assert asked["secretName"] == f"{ADMISSION}-tls"
    assert asked["dnsNames"][0] == f"{ADMISSION}.{NAME}.svc"
    assert asked["issuerRef"]["name"] == ADMISSION
    annotations = cluster.get("mutatingwebhookconfiguration", NAME)["metadata"]["annotations"]
    assert annotations["cert-manager.io/inject-ca-from"] == f"{NAME}/{ADMISSION}"


def test_metrics_of_every_replica_are_found(managed: Managed) -> None:
    cluster = managed.release.cluster
    monitor = cluster.get("servicemonitor", NAME, "-n", NAME)["spec"]
    selector = ",".join(f"{k}={v}" for k, v in monitor["selector"]["matchLabels"].items())
    (service,) = cluster.get("services", "-n", NAME, "-l", selector)["items"]
    owner = f"kubernetes.io/service-name={service['metadata']['name']}"
    # Pods' port numbers differ, so there is a slice for each.
    found = {
        (address, endpoints["ports"][0]["port"])
        for endpoints in cluster.get("endpointslices", "-n", NAME, "-l", owner)["items"]
        for endpoint in endpoints["endpoints"]
        for address in endpoint["addresses"]
    }
    assert sorted(port for _, port in found) == [8081, 9090, 9090]
    for address, port in found:
        with urllib.request.urlopen(f"http://{address}:{port}/metrics", timeout=10) as answer:
            assert "plimsoll_build_info" in answer.read().decode()


def test_the_agents_metrics_are_found_where_they_are(managed: Managed) -> None:
    cluster = managed.release.cluster
    monitor = cluster.get("podmonitor", f"{NAME}-agent", "-n", NAME)["spec"]
    (namespace,) = monitor["namespaceSelector"]["matchNames"]
    selector = ",".join(f"{k}={v}" for k, v in monitor["selector"]["matchLabels"].items())
    (pod,) = cluster.get("pods", "-n", namespace, "-l", selector)["items"]
    (container,) = pod["spec"]["containers"]
    (endpoint,) = monitor["podMetricsEndpoints"]
    (port,) = (p["containerPort"] for p in container["ports"] if p["name"] == endpoint["port"])
    address = f"http://{pod['status']['podIP']}:{port}/metrics"
    with urllib.request.urlopen(address, timeout=10) as answer:
        assert "plimsoll_agent" in answer.read().decode()
