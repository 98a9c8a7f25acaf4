"""A registry's Secret: pods of both namespaces pull with it; the notes say where it is missing."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from deploy.chart.generated import CHART
from deploy.chart.rendering import EXAMPLES, NAME

from tests.chart.helm import Helm, documents_in, named, pod_specs
from tests.chart.rendered.empty_clusters import a_cluster_with

AGENTS = "agents"
VALUES: dict[str, Any] = {
    "image": {"pullSecrets": ["registry"]},
    "persistence": {"enabled": False},
    "agent": {"namespace": AGENTS, "createNamespace": False},
}
AS_A_MANIFEST = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: notes}
data: {notes: {{ include "notes" . | quote }}}
"""


@pytest.fixture(scope="module")
def chart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The chart with its notes in a manifest: only an installation shows the others."""
    copied = tmp_path_factory.mktemp("chart") / NAME
    shutil.copytree(CHART, copied)
    notes = copied / "templates" / "NOTES.txt"
    text = f'{{{{ define "notes" }}}}{notes.read_text()}{{{{ end }}}}'
    (copied / "templates" / "_notes.tpl").write_text(text)
    (copied / "templates" / "notes.yaml").write_text(AS_A_MANIFEST)
    notes.unlink()
    return copied


def notes(helm: Helm, chart: Path, folder: Path, having: Sequence[str], *more: str) -> str:
    """The notes on a cluster that has the registry's Secret in these namespaces."""
    objects = {
        "Namespace": [{"metadata": {"name": each}} for each in (NAME, AGENTS)],
        "Secret": [{"metadata": {"name": "registry", "namespace": each}} for each in having],
    }
    file = folder / "values.yaml"
    file.write_text(yaml.safe_dump(VALUES))
    with a_cluster_with(folder, objects) as kubeconfig:
        said = helm.do(
            *("template", NAME, str(chart), "--namespace", NAME, "--values", str(file)),
            *("--dry-run=server", "--kubeconfig", str(kubeconfig), *more),
        )
    return str(named(documents_in(said), "ConfigMap", "notes")["data"]["notes"])


@pytest.mark.parametrize(
    ("having", "missing"),
    [([], [NAME, AGENTS]), ([NAME], [AGENTS]), ([AGENTS], [NAME]), ([NAME, AGENTS], [])],
)
def test_the_notes_name_each_namespace_that_lacks_it(
    helm: Helm, chart: Path, tmp_path: Path, having: list[str], missing: list[str]
) -> None:
    said = notes(helm, chart, tmp_path, having)
    for namespace in (NAME, AGENTS):
        named_missing = f"Secret registry of image.pullSecrets in namespace {namespace}" in said
        assert named_missing == (namespace in missing)


def test_without_agents_their_namespace_needs_none(helm: Helm, chart: Path, tmp_path: Path) -> None:
    assert "MISSING" not in notes(helm, chart, tmp_path, [NAME], "--set", "agent.enabled=false")


def test_pods_of_both_namespaces_pull_with_it(helm: Helm) -> None:
    for name, spec in pod_specs(helm.render(VALUES)).items():
        assert spec["imagePullSecrets"] == [{"name": "registry"}], name


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_an_example_with_it_makes_no_namespace_that_would_lack_it(example: Path) -> None:
    text = example.read_text()
    values = yaml.safe_load(text)
    if "pullSecrets" in values.get("image", {}) and "namespace" in values.get("agent", {}):
        assert values["agent"]["createNamespace"] is False
        assert "create secret docker-registry" in text.partition("\nimage:")[0]
