"""Which cluster is meant: that of a kubeconfig, and only without one that of the pod it runs in."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.request import proxy_bypass

import pytest
import yaml
from kubernetes_asyncio.config import incluster_config

from plimsoll_operator.kube.api_server import api_settings
from plimsoll_operator.kube.errors import NoCluster

OWN = "https://10.96.0.1:443"
"""The cluster of the pod that a test seems to run in."""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home folder, without $KUBECONFIG."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    return folder


@pytest.fixture
def pod(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pod with the token of a service account."""
    for name in ("TOKEN", "CERT"):
        file = tmp_path / name
        file.write_text("the pod's")
        monkeypatch.setattr(incluster_config, f"SERVICE_{name}_FILENAME", str(file))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")


def a_kubeconfig(path: Path, server: str) -> str:
    path.parent.mkdir(exist_ok=True)
    written = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": {"token": "mine"}}],
    }
    path.write_text(yaml.safe_dump(written))
    return str(path)


async def host(kubeconfig: str | None = None, context: str | None = None) -> str:
    return str((await api_settings(kubeconfig, context)).host)


@pytest.mark.usefixtures("pod")
async def test_a_kubeconfig_of_the_environment_counts_more_than_the_pod(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_kubeconfig(home / ".kube" / "config", "https://home.example")
    prod = a_kubeconfig(tmp_path / "prod", "https://prod.example")
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join([str(tmp_path / "missing"), prod]))
    assert await host() == "https://prod.example"
    assert await host(a_kubeconfig(tmp_path / "named", "https://named.example")) == (
        "https://named.example"
    )


@pytest.mark.usefixtures("pod")
@pytest.mark.parametrize("listed", ["", os.pathsep])
async def test_the_home_folders_kubeconfig_counts_more_than_the_pod(
    home: Path, monkeypatch: pytest.MonkeyPatch, listed: str
) -> None:
    a_kubeconfig(home / ".kube" / "config", "https://home.example")
    monkeypatch.setenv("KUBECONFIG", listed)
    assert await host() == "https://home.example"


async def test_a_mistyped_name_in_the_environment_is_not_the_home_folders_cluster(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_kubeconfig(home / ".kube" / "config", "https://home.example")
    monkeypatch.setenv("KUBECONFIG", "mistyped")
    with pytest.raises(NoCluster, match="kubeconfig mistyped is not there"):
        await host()


@pytest.mark.usefixtures("pod")
@pytest.mark.parametrize("listed", ["", "missing"])
async def test_without_a_kubeconfig_it_is_the_pods_own_cluster(
    monkeypatch: pytest.MonkeyPatch, listed: str
) -> None:
    monkeypatch.setenv("KUBECONFIG", listed)
    assert await host() == OWN


@pytest.mark.usefixtures("pod")
async def test_a_home_folder_that_may_not_be_read_has_no_kubeconfig(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_kubeconfig(home / ".kube" / "config", "https://home.example")
    stat = os.stat

    def refuse(path: str, *, follow_symlinks: bool = True) -> os.stat_result:
        if str(path).startswith(str(home)):
            raise PermissionError(path)
        return stat(path, follow_symlinks=follow_symlinks)

    monkeypatch.setattr(os, "stat", refuse)
    assert await host() == OWN


@pytest.mark.usefixtures("pod")
async def test_a_pod_without_a_home_folder_is_in_its_own_cluster(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(os, "getuid", lambda: 2**31 - 7)
    assert await host() == OWN


@pytest.mark.usefixtures("pod")
async def test_a_range_of_no_proxy_holds_for_the_pods_own_cluster(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("no_proxy", "10.96.0.0/12,.svc")
    assert not proxy_bypass("10.96.0.1")
    assert await host() == OWN
    assert proxy_bypass("10.96.0.1")


@pytest.mark.usefixtures("pod")
@pytest.mark.parametrize(("kubeconfig", "context"), [("missing", None), (None, "prod")])
async def test_who_names_a_cluster_never_gets_the_pods(
    kubeconfig: str | None, context: str | None
) -> None:
    with pytest.raises(NoCluster, match="is not there; name one with --kubeconfig"):
        await api_settings(kubeconfig, context)


BLANK = "apiVersion: v1\nkind: Config\nclusters: null\ncontexts: null\ncurrent-context: ''\n"


@pytest.mark.usefixtures("pod")
@pytest.mark.parametrize("text", ["", BLANK])
async def test_a_kubeconfig_that_names_nothing_is_as_none(
    home: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """Such as /dev/null, or what kubectl leaves after its last context was deleted."""
    (home / ".kube").mkdir()
    file = home / ".kube" / "config"
    file.write_text(text)
    assert await host() == OWN
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST")
    with pytest.raises(NoCluster, match="config names no cluster; name one with --kubeconfig"):
        await host()
    with pytest.raises(NoCluster, match="names no cluster"):
        await host(str(file))


async def test_of_several_files_the_first_current_context_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = []
    for name in ("a", "b"):
        text = Path(a_kubeconfig(tmp_path / name, f"https://{name}.example")).read_text()
        written = yaml.safe_load(text)
        written["contexts"][0]["name"] = written["current-context"] = f"to-{name}"
        written["contexts"][0]["context"]["cluster"] = written["clusters"][0]["name"] = name
        (tmp_path / name).write_text(yaml.safe_dump(written))
        files.append(str(tmp_path / name))
    empty = str(tmp_path / "empty")
    Path(empty).write_text("")
    for listed, expected in (
        (files, "https://a.example"),
        (files[::-1], "https://b.example"),
        ([empty, files[1]], "https://b.example"),
        ([files[0], empty], "https://a.example"),
    ):
        monkeypatch.setenv("KUBECONFIG", os.pathsep.join(listed))
        assert await host() == expected
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(files))
    assert await host(context="to-b") == "https://b.example"


@pytest.mark.parametrize("text", ["words", "[1]", "clusters: 3", "contexts: [3]\nusers: [1]"])
async def test_what_is_no_kubeconfig_is_said_so(tmp_path: Path, text: str) -> None:
    (tmp_path / "odd").write_text(text)
    with pytest.raises(NoCluster, match=r"odd: .*name one with --kubeconfig and --context"):
        await host(str(tmp_path / "odd"))
