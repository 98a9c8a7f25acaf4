"""The nodes of a local cluster: one as usual, or two that share nothing of their own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from deploy.local.layout import Layout
from deploy.local.machine.prerequisites import GIB
from deploy.local.node import programs
from deploy.local.node.configuration import NodeSize, write_settings
from deploy.local.node.nodes import cores_beside, cores_for, nodes_of, note_cores, threads_apart
from deploy.local.trouble import Trouble


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(tmp_path)


def kubelet_of(layout: Layout, number: int) -> dict[str, object]:
    write_settings(layout, NodeSize(16 * GIB, None), "token")
    path = nodes_of(layout)[number - 1].home / "settings" / "kubelet.json"
    found: dict[str, object] = json.loads(path.read_text())
    return found


def test_a_single_node_has_the_whole_machine(layout: Layout) -> None:
    note_cores(layout, cores_for(1, [0, 1]))
    (node,) = nodes_of(layout)
    assert (node.name, node.core, node.cgroup) == ("node-1", None, layout.name)
    kubelet = kubelet_of(layout, 1)
    assert kubelet.keys().isdisjoint({"cpuManagerPolicy", "reservedSystemCPUs", "port", "address"})
    assert not (layout.home / "node-2").exists()


def test_a_single_node_s_programs_have_no_numbers(layout: Layout) -> None:
    assert programs.names(layout, Path("/bin")) == [
        "etcd",
        "containerd",
        "kube-apiserver",
        "kube-controller-manager",
        "kube-scheduler",
        "kube-proxy",
        "kubelet",
    ]


def test_two_nodes_share_no_name_address_port_folder_or_cgroup(layout: Layout) -> None:
    note_cores(layout, [0, 1])
    first, second = nodes_of(layout)
    for name in (
        *("name", "core", "address", "pod_range", "bridge", "kubelet_port", "health_port"),
        *("cgroup", "home", "inner_home", "run", "containerd_socket"),
    ):
        assert getattr(first, name) != getattr(second, name), name
    assert first.cgroup.rpartition("/")[0] == second.cgroup.rpartition("/")[0] == layout.name


def test_two_nodes_have_their_programs_each_under_a_name_of_its_own(layout: Layout) -> None:
    note_cores(layout, [0, 1])
    names = programs.names(layout, Path("/bin"))
    assert {"containerd", "containerd-2", "kubelet", "kubelet-2"} <= set(names)
    assert len(names) == len(set(names)) == 9
    commands = programs.node(layout, Path("/bin"))
    assert commands["kubelet"][0] == "/bin/kubelet"
    assert commands["kubelet-2"][:4] == ["bash", "-c", 'exec -a "$0" "$@"', "kubelet-2"]


def test_of_two_nodes_each_keeps_its_pods_to_its_core(layout: Layout) -> None:
    note_cores(layout, [0, 1])
    first = kubelet_of(layout, 1)
    assert first["cpuManagerPolicy"] == "static"
    assert first["reservedSystemCPUs"] == ",".join(map(str, cores_beside(0)))


def test_two_nodes_offer_together_what_one_offers() -> None:
    one, each = NodeSize(16 * GIB, 8 * GIB), NodeSize(16 * GIB, 8 * GIB, nodes=2)
    assert 2 * (each.machine_bytes - each.reserved_bytes) == one.machine_bytes - one.reserved_bytes


def test_two_nodes_on_one_core_are_refused() -> None:
    with pytest.raises(Trouble, match="2 nodes take 2 processor cores, one each, and here is 1"):
        cores_for(2, [3])


def test_two_nodes_take_the_first_two_cores_of_several() -> None:
    assert cores_for(2, [2, 5, 7]) == [2, 5]


@pytest.mark.parametrize(
    ("online", "beside"),
    [("0-1", [1]), ("0", []), ("0-2,8-9", [1, 2, 8, 9])],
)
def test_the_cores_beside_one_are_all_others_that_run(
    tmp_path: Path, online: str, beside: list[int]
) -> None:
    (tmp_path / "online").write_text(f"{online}\n")
    assert cores_beside(0, tmp_path) == beside


def test_two_threads_of_one_core_are_not_taken_for_two_cores_while_there_are_others(
    tmp_path: Path,
) -> None:
    for core, threads in enumerate(("0-1", "0-1", "2-3", "2-3")):
        (tmp_path / f"cpu{core}" / "topology").mkdir(parents=True)
        (tmp_path / f"cpu{core}" / "topology" / "thread_siblings_list").write_text(f"{threads}\n")
    assert cores_for(2, threads_apart({0, 1, 2, 3}, tmp_path)) == [0, 2]


@pytest.mark.parametrize("noted", ["", "0", "\n"])
def test_cores_that_are_half_noted_are_none(layout: Layout, noted: str) -> None:
    (layout.home / "cores").write_text(noted)
    assert [node.core for node in nodes_of(layout)] == [None]
