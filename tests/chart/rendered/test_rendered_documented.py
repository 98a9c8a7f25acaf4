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
    (page.name, command, block)
    for page in all_pages()
    for block in page.blocks("sh")
    for command in block.commands()
    if command.startswith("helm template ")
]


def test_every_shown_command_that_renders_names_the_clusters_kubernetes() -> None:
    assert SHOWN
    assert [each for each in SHOWN if "--kube-version" not in each[1]] == []


def rendered(
    helm_program: Path, folder: Path, kubectl_does: str, *shell: str
) -> subprocess.CompletedProcess[str]:
    """Follow the page on installing up to the rendered file, with such a kubectl."""
    (block,) = [block for name, _, block in SHOWN if name == "docs/install.md"]
    kubectl = folder / "programs" / "kubectl"
    kubectl.parent.mkdir()
    kubectl.write_text(f"#!/bin/sh\n{kubectl_does}\n")
    kubectl.chmod(0o755)
    (kubectl.parent / "helm").symlink_to(helm_program)
    (folder / "helm").symlink_to(ROOT / "helm")
    return subprocess.run(
        ["bash", *shell, "-c", block.text.partition("kubectl diff")[0]],
        cwd=folder,
        env={**os.environ, "PATH": f"{kubectl.parent}:{os.environ['PATH']}", "REGISTRY": "here"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("shell", [(), ("-euo", "pipefail")])
def test_a_cluster_that_does_not_answer_is_no_cluster_of_helms_choice(
    helm_program: Path, tmp_path: Path, shell: tuple[str, ...]
) -> None:
    done = rendered(helm_program, tmp_path, "echo 'no route' >&2; exit 1", *shell)
    assert done.returncode != 0
    assert "no route" in done.stderr
    file = tmp_path / "plimsoll.yaml"
    assert not file.exists() or file.read_text() == ""


@pytest.mark.parametrize(
    ("version", "knows"),
    [(f"v{OLDEST}", False), ("v1.29.15-gke.1043", False), (f"v{KUBERNETES}+k3s1", True)],
)
def test_the_page_on_installing_renders_for_the_cluster_that_is_asked(
    helm_program: Path, tmp_path: Path, version: str, *, knows: bool
) -> None:
    """The version is written as API servers do: one field a line."""
    said = json.dumps({"major": "1", "gitVersion": version, "goVersion": "go1.25"}, indent=2)
    answers = f"[ \"$*\" = 'get --raw /version' ] && echo '{said}'"
    done = rendered(helm_program, tmp_path, answers, "-euo", "pipefail")
    assert done.returncode == 0, done.stderr
    documents = documents_in((tmp_path / "plimsoll.yaml").read_text())
    assert ("recursiveReadOnly" in str(documents)) == knows
