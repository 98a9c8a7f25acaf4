"""Programs beside Kubernetes' own: which there are, what they are built from, how they run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from deploy.local.binaries import kubernetes, tools
from deploy.local.commands import read_command
from deploy.local.layout import HERE
from deploy.local.machine import prerequisites
from deploy.local.trouble import Trouble


def test_a_tool_nobody_knows_is_answered_with_those_there_are(tmp_path: Path) -> None:
    environment = {"XDG_CACHE_HOME": str(tmp_path)}
    with pytest.raises(Trouble, match="no tool kustomize; there is argo-controller, argoexec"):
        tools.tool("kustomize", environment, print)


def test_all_that_follows_a_tools_name_is_its_own() -> None:
    words = ["helm", "-n", "plimsoll", "upgrade", "--help"]
    assert read_command(["tool", *words]).argv == words


def test_a_build_that_fails_names_the_tool() -> None:
    said = ["helm.sh/helm/v3: Get x: dial tcp: lookup proxy: no such host"]
    assert kubernetes.explain_failure(said, what="helm").startswith("building helm: its Go modules")


@pytest.mark.parametrize("name", tools.TOOLS)
def test_a_tool_that_is_built_is_not_built_again(name: str, tmp_path: Path) -> None:
    environment = {"XDG_CACHE_HOME": str(tmp_path)}
    folder = tools.tool_folder(name, environment)
    folder.mkdir(parents=True)
    program = folder / name
    program.touch(mode=0o755)
    said: list[str] = []
    assert tools.tool(name, environment, said.append) == program
    assert said == []


GO = """#!/bin/bash
case "$*" in
*GOVERSION) echo go1.99.0 ;;
*download*) echo '{"Dir": "MODULE"}' ;;
*build*)
  [[ "$*" =~ -modfile=([^ ]+) ]] && cp "${BASH_REMATCH[1]}" TOLD
  [[ "$*" =~ -o\\ ([^ ]+) ]] && out="${BASH_REMATCH[1]}"
  copy=$(sed -n 's/^replace .* => //p' TOLD)
  cat "$copy/workflow/executor/osspecific/signal_linux.go" > "$out"
  chmod +x "$out" ;;
esac
"""


def test_a_tool_is_built_with_the_symlink_that_its_module_has_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = tmp_path / "module" / "workflow" / "executor" / "osspecific"
    sources.mkdir(parents=True)
    (sources / "signal_darwin.go").write_text("package osspecific\n")
    sources.chmod(0o555)  # as Go keeps modules
    go, told = tmp_path / "go", tmp_path / "told.mod"
    go.write_text(GO.replace("MODULE", str(tmp_path / "module")).replace("TOLD", str(told)))
    go.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "XDG_CACHE_HOME": str(tmp_path / "cache")}
    built = tools.tool("argoexec", environment, print)
    assert built.read_text() == "package osspecific\n"
    assert told.read_text().startswith((HERE / "argo" / "go.mod").read_text())
    assert [path.name for path in sources.iterdir()] == ["signal_darwin.go"], "a copy has it"
    assert sorted(path.name for path in built.parent.iterdir()) == ["argoexec", "lock"]


def test_definitions_of_others_that_are_there_are_not_downloaded_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    go, said = tmp_path / "go", list[str]()
    content = tmp_path / "module"
    for _, _, folder in tools.FOREIGN_CRDS:
        (content / folder).mkdir(parents=True)
        (content / folder / f"{Path(folder).name}.yaml").write_text("kind: Definition\n")
    sums = "".join(
        f'*{module}) echo \'{{"Sum": "{checksum}", "Dir": "{content}"}}\' ;;\n'
        for module, checksum, _ in tools.FOREIGN_CRDS
    )
    go.write_text(f'#!/bin/sh\ncase "$*" in\n*GOVERSION) echo go1.99.0 ;;\n{sums}esac\n')
    go.chmod(0o755)
    with monkeypatch.context() as once:
        once.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        found = tools.foreign_crds({**environment, "PATH": str(tmp_path)}, said.append)
    assert [path.name for path in found] == ["crds.yaml", "prometheus-operator-crd.yaml"]
    assert len(said) == len(tools.FOREIGN_CRDS)
    content.rename(tmp_path / "emptied")
    assert tools.foreign_crds(environment, said.append) == found
    assert len(said) == len(tools.FOREIGN_CRDS)


@pytest.mark.parametrize("name", tools.TOOLS)
def test_a_tool_needs_no_newer_go_than_kubernetes_does(name: str) -> None:
    modules = HERE / tools.TOOLS[name].modules
    found = re.search(r"^go (\d+)\.(\d+)", (modules / "go.mod").read_text(), re.M)
    assert found is not None
    assert (int(found[1]), int(found[2])) <= prerequisites.GO_NEEDED
