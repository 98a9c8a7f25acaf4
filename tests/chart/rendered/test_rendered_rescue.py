"""The chart's option for agents that raise pods: off by default, and bound to a node."""

from __future__ import annotations

import pytest
from deploy.chart.rendering import NAME

from tests.chart.helm import Document, Helm, named, pod_specs

AGENT, CONTROLLER = f"{NAME}-agent", f"{NAME}-controller"


@pytest.fixture(scope="module")
def raising(helm: Helm) -> list[Document]:
    values = {
        "rescue": {"byAgent": True},
        "agent": {"namespace": "agents"},
        "networkPolicies": {"enabled": True},
        "webhook": {"excludedNamespaces": ["vault"]},
    }
    return helm.render(values)


def test_without_it_the_agent_has_neither_rights_nor_a_token(helm: Helm) -> None:
    documents = helm.render({})
    spec = pod_specs(documents)[AGENT]
    assert spec["automountServiceAccountToken"] is False
    assert "PLIMSOLL_API_SERVER" not in str(spec)
    assert "PLIMSOLL_RESCUE_BY_AGENT" not in str(pod_specs(documents)[CONTROLLER])
    assert "ValidatingAdmissionPolicy" not in {each["kind"] for each in documents}
    assert AGENT not in {m["metadata"]["name"] for m in documents if m["kind"] == "ClusterRole"}


def test_with_it_the_agent_has_one_right_and_a_policy_that_knows_its_node(
    raising: list[Document],
) -> None:
    assert named(raising, "ClusterRole", AGENT)["rules"] == [
        {"apiGroups": [""], "resources": ["pods/resize"], "verbs": ["patch"]}
    ]
    assert "PLIMSOLL_RESCUE_BY_AGENT" in str(pod_specs(raising)[CONTROLLER])
    (subject,) = named(raising, "ClusterRoleBinding", AGENT)["subjects"]
    assert (subject["namespace"], subject["name"]) == ("agents", AGENT)
    spec = named(raising, "ValidatingAdmissionPolicy", AGENT)["spec"]
    (condition,) = spec["matchConditions"]
    assert condition["expression"] == (
        f"request.userInfo.username == 'system:serviceaccount:agents:{AGENT}'"
    )
    assert spec["failurePolicy"] == "Fail"
    assert f"['kube-system', '{NAME}', 'agents', 'vault']" in str(spec["validations"])
    binding = named(raising, "ValidatingAdmissionPolicyBinding", AGENT)["spec"]
    assert binding == {"policyName": AGENT, "validationActions": ["Deny"]}


def test_with_it_the_agent_reaches_the_api_server(raising: list[Document]) -> None:
    spec = pod_specs(raising)[AGENT]
    assert spec["automountServiceAccountToken"] is True
    told = {each["name"]: each.get("value") for each in spec["containers"][0]["env"]}
    assert told["PLIMSOLL_API_SERVER"] == (
        "https://$(KUBERNETES_SERVICE_HOST):$(KUBERNETES_SERVICE_PORT)"
    )
    egress = named(raising, "NetworkPolicy", AGENT)["spec"]["egress"]
    ports = [[port["port"] for port in rule["ports"]] for rule in egress]
    assert ports == [[8081], [443, 6443], [53, 53]]


def test_on_an_older_kubernetes_it_is_refused(helm: Helm) -> None:
    words = ("--kube-version", "1.32.0", "--set", "rescue.byAgent=true")
    done = helm.run("template", NAME, "helm/plimsoll", "--namespace", NAME, *words)
    assert done.returncode != 0
    assert "rescue.byAgent needs Kubernetes 1.33" in done.stderr
