"""What the local cluster says when something is missing: one sentence, with what to do."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from deploy.local import leftovers
from deploy.local.binaries import kubernetes
from deploy.local.layout import (
    CHECKOUT,
    MARK,
    MODULES,
    PORTS,
    Layout,
    cache_root,
    is_cluster_name,
    kubernetes_version,
    layout_from,
)
from deploy.local.machine import cgroups, packages, prerequisites
from deploy.local.machine.prerequisites import GIB, Machine, Place
from deploy.local.node import programs
from deploy.local.node.configuration import NodeSize
from deploy.local.trouble import Trouble

GOOD = Machine(system="Linux", architecture="x86_64", is_root=True, has_memory_cgroup=True)


def test_a_machine_with_all_it_takes_is_accepted() -> None:
    prerequisites.require_machine(GOOD)


@pytest.mark.parametrize(
    ("machine", "said", "way_out"),
    [
        pytest.param(
            replace(GOOD, system="Darwin"), "needs Linux, this is Darwin", "CONTEXT=", id="no Linux"
        ),
        pytest.param(
            replace(GOOD, architecture="riscv64"), "riscv64 is untested", "CONTEXT=", id="processor"
        ),
        pytest.param(replace(GOOD, is_root=False), "root is needed", "sudo", id="ordinary user"),
        pytest.param(
            replace(GOOD, has_memory_cgroup=False),
            "no memory cgroup",
            "cgroup_enable=memory",
            id="no memory cgroup",
        ),
    ],
)
def test_a_machine_that_lacks_something_is_refused_with_a_way_out(
    machine: Machine, said: str, way_out: str
) -> None:
    with pytest.raises(Trouble, match=said) as trouble:
        prerequisites.require_machine(machine)
    assert way_out in str(trouble.value)


@pytest.mark.parametrize(
    ("version", "said"),
    [
        pytest.param(None, "no Go on PATH", id="no Go"),
        pytest.param("go1.19.8", "go1.19.8 is too old", id="Debian 12's own Go"),
        pytest.param("go1.24.9", "go1.24.9 is too old", id="the one before"),
        pytest.param("gibberish", "too old", id="something else that is called go"),
    ],
)
def test_a_missing_or_old_go_is_named_with_where_to_get_one(version: str | None, said: str) -> None:
    with pytest.raises(Trouble, match=said) as trouble:
        prerequisites.require_go(version)
    assert "https://go.dev/dl" in str(trouble.value)


@pytest.mark.parametrize("version", ["go1.25", "go1.25.0", "go1.26.8", "go1.26rc1", "go2.0"])
def test_a_new_enough_go_is_accepted(version: str) -> None:
    prerequisites.require_go(version)


def test_too_little_disk_space_is_refused_before_anything_is_begun() -> None:
    place = Place("building Kubernetes", Path("/cache"), 6 * GIB, GIB // 2)
    with pytest.raises(Trouble, match=r"needs 6\.0 GiB in /cache, 0\.5 GiB are free"):
        prerequisites.require_space([place])


def test_just_enough_disk_space_is_accepted() -> None:
    prerequisites.require_space([Place("building", Path("/cache"), GIB, GIB)])


def test_space_is_measured_where_a_folder_will_be(tmp_path: Path) -> None:
    found = prerequisites.place("something", tmp_path / "not" / "there" / "yet", 1)
    assert found.free_bytes > 0


def test_a_cache_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Trouble, match=r"file/plimsoll cannot be written .* XDG_CACHE_HOME"):
        prerequisites.require_writable(tmp_path / "file" / "plimsoll")


def test_trying_the_cache_folder_leaves_nothing_in_it(tmp_path: Path) -> None:
    """Two clusters may come up at once, in threads of one process."""
    with ThreadPoolExecutor(4) as threads:
        for tried in [
            threads.submit(prerequisites.require_writable, tmp_path / "cache") for _ in range(400)
        ]:
            tried.result()
    assert list((tmp_path / "cache").iterdir()) == []


TCP_TABLE = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid
   0: 0100007F:192B 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0
   1: 0100007F:D2F0 0100007F:192B 01 00000000:00000000 00:00000000 00000000     0
"""


def test_ports_that_are_listened_on_are_found_and_connections_are_not() -> None:
    assert prerequisites.listening_ports([TCP_TABLE, ""]) == {6443}


def test_a_taken_port_is_named_with_where_it_is() -> None:
    with pytest.raises(Trouble, match=r"port 6443 in the network .* is taken"):
        prerequisites.require_free_ports(PORTS, {6443, 80}, "the network namespace plimsoll-x")


def test_ports_that_others_use_do_not_matter() -> None:
    prerequisites.require_free_ports(PORTS, {80, 8080}, "somewhere")


def test_missing_packages_are_found_by_what_they_bring(tmp_path: Path) -> None:
    (tmp_path / "there").touch()
    wanted = {
        "present": ("sh", str(tmp_path / "there")),
        "absent": ("sh", str(tmp_path / "not-there")),
        "unknown": ("no-such-program-anywhere",),
    }
    assert packages.missing(wanted) == ["absent", "unknown"]


def test_missing_packages_are_named_with_the_command_where_they_cannot_be_installed() -> None:
    refusal = packages.refuse_install(["runc", "conntrack"], can_install=False)
    assert "apt-get install --no-install-recommends runc conntrack" in str(refusal)


def test_missing_packages_are_no_trouble_where_they_can_be_installed() -> None:
    assert packages.refuse_install(["runc"], can_install=True) is None


@pytest.mark.parametrize(
    ("complaints", "said"),
    [
        pytest.param(
            ["compile: writing output: write $WORK/b001/_pkg_.a: no space left on device"],
            "the disk is full",
            id="a full disk",
        ),
        pytest.param(
            ["Get https://example.test: dial tcp: lookup example.test: no such host"],
            "GOPROXY",
            id="no network",
        ),
        pytest.param(["main.go:1: undefined: x"], "undefined: x", id="anything else"),
        pytest.param([], "failed silently", id="nothing said"),
    ],
)
def test_a_failed_build_says_what_to_do(complaints: list[str], said: str) -> None:
    assert said in kubernetes.explain_failure(complaints)


def test_programs_of_another_recipe_are_built_again(tmp_path: Path) -> None:
    for name in kubernetes.PROGRAMS:
        (tmp_path / name).write_text("#!/bin/sh\necho Kubernetes v1.0.0\n")
        (tmp_path / name).chmod(0o755)
    assert not kubernetes.is_built(tmp_path)
    (tmp_path / "built.json").write_text(json.dumps({"kubernetes": "1.0.0"}))
    assert not kubernetes.is_built(tmp_path)


def test_programs_of_the_right_version_without_a_stamp_get_one(tmp_path: Path) -> None:
    for name in kubernetes.PROGRAMS:
        (tmp_path / name).write_text(f"#!/bin/sh\necho Kubernetes v{kubernetes_version()}\n")
        (tmp_path / name).chmod(0o755)
    assert kubernetes.is_built(tmp_path)
    (tmp_path / "kube-apiserver").write_text("#!/bin/sh\nexit 1\n")
    assert kubernetes.is_built(tmp_path), "the stamp is believed from then on"
    (tmp_path / "kubelet").unlink()
    assert not kubernetes.is_built(tmp_path)


def test_the_version_is_that_of_every_kubernetes_module_in_go_mod() -> None:
    text = (MODULES / "go.mod").read_text()
    version = kubernetes_version()
    staged = set(re.findall(r"=> k8s\.io/\S+ v0\.(\S+)", text))
    assert staged == {version.removeprefix("1.")}


def test_the_cluster_of_a_checkout_is_within_it() -> None:
    layout = layout_from({})
    assert layout.home == CHECKOUT / ".local" / "cluster"
    assert is_cluster_name(layout.name)


def test_two_homes_have_different_names_and_short_sockets(tmp_path: Path) -> None:
    one, other = Layout(tmp_path / ("x" * 200)), Layout(tmp_path / ("x" * 199))
    assert one.name != other.name
    assert len(str(one.containerd_socket)) <= 107


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("plimsoll-0123abcd", True),
        ("plimsoll-test-0123abcd", False),
        ("plimsoll-0123abcde", False),
        ("kubepods", False),
    ],
)
def test_only_names_that_are_made_here_are_ours(name: str, ours: bool) -> None:
    assert is_cluster_name(name) is ours


def test_a_folder_that_holds_something_else_is_never_a_home(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").touch()
    with pytest.raises(Trouble, match="no cluster's and would be deleted"):
        layout_from({"PLIMSOLL_CLUSTER_HOME": str(tmp_path)})
    (tmp_path / MARK).touch()
    assert layout_from({"PLIMSOLL_CLUSTER_HOME": str(tmp_path)}).home == tmp_path.resolve()


@pytest.mark.parametrize("named", ["relative/path", ""])
def test_a_home_must_be_an_absolute_path(named: str) -> None:
    with pytest.raises(Trouble, match="not an absolute path"):
        layout_from({"PLIMSOLL_CLUSTER_HOME": named})


def test_the_cache_is_where_the_desktop_standard_puts_it() -> None:
    assert cache_root({"HOME": "/home/a"}) == Path("/home/a/.cache/plimsoll")
    assert cache_root({"HOME": "/home/a", "XDG_CACHE_HOME": "/big"}) == Path("/big/plimsoll")


@pytest.mark.parametrize(
    ("size", "allocatable_gib"),
    [
        pytest.param(NodeSize(16 * GIB, None), 15, id="a machine keeps 1 GiB"),
        pytest.param(NodeSize(16 * GIB, 8 * GIB), 7, id="a container offers what it has"),
        pytest.param(NodeSize(16 * GIB, 64 * GIB), 15, id="a limit above the machine is none"),
        pytest.param(NodeSize(1 * GIB, None), 0.5, id="a small machine offers half"),
    ],
)
def test_the_node_offers_what_is_really_there(size: NodeSize, allocatable_gib: float) -> None:
    assert (size.machine_bytes - size.reserved_bytes) / GIB == allocatable_gib


def test_every_program_reads_its_files_by_the_short_path(tmp_path: Path) -> None:
    layout = Layout(tmp_path / ("x" * 200))
    commands = programs.control_plane(layout, Path("/bin")) | programs.node(layout, Path("/bin"))
    long_paths = [part for argv in commands.values() for part in argv if str(layout.home) in part]
    assert long_paths == []


def a_v1_tree(root: Path) -> Path:
    for name in ("memory", "cpu"):
        (root / name).mkdir(parents=True)
        (root / name / "cgroup.procs").touch()
    (root / "memory" / "memory.limit_in_bytes").write_text("9223372036854771712\n")
    return root


def a_v2_tree(root: Path, controllers: str = "cpu memory pids") -> Path:
    root.mkdir(parents=True)
    (root / "cgroup.controllers").write_text(controllers + "\n")
    return root


def test_both_versions_of_cgroups_are_told_apart(tmp_path: Path) -> None:
    v1, v2 = a_v1_tree(tmp_path / "1"), a_v2_tree(tmp_path / "2")
    assert cgroups.hierarchies(v1) == [v1 / "cpu", v1 / "memory"]
    assert cgroups.hierarchies(v2) == [v2]
    assert (cgroups.has_memory(v1), cgroups.has_memory(v2)) == (True, True)


def test_a_missing_memory_controller_is_noticed_in_both_versions(tmp_path: Path) -> None:
    v1, v2 = a_v1_tree(tmp_path / "1"), a_v2_tree(tmp_path / "2", "cpu pids")
    (v1 / "memory" / "memory.limit_in_bytes").unlink()
    assert (cgroups.has_memory(v1), cgroups.has_memory(v2)) == (False, False)


def test_no_limit_is_none_in_both_versions(tmp_path: Path) -> None:
    v1, v2 = a_v1_tree(tmp_path / "1"), a_v2_tree(tmp_path / "2")
    assert cgroups.memory_limit_bytes(v1) is None
    assert cgroups.memory_limit_bytes(v2) is None
    (v2 / "memory.max").write_text(f"{GIB}\n")
    (v1 / "memory" / "memory.limit_in_bytes").write_text(f"{GIB}\n")
    assert cgroups.memory_limit_bytes(v1) == GIB
    assert cgroups.memory_limit_bytes(v2) == GIB


def test_the_cgroup_is_made_in_and_removed_from_every_hierarchy(tmp_path: Path) -> None:
    root = a_v1_tree(tmp_path / "1")
    cgroups.make("plimsoll-0123abcd", root)
    (root / "cpu" / "plimsoll-0123abcd" / "kubepods" / "burstable").mkdir(parents=True)
    (root / "cpu" / "plimsoll-of-a-stranger").mkdir()
    assert cgroups.exists("plimsoll-0123abcd", root)
    cgroups.remove("plimsoll-0123abcd", root)
    assert not cgroups.exists("plimsoll-0123abcd", root)
    assert (root / "cpu" / "plimsoll-of-a-stranger").exists()


@pytest.mark.parametrize(
    ("home_is_there", "abandoned"),
    [
        pytest.param(True, True, id="nothing runs: only its traces are left"),
        pytest.param(False, True, id="its checkout is gone"),
    ],
)
def test_a_cluster_with_no_processes_is_abandoned(
    tmp_path: Path, home_is_there: bool, abandoned: bool
) -> None:
    if home_is_there:
        (tmp_path / MARK).touch()
    assert leftovers.Trace("plimsoll-00000000", tmp_path, None).is_abandoned() is abandoned
