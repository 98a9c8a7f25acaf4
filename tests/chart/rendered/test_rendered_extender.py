"""The extender's option of the chart: off unless asked for, and a configuration for a scheduler."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from deploy.chart.rendering import NAME

from plimsoll_operator.extender.server import PRIORITIZE_PATH
from plimsoll_operator.extender.settings import ExtenderSettings
from tests.chart.helm import Document, Helm, named, pod_specs

EXTENDER = f"{NAME}-extender"


def configuration(documents: list[Document]) -> Document:
    """What a person mounts into a kube-scheduler."""
    text = named(documents, "ConfigMap", EXTENDER)["data"]["scheduler.yaml"]
    found: Document = yaml.safe_load(text)
    return found


def asked_at(documents: list[Document]) -> str:
    (extender,) = configuration(documents)["extenders"]
    return str(extender["urlPrefix"])


def test_none_is_made_unless_asked_for(helm: Helm) -> None:
    documents = helm.render({"networkPolicies": {"enabled": True}}, kinds=True)
    assert "extender" not in str(documents)


def test_a_scheduler_is_configured_to_ask_for_scores_alone(helm: Helm) -> None:
    found = configuration(helm.render({"extender": {"enabled": True}}))
    assert found["apiVersion"] == "kubescheduler.config.k8s.io/v1"
    assert found["kind"] == "KubeSchedulerConfiguration"
    assert found["profiles"] == [{"schedulerName": "plimsoll"}]
    assert found["extenders"] == [
        {
            "urlPrefix": "http://plimsoll-extender.plimsoll.svc",
            "prioritizeVerb": PRIORITIZE_PATH.lstrip("/"),
            "weight": 2,
            "nodeCacheCapable": True,
            "ignorable": True,
            "httpTimeout": "50ms",
        }
    ]


def test_the_scheduler_looks_for_as_many_nodes_as_it_would_unless_told(helm: Helm) -> None:
    values = {"enabled": True, "percentageOfNodesToScore": 10}
    assert configuration(helm.render({"extender": values}))["percentageOfNodesToScore"] == 10
    found = configuration(helm.render({"extender": {"enabled": True}}))
    assert "percentageOfNodesToScore" not in found


def test_the_extender_gives_up_before_the_scheduler_does() -> None:
    assert ExtenderSettings.model_fields["deadline_s"].default < 0.05


@pytest.mark.parametrize(
    ("values", "address"),
    [
        pytest.param({"clusterIP": "10.96.0.84"}, "http://10.96.0.84", id="no DNS"),
        pytest.param({"clusterIP": "fd00::84"}, "http://[fd00::84]", id="IPv6"),
    ],
)
def test_a_scheduler_without_dns_asks_at_a_fixed_address(
    helm: Helm, values: dict[str, Any], address: str
) -> None:
    documents = helm.render({"extender": {"enabled": True, **values}})
    assert asked_at(documents) == address
    service = named(documents, "Service", EXTENDER)["spec"]
    assert service["clusterIP"] == values["clusterIP"]
    (port,) = service["ports"]
    assert port["port"] == 80


@pytest.mark.parametrize(
    ("name", "lease"),
    [("plimsoll", "plimsoll"), ("default-scheduler", "kube-scheduler")],
)
def test_two_schedulers_have_two_leases(helm: Helm, name: str, lease: str) -> None:
    found = configuration(helm.render({"extender": {"enabled": True, "schedulerName": name}}))
    assert found["profiles"] == [{"schedulerName": name}]
    assert found["leaderElection"]["resourceName"] == lease


def test_it_reads_the_feed_and_has_no_right_nor_certificate(helm: Helm) -> None:
    documents = helm.render({"extender": {"enabled": True}})
    spec = pod_specs(documents)[EXTENDER]
    assert spec["automountServiceAccountToken"] is False
    (container,) = spec["containers"]
    assert container["args"] == ["extender"]
    given = {each["name"]: each.get("value") for each in container["env"]}
    assert given["PLIMSOLL_FEED_URL"] == "http://$(PLIMSOLL_CONTROLLER_SERVICE_HOST):8081"
    assert given["PLIMSOLL_EXCLUDED_NAMESPACES"] == "kube-system,plimsoll"
    secrets = [each["secret"]["secretName"] for each in spec["volumes"] if "secret" in each]
    assert secrets == ["plimsoll-feed-token"]
    bound = [
        subject["name"]
        for each in documents
        if each["kind"] in ("RoleBinding", "ClusterRoleBinding")
        for subject in each["subjects"]
    ]
    assert EXTENDER not in bound


def test_a_scheduler_alone_reaches_it(helm: Helm) -> None:
    documents = helm.render(
        {
            "extender": {"enabled": True},
            "networkPolicies": {"enabled": True, "schedulerCidrs": ["192.168.0.10/32"]},
        }
    )
    spec = named(documents, "NetworkPolicy", EXTENDER)["spec"]
    assert spec["ingress"] == [
        {"ports": [{"port": 9444}], "from": [{"ipBlock": {"cidr": "192.168.0.10/32"}}]}
    ]
    (out,) = spec["egress"]
    assert out["ports"] == [{"port": 8081}]
    controller = named(documents, "NetworkPolicy", f"{NAME}-controller")["spec"]["ingress"][0]
    askers = [
        each["podSelector"]["matchLabels"]["app.kubernetes.io/component"]
        for each in controller["from"]
    ]
    assert "extender" in askers
