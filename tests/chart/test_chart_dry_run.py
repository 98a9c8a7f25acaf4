"""The API server itself checks every object of every value set, also for unknown fields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from deploy.chart.generated import CHECKOUT
from deploy.chart.rendering import NAME, VALUE_SETS

from tests.chart.foreign_kinds import CERT_MANAGER, PROMETHEUS, foreign_kinds
from tests.chart.helm import Document, Helm, documents_in, named
from tests.chart.installing import AGENTS
from tests.conftest import Cluster

pytestmark = pytest.mark.cluster

EVERYTHING: dict[str, Any] = {
    "agent": {"namespace": AGENTS},
    "certificates": {"mode": "cert-manager"},
    "controller": {"replicas": 2, "exposePage": True},
    "database": {"existingSecret": "database", "tlsSecret": "authority"},
    "mlflow": {"existingSecret": "mlflow", "tokenKey": "token"},
    "monitoring": {
        "serviceMonitor": {"enabled": True},
        "rules": {"enabled": True},
        "dashboard": {"enabled": True},
    },
    "networkPolicies": {
        "enabled": True,
        "apiServerCidrs": ["10.0.0.0/16"],
        "databaseCidrs": ["10.1.0.1/32"],
        "metricsNamespaces": ["monitoring"],
        "controllerEgress": [{"ports": [{"port": 443}]}],
    },
    "trainers": {"enabled": True},
}


@pytest.fixture(scope="module")
def knowing(cluster: Cluster) -> Iterator[Cluster]:
    """A cluster that knows the kinds of the Prometheus operator and cert-manager."""
    namespaces = [NAME, AGENTS]
    cluster.kubectl("delete", "namespace", *namespaces, "--ignore-not-found", "--timeout=240s")
    with foreign_kinds(cluster, (*CERT_MANAGER, *PROMETHEUS)):
        for namespace in namespaces:
            cluster.kubectl("create", "namespace", namespace)
        yield cluster
        cluster.kubectl("delete", "namespace", *namespaces, "--wait=false")


def _accepted(cluster: Cluster, documents: list[Document]) -> None:
    text = yaml.dump_all(documents, Dumper=yaml.CSafeDumper)
    said = cluster.kubectl(
        "apply", "--server-side", "--force-conflicts", "--dry-run=server", "--validate=strict",
        "-f", "-", stdin=text,
    )  # fmt: skip
    assert said.count("(server dry run)") == len(documents)


@pytest.mark.parametrize("value_set", VALUE_SETS)
def test_the_api_server_takes_a_value_set(knowing: Cluster, helm: Helm, value_set: str) -> None:
    file = VALUE_SETS[value_set]
    values = {} if file is None else yaml.safe_load(file.read_text())
    _accepted(knowing, helm.render(values, kinds=True))


def test_the_api_server_takes_all_options_together(knowing: Cluster, helm: Helm) -> None:
    documents = helm.render(EVERYTHING, kinds=True)
    assert len([each for each in documents if each["kind"] == "NetworkPolicy"]) == 6
    _accepted(knowing, documents)


def test_the_api_server_takes_the_manifests_for_people_without_helm(knowing: Cluster) -> None:
    text = (CHECKOUT / "deploy" / "plimsoll.yaml").read_text()
    documents = documents_in(text)
    assert documents[0]["kind"] == "Namespace"
    _accepted(knowing, documents)


def test_a_field_that_kubernetes_does_not_know_would_be_seen(knowing: Cluster, helm: Helm) -> None:
    deployment = named(helm.render({}), "Deployment", "plimsoll-admission")
    deployment["spec"]["template"]["spec"]["containers"][0]["cpuLimit"] = 1
    with pytest.raises(AssertionError, match="cpuLimit"):
        _accepted(knowing, [deployment])


NOTES = [
    pytest.param({}, "The agent mounts each node's /sys/fs/cgroup", id="agents beside it"),
    pytest.param({"persistence": {"enabled": False}}, "WARNING: persistence", id="no volume"),
    pytest.param({"policy": {"mode": "recommend"}}, "and changes nothing", id="recommend"),
    pytest.param(
        {"monitoring": {"rules": {"enabled": True}}, "networkPolicies": {"enabled": True}},
        "Name its namespace in networkPolicies.metricsNamespaces",
        id="no Prometheus is let in",
    ),
]


@pytest.mark.parametrize(("values", "words"), NOTES)
def test_the_notes_say_what_to_mind(
    knowing: Cluster, cluster_helm: Helm, values: dict[str, Any], words: str
) -> None:
    assert words in cluster_helm.notes(values)


def test_the_notes_do_not_warn_of_what_is_as_it_should_be(
    knowing: Cluster, cluster_helm: Helm
) -> None:
    said = cluster_helm.notes({"agent": {"namespace": "agents"}, "policy": {"mode": "enforce"}})
    assert "mounts each node's" not in said
    assert "WARNING" not in said
    assert "changes nothing" not in said
