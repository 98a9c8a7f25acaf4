"""What the NetworkPolicies allow: each port and peer, for each process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from deploy.chart.rendering import NAME

from tests.chart.helm import Document, Helm, named

LOCKED: dict[str, Any] = {
    "agent": {"namespace": "agents"},
    "networkPolicies": {
        "enabled": True,
        "apiServerCidrs": ["10.0.0.1/32"],
        "apiServerPorts": [6443],
        "databaseCidrs": ["10.1.0.1/32"],
        "metricsNamespaces": ["monitoring"],
    },
}


def _rules(policy: Document, direction: str) -> set[tuple[int, str]]:
    """Port and peer of each rule; ``*`` for every peer."""
    peers = {"ingress": "from", "egress": "to"}[direction]
    return {
        (port["port"], _peer(peer))
        for rule in policy["spec"][direction] or []
        for port in rule["ports"]
        for peer in rule.get(peers) or [None]
    }


def _peer(peer: Document | None) -> str:
    if peer is None:
        return "*"
    if "ipBlock" in peer:
        return str(peer["ipBlock"]["cidr"])
    labels = peer.get("podSelector", {}).get("matchLabels", {})
    return str(labels.get("app.kubernetes.io/component", "namespace"))


@pytest.fixture(scope="module")
def locked(helm: Helm) -> dict[str, Document]:
    documents = helm.render(LOCKED)
    return {
        each: named(documents, "NetworkPolicy", f"{NAME}-{each}")
        for each in ("admission", "controller", "agent", "release", "test")
    }


@pytest.mark.parametrize("order", [True, False])
def test_every_pod_is_selected_by_one_policy_also_those_that_helm_starts(
    helm: Helm, *, order: bool
) -> None:
    """Where a namespace denies all else, a pod without one reaches nothing, and Helm waits."""
    options = {each: {"enabled": True} for each in ("extender", "trainers")}
    documents = helm.render(
        {**LOCKED, **options, "database": {"existingSecret": "db"}, "order": {"enabled": order}}
    )
    policies = [each for each in documents if each["kind"] == "NetworkPolicy"]
    job = yaml.safe_load(named(documents, "ConfigMap", f"{NAME}-trainers")["data"]["job.yaml"])
    pods = dict(_pod_labels([*documents, job]))
    assert pods.keys() >= {f"{NAME}-release", f"{NAME}-test", f"{NAME}-trainers"}
    for name, labels in pods.items():
        selecting = [
            each["metadata"]["name"]
            for each in policies
            if each["spec"]["podSelector"]["matchLabels"].items() <= labels.items()
        ]
        assert selecting == [name]


def _pod_labels(documents: list[Document]) -> Iterator[tuple[str, dict[str, str]]]:
    for each in documents:
        if each["kind"] == "Pod":
            yield each["metadata"]["name"], each["metadata"]["labels"]
        elif "template" in each.get("spec", {}):
            yield each["metadata"]["name"], each["spec"]["template"]["metadata"]["labels"]


@pytest.mark.parametrize("hooks_too", [True, False])
def test_who_releases_asks_the_api_server_by_a_policy_that_is_no_hook(
    helm: Helm, *, hooks_too: bool
) -> None:
    """A hook's policy would be made beside its pod; one of the release is there before."""
    documents = helm.render(LOCKED) if hooks_too else helm.render_for_kubectl(LOCKED)
    policy = named(documents, "NetworkPolicy", f"{NAME}-release")
    assert "annotations" not in policy["metadata"]
    assert "ingress" not in policy["spec"]
    assert _rules(policy, "egress") == {(6443, "10.0.0.1/32")}


def test_the_pod_of_helm_test_asks_admission_and_the_controller(
    locked: dict[str, Document],
) -> None:
    assert "ingress" not in locked["test"]["spec"]
    assert _rules(locked["test"], "egress") == {(9443, "admission"), (8081, "controller")}


def test_admission_is_asked_by_the_api_server_and_asks_the_controller_alone(
    locked: dict[str, Document],
) -> None:
    assert _rules(locked["admission"], "ingress") == {
        (9443, "10.0.0.1/32"), (9443, "test"), (9090, "namespace"), (9090, "10.0.0.1/32"),
    }  # fmt: skip
    assert _rules(locked["admission"], "egress") == {(8081, "controller")}


def test_the_controller_asks_the_api_server_alone(locked: dict[str, Document]) -> None:
    assert _rules(locked["controller"], "ingress") == {
        (8081, "admission"), (8081, "agent"), (8081, "test"), (8081, "namespace"),
        (8081, "10.0.0.1/32"),
    }  # fmt: skip
    assert _rules(locked["controller"], "egress") == {(6443, "10.0.0.1/32")}


def test_calls_that_come_through_a_tunnel_are_let_in_and_asked_is_the_api_server_itself(
    helm: Helm,
) -> None:
    policies = LOCKED["networkPolicies"] | {"webhookCidrs": ["10.244.0.0/16"]}
    documents = helm.render({**LOCKED, "networkPolicies": policies})
    for process, port in (("admission", 9443), ("admission", 9090), ("controller", 8081)):
        rules = _rules(named(documents, "NetworkPolicy", f"{NAME}-{process}"), "ingress")
        assert (port, "10.244.0.0/16") in rules
        assert (port, "10.0.0.1/32") not in rules
    controller = named(documents, "NetworkPolicy", f"{NAME}-controller")
    assert _rules(controller, "egress") == {(6443, "10.0.0.1/32")}


def test_where_nobody_says_who_calls_metrics_are_open_to_nobody_more(helm: Helm) -> None:
    documents = helm.render({"networkPolicies": {"enabled": True}})
    for process, port in (("admission", 9090), ("controller", 8081)):
        rules = _rules(named(documents, "NetworkPolicy", f"{NAME}-{process}"), "ingress")
        assert (port, "*") not in rules


def test_where_leases_are_on_pods_of_all_namespaces_reach_their_port(helm: Helm) -> None:
    documents = helm.render({**LOCKED, "leases": {"enabled": True}})
    policy = named(documents, "NetworkPolicy", f"{NAME}-controller")
    assert (8083, "namespace") in _rules(policy, "ingress")


def test_the_agent_asks_the_controller_alone(locked: dict[str, Document]) -> None:
    assert _rules(locked["agent"], "ingress") == {(9091, "namespace")}
    # In another namespace there are no variables of the controller's Service, so it needs the name.
    assert _rules(locked["agent"], "egress") == {(8081, "controller"), (53, "*")}


def test_agents_that_know_the_address_need_no_names(helm: Helm) -> None:
    documents = helm.render({**LOCKED, "controller": {"clusterIP": "10.96.0.81"}})
    policy = named(documents, "NetworkPolicy", f"{NAME}-agent")
    assert _rules(policy, "egress") == {(8081, "controller")}


def test_agents_reach_a_controller_at_an_address_of_its_own_whatever_its_port(helm: Helm) -> None:
    agent = {"namespace": "agents", "controllerUrl": "https://gateway.mesh.svc"}
    policy = named(helm.render({**LOCKED, "agent": agent}), "NetworkPolicy", f"{NAME}-agent")
    assert policy["spec"]["egress"][-1] == {}, "the gateway's pods may have another than 443"


def test_a_database_is_reached_at_its_port_alone(helm: Helm) -> None:
    documents = helm.render({**LOCKED, "database": {"existingSecret": "db"}})
    policy = named(documents, "NetworkPolicy", f"{NAME}-controller")
    added = _rules(policy, "egress") - {(6443, "10.0.0.1/32")}
    assert added == {(5432, "10.1.0.1/32"), (53, "*")}


def test_every_policy_is_of_both_directions_and_selects_one_process(
    locked: dict[str, Document],
) -> None:
    for component, policy in locked.items():
        spec = policy["spec"]
        assert spec["policyTypes"] == ["Ingress", "Egress"]
        selected = spec["podSelector"]["matchLabels"]
        assert selected["app.kubernetes.io/component"] == component


def test_none_is_made_unless_asked_for(helm: Helm) -> None:
    assert "NetworkPolicy" not in str(helm.render({}, kinds=True))
