"""Programs beside Kubernetes' own: which there are, what they are built from, how they run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from deploy.local import binaries, prerequisites, tools
from deploy.local.commands import read_command
from deploy.local.trouble import Trouble


def test_a_tool_nobody_knows_is_answered_with_those_there_are(tmp_path: Path) -> None:
    environment = {"XDG_CACHE_HOME": str(tmp_path)}
    with pytest.raises(Trouble, match="no tool kustomize; there is helm"):
        tools.tool("kustomize", environment, print)


def test_all_that_follows_a_tools_name_is_its_own() -> None:
    words = ["helm", "-n", "plimsoll", "upgrade", "--help"]
    assert read_command(["tool", *words]).argv == words


def test_a_build_that_fails_names_the_tool() -> None:
    said = ["helm.sh/helm/v3: Get x: dial tcp: lookup proxy: no such host"]
    assert binaries.explain_failure(said, what="helm").startswith("building helm: its Go modules")


def test_a_tool_that_is_built_is_not_built_again(tmp_path: Path) -> None:
    environment = {"XDG_CACHE_HOME": str(tmp_path)}
    folder = tools.tool_folder(environment)
    folder.mkdir(parents=True)
    program = folder / "helm"
    program.touch(mode=0o755)
    said: list[str] = []
    assert tools.tool("helm", environment, said.append) == program
    assert said == []


def test_helm_needs_no_newer_go_than_kubernetes_does() -> None:
    found = re.search(r"^go (\d+)\.(\d+)", (tools.MODULES / "go.mod").read_text(), re.M)
    assert found is not None
    assert (int(found[1]), int(found[2])) <= prerequisites.GO_NEEDED
