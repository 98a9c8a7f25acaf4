"""A registry's Secret: pods of both namespaces pull with it. The notes name missing Secrets."""

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


def notes(
    helm: Helm,
    chart: Path,
    folder: Path,
    having: Sequence[str],
    *more: str,
    namespaces: Sequence[str] = (NAME, AGENTS),
    forbidden_within: Sequence[str] = (AGENTS,),
) -> str:
    """The notes for who may not read in some namespaces; the release's has these Secrets."""
    objects = {
        "Namespace": [{"metadata": {"name": each}} for each in namespaces],
        "Secret": [{"metadata": {"name": each, "namespace": NAME}} for each in having],
    }
    file = folder / "values.yaml"
    file.write_text(yaml.safe_dump(VALUES))
    with a_cluster_with(folder, objects, forbidden_within=forbidden_within) as kubeconfig:
        said = helm.do(
            *("template", NAME, str(chart), "--namespace", NAME, "--values", str(file)),
            *("--dry-run=server", "--kubeconfig", str(kubeconfig), *more),
        )
    return str(named(documents_in(said), "ConfigMap", "notes")["data"]["notes"])


DATABASE = ("--set", "database.existingSecret=db,database.tlsSecret=authority")
SAID = {
    "registry": f"MISSING: Secret registry of image.pullSecrets in namespace {NAME}",
    "db": "MISSING: Secret db, with the database's URL",
    "authority": "MISSING: Secret authority, with the database's certificates",
}


@pytest.mark.parametrize("lacking", [[], ["registry"], ["db"], ["authority"], sorted(SAID)])
@pytest.mark.parametrize("upgrade", [(), ("--is-upgrade",)])
def test_the_notes_name_each_secret_that_the_releases_namespace_lacks(
    helm: Helm, chart: Path, tmp_path: Path, lacking: list[str], upgrade: tuple[str, ...]
) -> None:
    having = sorted(SAID.keys() - lacking)
    said = notes(helm, chart, tmp_path, having, *DATABASE, *upgrade)
    assert [each for each in sorted(SAID) if SAID[each] in said] == lacking
    assert said.count("MISSING") == len(lacking)


def test_they_name_them_before_helm_makes_the_namespace(
    helm: Helm, chart: Path, tmp_path: Path
) -> None:
    said = notes(helm, chart, tmp_path, [], *DATABASE, namespaces=[])
    assert [each for each in SAID if SAID[each] not in said] == []


def test_an_upgrade_without_secrets_looks_nowhere(helm: Helm, chart: Path, tmp_path: Path) -> None:
    words = ("--is-upgrade", "--set", "image.pullSecrets=null")
    said = notes(helm, chart, tmp_path, [], *words, forbidden_within=[NAME, AGENTS])
    assert "MISSING" not in said


OF_AGENTS = (
    f"The agents' namespace {AGENTS} needs the registry's credentials, too: Secret registry."
)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ((), True),
        (("--is-upgrade",), False),
        (("--set", "agent.enabled=false"), False),
        (("--set", "agent.namespace="), False),
        (("--set", "image.pullSecrets=null"), False),
    ],
)
def test_an_installation_tells_that_the_agents_namespace_needs_it_and_does_not_look(
    helm: Helm, chart: Path, tmp_path: Path, more: tuple[str, ...], told: bool
) -> None:
    said = notes(helm, chart, tmp_path, ["registry"], *more)
    assert (OF_AGENTS in said) == told
    assert "MISSING" not in said


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
