"""Quotas on limits: values for every container; those that Helm starts need none for CPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from deploy.chart.rendering import NAME

from tests.chart.helm import Document, Helm, named, pod_specs

PROCESSES = ("admission", "controller", "agent", "extender", "trainers", "hooks")
ASKED = {"cpu": "1", "memory": "2Gi", "ephemeral-storage": "1Gi"}
OPTIONS: dict[str, dict[str, Any]] = {
    "extender": {"enabled": True},
    "trainers": {"enabled": True},
    "database": {"existingSecret": "db"},
}
STARTED_BY_HELM = (f"{NAME}-release", f"{NAME}-test")


def everywhere(resources: dict[str, Any]) -> dict[str, Any]:
    """The same resources for each process, with all of them on."""
    asking = {each: {**OPTIONS.get(each, {}), "resources": resources} for each in PROCESSES}
    return {**OPTIONS, **asking}


def containers(documents: list[Document]) -> Iterator[tuple[str, Document]]:
    """Each container, that of the Job of trainings included."""
    job = yaml.safe_load(named(documents, "ConfigMap", f"{NAME}-trainers")["data"]["job.yaml"])
    for name, spec in pod_specs([*documents, job]).items():
        for container in spec["containers"]:
            yield name, container


@pytest.mark.parametrize("kind", ["requests", "limits"])
def test_what_the_values_ask_for_each_container_gets(helm: Helm, kind: str) -> None:
    documents = helm.render(everywhere({"requests": ASKED, "limits": ASKED}))
    got = {name: container["resources"][kind] for name, container in containers(documents)}
    assert got.keys() >= {*STARTED_BY_HELM, f"{NAME}-trainers", f"{NAME}-agent"}
    assert all(each == ASKED for each in got.values()), got


def test_pods_of_helm_have_limits_of_cpu_and_memory_without_a_value(helm: Helm) -> None:
    """Who meets the quota at a rollback can set no value any more: it runs an older revision's.

    The CPU limit is one that a LimitRange's maximum of half a processor lets in.
    """
    specs = pod_specs(helm.render({}))
    for name in STARTED_BY_HELM:
        (container,) = specs[name]["containers"]
        for kind in ("requests", "limits"):
            assert container["resources"][kind].keys() == {"cpu", "memory"}, name
        assert container["resources"]["limits"]["cpu"] == "200m", name


def test_pods_of_helm_need_no_resources_of_their_own(helm: Helm) -> None:
    """A LimitRange may give them all."""
    specs = pod_specs(helm.render({"hooks": {"resources": None}}))
    for name in STARTED_BY_HELM:
        (container,) = specs[name]["containers"]
        assert not container.get("resources"), name
