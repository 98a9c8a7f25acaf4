"""What the local cluster says when something is missing: one sentence, with what to do."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from deploy.local import binaries, cgroups, packages, prerequisites
from deploy.local.commands import main
from deploy.local.configuration import NodeSize
from deploy.local.dockerfile import TARGETS, fingerprint
from deploy.local.layout import (
    CHECKOUT,
    MARK,
    Layout,
    cache_root,
    is_cluster_name,
    kubernetes_version,
    layout_from,
)
from deploy.local.pip_settings import pip_settings
from deploy.local.prerequisites import GIB, Machine, Place
from deploy.local.trouble import Trouble

CLUSTER = CHECKOUT / "deploy" / "local" / "cluster.py"
GOOD = Machine(system="Linux", architecture="x86_64", is_root=True, has_memory_cgroup=True)


def run_cluster(
    *words: str, user: int | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the real command, as another user if asked, with more or other variables."""
    return subprocess.run(
        ["/usr/bin/python3", str(CLUSTER), *words],
        env={**os.environ, **environment},
        cwd="/",
        user=user,
        group=user,
        extra_groups=[] if user else None,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def readable_checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """deploy/local where any user can read it."""
    root = Path("/tmp") / f"plimsoll-readable-{os.getpid()}"
    return root


# --- the machine ---------------------------------------------------------------------------


def test_a_machine_with_all_it_takes_is_accepted() -> None:
    prerequisites.require_machine(GOOD)


@pytest.mark.parametrize(
    ("machine", "said"),
    [
        pytest.param(
            replace(GOOD, system="Darwin"), "needs Linux, this is Darwin", id="another system"
        ),
        pytest.param(
            replace(GOOD, architecture="riscv64"), "riscv64 is untested", id="another processor"
        ),
        pytest.param(replace(GOOD, is_root=False), "root is needed", id="an ordinary user"),
        pytest.param(
            replace(GOOD, has_memory_cgroup=False), "no memory cgroup", id="no memory cgroup"
        ),
    ],
)
def test_a_machine_that_lacks_something_is_refused_with_a_way_out(
    machine: Machine, said: str
) -> None:
    with pytest.raises(Trouble, match=said) as trouble:
        prerequisites.require_machine(machine)
    assert re.search(r"run it with sudo|CONTEXT=|cgroup_enable=memory", str(trouble.value))


def test_the_real_command_refuses_an_ordinary_user_with_status_2() -> None:
    done = run_cluster("up", user=65534, HOME="/nonexistent")
    assert done.returncode == 2, done.stderr
    assert "root is needed" in done.stderr
    assert "Traceback" not in done.stderr


# --- Go ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "said"),
    [
        pytest.param(None, "no Go on PATH", id="no Go"),
        pytest.param("go1.19.8", "go1.19.8 is too old", id="Debian 12's own Go"),
        pytest.param("go1.24.9", "go1.24.9 is too old", id="the one before"),
        pytest.param("gibberish", "too old", id="something else called go"),
    ],
)
def test_a_missing_or_old_go_is_named(version: str | None, said: str) -> None:
    with pytest.raises(Trouble, match=said):
        prerequisites.require_go(version)


@pytest.mark.parametrize("version", ["go1.25", "go1.25.0", "go1.26.8", "go1.26rc1", "go2.0"])
def test_a_new_enough_go_is_accepted(version: str) -> None:
    prerequisites.require_go(version)


def test_a_build_without_go_fails_with_status_2_and_says_where_to_get_it(tmp_path: Path) -> None:
    done = run_cluster("build", PATH="/usr/bin:/bin", XDG_CACHE_HOME=str(tmp_path))
    assert done.returncode == 2, done.stderr
    assert "no Go on PATH" in done.stderr
    assert "https://go.dev/dl" in done.stderr
    assert not list(tmp_path.rglob("kube*")) or not list(tmp_path.rglob("bin*"))


# --- disk ----------------------------------------------------------------------------------


def test_too_little_disk_space_is_refused_before_anything_is_begun() -> None:
    place = Place("building Kubernetes", Path("/cache"), 6 * GIB, GIB // 2)
    with pytest.raises(Trouble, match=r"needs 6\.0 GiB in /cache, 0\.5 GiB are free"):
        prerequisites.require_space([place])


def test_enough_disk_space_is_accepted() -> None:
    prerequisites.require_space([Place("building", Path("/cache"), GIB, GIB)])


def test_space_is_measured_where_the_folder_will_be(tmp_path: Path) -> None:
    found = prerequisites.place("something", tmp_path / "not" / "there" / "yet", 1)
    assert found.free_bytes > 0


def test_a_small_disk_is_refused_for_real(small_disk: Path) -> None:
    done = run_cluster("build", XDG_CACHE_HOME=str(small_disk))
    assert done.returncode == 2, done.stderr
    assert "free some space" in done.stderr


def test_a_disk_that_fills_up_meanwhile_is_named_and_leaves_nothing_half_made(
    small_disk: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A go that writes until the disk is full, as the real one would."""
    tools = small_disk.parent / "tools"
    tools.mkdir()
    fake = tools / "go"
    fake.write_text(
        "#!/bin/sh\n[ $1 = env ] && echo go1.25.0 && exit\n"
        "while [ $# -gt 2 ]; do shift; done\ncat /dev/zero > $1/kubelet\n"
    )
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(small_disk))
    monkeypatch.setattr(prerequisites, "BUILD_BYTES", 0)
    assert main(["build"]) == 2
    assert "the disk is full" in capsys.readouterr().err
    assert not list(small_disk.rglob("kubelet"))


@pytest.fixture
def small_disk(tmp_path: Path):  # type: ignore[no-untyped-def]  # a generator
    folder = tmp_path / "disk"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", folder], check=True)
    yield folder
    subprocess.run(["umount", folder], check=True)
