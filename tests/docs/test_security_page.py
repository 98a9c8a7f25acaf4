"""docs/security.md lists the rights, tokens and mounts that the chart gives."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from typer.main import get_command

from plimsoll_operator.__main__ import app
from plimsoll_operator.kube.permissions import NEEDED
from tests.chart.helm import documents_in
from tests.docs.pages import ROOT, Page

RENDERED = documents_in((ROOT / "tests/chart/golden/default.yaml").read_text())
TEXT = " ".join(Page("docs/security.md").text.split())
WORDS = {
    "pods": "pods with get, list, watch, create, delete, patch",
    "pods/resize": "`pods/resize` with patch",
    "pods/status": "`pods/status` with patch",
    "nodes": "nodes",
    "limitranges": "LimitRanges",
    "resourcequotas": "ResourceQuotas",
    "verticalpodautoscalers": "VerticalPodAutoscalers with list",
    "events": "Events to write",
    "taskprofiles": "TaskProfiles",
    "taskprofiles/status": "their status",
    "sizingpolicies": "SizingPolicies",
    "sizingpolicies/status": "status",
    "profilingcampaigns": "ProfilingCampaigns to list",
    "profilingcampaigns/status": "status",
    "mutatingwebhookconfigurations": "`caBundle`",
    "leases": "its Lease",
    "secrets": "the Secrets it made",
}
"""Resource -> what the page says about it."""


def rules() -> list[dict[str, Any]]:
    return [
        rule
        for each in RENDERED
        if each["kind"] in {"Role", "ClusterRole"}
        and each["metadata"]["name"].endswith("-controller")
        for rule in each["rules"]
    ]


def pod_specs() -> dict[str, Any]:
    return {
        each["metadata"]["name"].removeprefix("plimsoll-"): each["spec"]["template"]["spec"]
        for each in RENDERED
        if each["kind"] in {"Deployment", "DaemonSet"}
    }


def of_the_store(command: Any, *words: str) -> Iterator[str]:
    """The words of each command that runs in the controller's pod unless it is told the store."""
    # Only a group has commands; its class is up to typer.
    for name, inner in getattr(command, "commands", {}).items():
        if not inner.hidden:
            yield from of_the_store(inner, *words, name)
    if any(option.envvar == "PLIMSOLL_STORE_URL" for option in command.params):
        yield " ".join(words)


def test_every_command_that_needs_exec_is_on_the_page() -> None:
    [row] = re.findall(r"^\| uses a command (.*?) \|", Page("docs/security.md").text, re.MULTILINE)
    told = re.findall(r"`(?:plimsoll )?(.*?)(?: --\S+)?`", row)
    assert sorted(told) == sorted(of_the_store(get_command(app)))


def test_every_right_of_the_controller_is_on_the_page() -> None:
    given = {resource for rule in rules() for resource in rule["resources"]}
    assert given == set(WORDS)
    assert [word for word in WORDS.values() if word not in TEXT] == []


def test_rights_over_pods_are_those_the_page_names() -> None:
    [verbs] = [rule["verbs"] for rule in rules() if "pods" in rule["resources"]]
    assert f"pods with {', '.join(verbs)}" in TEXT


@pytest.mark.parametrize("resource", ["pods", "pods/resize", "pods/status"])
def test_a_missing_right_to_change_pods_is_told_with_what_does_not_work(resource: str) -> None:
    [verbs] = [rule["verbs"] for rule in rules() if resource in rule["resources"]]
    told = {each.verb for each in NEEDED if each.resource == resource}
    assert set(verbs) - {"get", "list", "watch"} == told - {"watch"}


def test_the_loss_without_the_right_to_delete_pods_is_that_of_restarts_in_place() -> None:
    [without] = [
        each.without for each in NEEDED if (each.verb, each.resource) == ("delete", "pods")
    ]
    assert "restart in place" in without
    assert "delete: for killed pods that would restart in place" in TEXT


def test_no_rule_is_wider_than_the_page_can_say() -> None:
    for rule in rules():
        assert "*" not in [*rule["verbs"], *rule["resources"], *rule["apiGroups"]], rule
        assert "pods/exec" not in rule["resources"], rule
        assert "configmaps" not in rule["resources"], rule
        if "secrets" in rule["resources"] and rule["verbs"] != ["create"]:
            assert rule["resourceNames"], rule


@pytest.mark.parametrize("process", ["admission", "agent"])
def test_the_processes_without_rights_have_no_token(process: str) -> None:
    assert pod_specs()[process]["automountServiceAccountToken"] is False


def test_only_the_agent_mounts_something_of_the_node_and_only_to_read() -> None:
    for process, spec in pod_specs().items():
        of_node = [volume for volume in spec["volumes"] if "hostPath" in volume]
        if process != "agent":
            assert of_node == [], process
            continue
        assert [volume["hostPath"]["path"] for volume in of_node] == ["/sys/fs/cgroup"]
        [mount] = [
            each
            for each in spec["containers"][0]["volumeMounts"]
            if each["name"] == of_node[0]["name"]
        ]
        assert mount["readOnly"] is True


def test_the_user_is_the_one_on_the_page() -> None:
    assert "user and group 65532" in TEXT
    for spec in pod_specs().values():
        assert spec["securityContext"]["runAsUser"] == 65532
        assert spec["securityContext"]["runAsGroup"] == 65532
