"""What a page renders for kubectl is for the cluster that kubectl asks."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from deploy.chart.rendering import KUBERNETES, OLDEST

from tests.chart.helm import documents_in
from tests.docs.pages import ROOT, all_pages

SHOWN = [
    (page.name, command)
    for page in all_pages()
    for block in page.blocks("sh")
    for command in block.commands()
    if command.startswith("helm template ")
]


def test_every_shown_command_that_renders_names_the_clusters_kubernetes() -> None:
    assert SHOWN
    assert [each for each in SHOWN if "--kube-version" not in each[1]] == []


@pytest.mark.parametrize(
    ("version", "knows"),
    [(f"v{OLDEST}", False), ("v1.29.15-gke.1043", False), (f"v{KUBERNETES}+k3s1", True)],
)
def test_the_page_on_installing_renders_for_the_cluster_that_is_asked(
    helm_program: Path, tmp_path: Path, version: str, *, knows: bool
) -> None:
    """The version is written as API servers do: one field a line."""
    (command,) = [each for name, each in SHOWN if name == "docs/install.md"]
    said = json.dumps({"major": "1", "gitVersion": version, "goVersion": "go1.25"}, indent=2)
    kubectl = tmp_path / "programs" / "kubectl"
    kubectl.parent.mkdir()
    kubectl.write_text(f"#!/bin/sh\n[ \"$*\" = 'get --raw /version' ] && echo '{said}'\n")
    kubectl.chmod(0o755)
    (kubectl.parent / "helm").symlink_to(helm_program)
    (tmp_path / "helm").symlink_to(ROOT / "helm")
    subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{kubectl.parent}:{os.environ['PATH']}", "REGISTRY": "here"},
        check=True,
    )
    rendered = documents_in((tmp_path / "plimsoll.yaml").read_text())
    assert ("recursiveReadOnly" in str(rendered)) == knows
