"""The rights for campaigns: none by default, and with a list only in its namespaces."""

from __future__ import annotations

from typing import Any

import pytest
from deploy.chart.rendering import NAME

from tests.chart.helm import Document, Helm, named

JOBS = {
    "apiGroups": ["batch"],
    "resources": ["jobs"],
    "verbs": ["get", "list", "create", "delete"],
}
FILES = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}


def with_jobs(documents: list[Document]) -> list[tuple[str, str, str | None]]:
    """Kind, name and namespace of the roles that let somebody make Jobs."""
    return [
        (each["kind"], each["metadata"]["name"], each["metadata"].get("namespace"))
        for each in documents
        if any(
            "jobs" in rule["resources"] and "create" in rule["verbs"]
            for rule in each.get("rules") or ()
        )
    ]


@pytest.mark.parametrize("values", [{}, {"campaigns": {"namespaces": ["shop"]}}])
def test_nobody_may_make_jobs_unless_campaigns_are_on(helm: Helm, values: dict[str, Any]) -> None:
    assert with_jobs(helm.render(values)) == []


def test_without_a_list_the_controller_may_in_all_namespaces(helm: Helm) -> None:
    documents = helm.render({"campaigns": {"enabled": True}})
    name = f"{NAME}-controller"
    assert with_jobs(documents) == [("ClusterRole", name, None)]
    rules = named(documents, "ClusterRole", name)["rules"]
    assert JOBS in rules
    assert FILES in rules


def test_with_a_list_it_may_there_alone(helm: Helm) -> None:
    documents = helm.render({"campaigns": {"enabled": True, "namespaces": ["shop", "lab"]}})
    name = f"{NAME}-campaigns"
    assert with_jobs(documents) == [("Role", name, "shop"), ("Role", name, "lab")]
    bindings = [each for each in documents if each["kind"] == "RoleBinding"]
    ours = [each for each in bindings if each["metadata"]["name"] == name]
    assert [each["metadata"]["namespace"] for each in ours] == ["shop", "lab"]
    account = {"kind": "ServiceAccount", "name": f"{NAME}-controller", "namespace": NAME}
    assert all(each["subjects"] == [account] for each in ours)
    assert all(each["roleRef"]["name"] == name for each in ours)
    assert all(
        each["rules"] == [JOBS, FILES]
        for each in documents
        if each["kind"] == "Role" and each["metadata"]["name"] == name
    )
