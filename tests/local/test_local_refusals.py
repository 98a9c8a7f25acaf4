"""The real commands on a machine that really lacks something: status 2 and one sentence."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from deploy.local import leftovers
from deploy.local.commands import main
from deploy.local.layout import API_PORT, CHECKOUT, RUN_ROOT, Layout
from deploy.local.lifecycle import Cluster, down, require_ports
from deploy.local.machine import prerequisites
from deploy.local.machine.namespaces import make_network, move_into_network
from deploy.local.trouble import Trouble

from tests import conftest

pytestmark = pytest.mark.node

CLUSTER = CHECKOUT / "deploy" / "local" / "cluster.py"

# Import everything before giving up the rights: the checkout may then be unreadable.
AS_NOBODY = """
import os, sys
sys.path.insert(0, sys.argv[1])
from deploy.local.commands import main
os.setgroups([]); os.setgid(65534); os.setuid(65534)
sys.exit(main(sys.argv[2:]))
"""


def run_cluster(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return _run([sys.executable, str(CLUSTER), *words], environment)


def run_as_nobody(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return _run([sys.executable, "-c", AS_NOBODY, str(CHECKOUT), *words], environment)


def _run(argv: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        argv, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )


def assert_refused(done: subprocess.CompletedProcess[str], said: str) -> None:
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert len(done.stderr.splitlines()) <= 3, done.stderr


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", folder], check=True)
    yield folder
    subprocess.run(["umount", folder], check=True)


@pytest.mark.parametrize("words", [("up",), ("down",)])
def test_an_ordinary_user_is_refused(words: tuple[str, ...]) -> None:
    assert_refused(run_as_nobody(*words), "root is needed")


def test_an_ordinary_user_may_not_enter() -> None:
    assert_refused(run_as_nobody("enter", "true"), "root is needed")


def test_an_unwritable_cache_is_named(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    done = run_as_nobody("build", XDG_CACHE_HOME=str(closed))
    assert_refused(done, f"{closed}/plimsoll")
    assert "XDG_CACHE_HOME" in done.stderr


def test_a_build_without_go_says_where_to_get_it(tmp_path: Path) -> None:
    done = run_cluster("build", PATH="/usr/bin:/bin", XDG_CACHE_HOME=str(tmp_path))
    assert_refused(done, "no Go on PATH")
    assert "https://go.dev/dl" in done.stderr


def test_a_disk_that_is_too_small_is_refused(small_disk: Path) -> None:
    assert_refused(run_cluster("build", XDG_CACHE_HOME=str(small_disk)), "GiB are free; free some")


def test_a_disk_that_fills_up_meanwhile_is_named_and_nothing_half_made_stays(
    small_disk: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The disk really fills; only the writer is not the real Go."""
    go = tmp_path / "go"
    go.write_text(
        '#!/bin/sh\n[ "$1" = env ] && echo go1.25.0 && exit\n'
        'while [ $# -gt 2 ]; do shift; done\ncat /dev/zero > "$1/kubelet"\n'
    )
    go.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(small_disk))
    monkeypatch.setattr(prerequisites, "BUILD_BYTES", 0)
    assert main(["build"]) == 2
    assert "the disk is full" in capsys.readouterr().err
    assert list(small_disk.rglob("kubelet")) == []


def test_a_port_that_is_taken_in_the_cluster_s_network_is_named(tmp_path: Path) -> None:
    cluster = Cluster(Layout(tmp_path / "home"), os.environ)
    RUN_ROOT.mkdir(exist_ok=True)
    leftovers.make_fixed_folders()
    make_network(cluster.layout)
    try:
        require_ports(cluster)
        back = move_into_network(cluster.layout.netns)
        with socket.create_server(("127.0.0.1", API_PORT)):
            back()
            with pytest.raises(Trouble, match=f"port {API_PORT} in the network"):
                require_ports(cluster)
    finally:
        down(cluster)


def test_two_nodes_are_refused_where_there_is_one_core(tmp_path: Path) -> None:
    home = tmp_path / "home"
    one = str(min(os.sched_getaffinity(0)))
    words = ["taskset", "--cpu-list", one, sys.executable, str(CLUSTER), "up", "--nodes", "2"]
    done = _run(words, {"PLIMSOLL_CLUSTER_HOME": str(home)})
    assert_refused(done, "2 nodes take 2 processor cores, one each, and here is 1")
    assert not home.exists()


def test_what_needs_a_running_cluster_says_how_to_get_one(tmp_path: Path) -> None:
    nowhere = str(tmp_path / "home")
    for words in (("enter", "true"), ("kubectl", "version"), ("load", __file__)):
        done = run_cluster(*words, PLIMSOLL_CLUSTER_HOME=nowhere)
        assert_refused(done, "the cluster is not up; bring it up")


def test_status_says_no_with_status_1(tmp_path: Path) -> None:
    done = run_cluster("status", PLIMSOLL_CLUSTER_HOME=str(tmp_path / "home"))
    assert done.returncode == 1
    assert '"up": false' in done.stdout


def test_a_command_s_own_exit_status_passes_through(cluster: conftest.Cluster) -> None:
    done = run_cluster("enter", "sh", "-c", "exit 7")
    assert done.returncode == 7, done.stderr
