"""A claim that no volume could ever satisfy is refused before it waits for ever."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from deploy.chart.rendering import NAME

from tests.chart.helm import Helm, named, nested
from tests.chart.rendered.empty_clusters import Objects, a_cluster_with

CLAIM = f"{NAME}-store"
DEFAULT = "storageclass.kubernetes.io/is-default-class"


def a_class(name: str, default: str = "false") -> dict[str, Any]:
    return {"metadata": {"name": name, "annotations": {DEFAULT: default}}}


def a_volume(phase: str = "Available", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "by-hand"}, "spec": spec, "status": {"phase": phase}}


FAST = a_class("fast")
RESERVED: dict[str, Any] = {"claimRef": {"namespace": NAME, "name": CLAIM}}
RESERVED_FOR_OTHERS: dict[str, Any] = {"claimRef": {"namespace": "shop", "name": "data"}}


@pytest.mark.parametrize(
    ("objects", "words"),
    [
        pytest.param({}, "to a class that you make", id="no class at all"),
        pytest.param(
            {"StorageClass": [FAST, a_class("slow")]}, "(fast, slow)", id="none is the default"
        ),
        pytest.param(
            {"StorageClass": [{"metadata": {"name": "bare"}}]}, "(bare)", id="no annotations"
        ),
        *(
            pytest.param({"PersistentVolume": [volume]}, "no free PersistentVolume", id=why)
            for why, volume in {
                "a volume in use": a_volume("Bound"),
                "a volume with a class": a_volume(storageClassName="fast"),
                "a volume for another claim": a_volume(**RESERVED_FOR_OTHERS),
            }.items()
        ),
    ],
)
def test_a_claim_that_would_wait_for_ever_is_refused(
    helm: Helm, tmp_path: Path, objects: Objects, words: str
) -> None:
    with a_cluster_with(tmp_path, objects) as kubeconfig:
        said = helm.against(kubeconfig, {}).stderr
    assert "no default StorageClass" in said
    assert words in said
    for way in ("storageClassName", "existingClaim", "enabled"):
        assert f"persistence.{way}" in said
    assert "database.existingSecret" in said


@pytest.mark.parametrize(
    ("objects", "values"),
    [
        pytest.param({"StorageClass": [a_class("fast", "true")]}, {}, id="a default class"),
        pytest.param({"PersistentVolume": [a_volume()]}, {}, id="a free volume"),
        pytest.param({"PersistentVolume": [a_volume(**RESERVED)]}, {}, id="a volume for it"),
        pytest.param(
            {"PersistentVolumeClaim": [{"metadata": {"namespace": NAME, "name": CLAIM}}]},
            {},
            id="the claim of an earlier installation",
        ),
        pytest.param({}, nested("persistence.storageClassName", "fast"), id="a class by name"),
        pytest.param({}, nested("persistence.existingClaim", "mine"), id="a claim by name"),
        pytest.param({}, nested("persistence.enabled", False), id="no volume"),
        pytest.param({}, nested("database.existingSecret", "database"), id="a database"),
    ],
)
def test_a_claim_that_can_be_satisfied_is_made(
    helm: Helm, tmp_path: Path, objects: Objects, values: dict[str, Any]
) -> None:
    with a_cluster_with(tmp_path, objects) as kubeconfig:
        done = helm.against(kubeconfig, values)
    assert done.returncode == 0, done.stderr


def test_without_a_cluster_nothing_is_known_of_its_classes(helm: Helm) -> None:
    assert named(helm.render({}), "PersistentVolumeClaim", CLAIM)


def test_without_a_volume_the_store_lives_as_long_as_its_pod(helm: Helm) -> None:
    rendered = helm.render(nested("persistence.enabled", False))
    assert not [each for each in rendered if each["kind"] == "PersistentVolumeClaim"]
    spec = named(rendered, "Deployment", f"{NAME}-controller")["spec"]["template"]["spec"]
    (store,) = (each for each in spec["volumes"] if each["name"] == "store")
    assert "emptyDir" in store
