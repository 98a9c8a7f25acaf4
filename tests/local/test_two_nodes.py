"""A cluster of two nodes beside the first: real, a core each, one network, gone without a trace."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import ssl
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from deploy.local.layout import Layout
from deploy.local.lifecycle import Cluster, down, start_program, stop_program, up
from deploy.local.machine import cgroups
from deploy.local.machine.namespaces import in_network, move_into_network, processes
from deploy.local.node.nodes import Node, nodes_of
from deploy.local.trouble import Trouble

from tests import conftest
from tests.local.traces import PATIENCE_S, cluster_command, nothing, traces_of, until
from tests.rigs.images.eater import an_eating_pod, load_eater

pytestmark = pytest.mark.node

FOR_S = {"node-1": 3601, "node-2": 3602}
"""How long a node's pod would stay: in its command line this number identifies it."""


@pytest.fixture(scope="module")
def programs(cluster: conftest.Cluster) -> dict[str, int]:
    """The first cluster's, before there is a second."""
    return cluster.handle.running()


@pytest.fixture(scope="module")
def two(
    programs: dict[str, int], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[conftest.Cluster]:
    """A second cluster, as if of another checkout, with a pod on each node.

    Its home is an empty folder.
    """
    home = tmp_path_factory.mktemp("two") / "a-home-with-a-name-so-long" / ("x" * 90)
    home.mkdir(parents=True)
    handle = Cluster(Layout(home), os.environ)
    try:
        assert up(handle, print, nodes=2)
        cluster = conftest.Cluster(handle)
        load_eater(handle.layout)
        for name in FOR_S:
            cluster.apply(a_pod_of(name))
        for name in FOR_S:
            cluster.kubectl("wait", "--for=condition=Ready", f"pod/on-{name}", "--timeout=240s")
        yield cluster
    finally:
        down(handle)
    assert traces_of(handle.layout) == nothing()


def a_pod_of(node: str) -> dict[str, Any]:
    pod = an_eating_pod(f"on-{node}", eats_mib=5, limit_mib=64, for_s=FOR_S[node])
    pod["spec"]["nodeSelector"] = {"kubernetes.io/hostname": node}
    return pod


def process_of(two: conftest.Cluster, node: str) -> int:
    """The process of a node's pod, found in the node's own cgroup."""
    cgroup = next(each.cgroup for each in nodes_of(two.handle.layout) if each.name == node)
    argv = ("/task", "eat", "5", str(FOR_S[node]))
    (found,) = [
        each.pid
        for each in processes()
        if each.argv == argv and f"/{cgroup}/" in Path(f"/proc/{each.pid}/cgroup").read_text()
    ]
    return found


@contextlib.contextmanager
def in_network_of(two: conftest.Cluster, node: str) -> Iterator[None]:
    """Run a command like a program in a node's pod."""
    back = move_into_network(Path(f"/proc/{process_of(two, node)}/ns/net"))
    try:
        yield
    finally:
        back()


def test_both_nodes_are_ready_and_share_the_machine(two: conftest.Cluster) -> None:
    nodes = two.get("nodes")["items"]
    offered = [node["status"]["allocatable"] for node in nodes]
    memory_bytes = [int(each["memory"].removesuffix("Ki")) << 10 for each in offered]
    machine_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert [node["metadata"]["name"] for node in nodes] == ["node-1", "node-2"]
    assert [each["cpu"] for each in offered] == ["1", "1"]
    assert len(set(memory_bytes)) == 1
    assert machine_bytes / 4 < sum(memory_bytes) < machine_bytes


@pytest.mark.parametrize("node", FOR_S)
def test_a_pod_runs_on_its_node_and_on_that_node_s_core_alone(
    two: conftest.Cluster, node: str
) -> None:
    core = next(each.core for each in nodes_of(two.handle.layout) if each.name == node)
    status = Path(f"/proc/{process_of(two, node)}/status").read_text()
    allowed = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert allowed["Cpus_allowed_list"] == str(core)
    assert two.get("pod", f"on-{node}")["spec"]["nodeName"] == node


@pytest.mark.parametrize("node", FOR_S)
def test_a_pod_reaches_the_api_server_and_the_api_server_its_kubelet(
    two: conftest.Cluster, node: str
) -> None:
    trusted = ssl.create_default_context(cafile=two.handle.layout.certificates / "ca.crt")
    with (
        in_network_of(two, node),
        urllib.request.urlopen("https://10.96.0.1/version", context=trusted) as answer,
    ):
        assert json.load(answer)["major"] == "1"
    assert two.kubectl("logs", f"on-{node}") == ""


@pytest.mark.parametrize(("here", "there"), [("node-1", "node-2"), ("node-2", "node-1")])
def test_a_pod_reaches_a_pod_of_the_other_node(
    two: conftest.Cluster, here: str, there: str
) -> None:
    address = two.get("pod", f"on-{there}")["status"]["podIP"]
    with in_network_of(two, there):
        server = socket.create_server((address, 8080))
    with server, in_network_of(two, here), socket.create_connection((address, 8080), timeout=30):
        connection, (caller, _) = server.accept()
        connection.close()
    assert caller == two.get("pod", f"on-{here}")["status"]["podIP"]


def test_a_second_node_s_kubelet_is_stopped_and_started_by_its_name(two: conftest.Cluster) -> None:
    before = two.handle.running()
    stop_program(two.handle, "kubelet-2")
    assert two.handle.missing_programs() == ["kubelet-2"]
    start_program(two.handle, "kubelet-2")
    until(two.handle.is_up, "the second kubelet, started again")
    after = two.handle.running()
    assert {name for name in before if before[name] != after[name]} == {"kubelet-2"}


def test_two_nodes_that_are_up_stay_two(two: conftest.Cluster) -> None:
    before = two.handle.running()
    assert not up(two.handle, print)
    assert not up(two.handle, print, nodes=2)
    with pytest.raises(Trouble, match="up, nodes: 2; take it down first"):
        up(two.handle, print, nodes=1)
    assert two.handle.running() == before


@pytest.mark.parametrize(
    ("pod", "eats_mib", "phase", "reason"),
    [("small", 10, "Succeeded", "Completed"), ("big", 200, "Failed", "OOMKilled")],
)
def test_a_pod_ends_as_its_limit_says(
    two: conftest.Cluster, pod: str, eats_mib: int, phase: str, reason: str
) -> None:
    two.apply(an_eating_pod(pod, eats_mib=eats_mib, limit_mib=64))
    two.kubectl("wait", f"--for=jsonpath={{.status.phase}}={phase}", f"pod/{pod}", "--timeout=240s")
    (status,) = two.get("pod", pod)["status"]["containerStatuses"]
    assert status["state"]["terminated"]["reason"] == reason


def test_the_api_server_is_stopped_and_started_beside_running_pods(two: conftest.Cluster) -> None:
    stop_program(two.handle, "kube-apiserver")
    assert not two.handle.is_up()
    start_program(two.handle, "kube-apiserver")
    try:
        until(two.handle.is_up, "the API server, started again")
    except AssertionError as error:
        said = (two.handle.layout.logs / "kube-apiserver.log").read_text(errors="replace")
        error.add_note(f"missing: {two.handle.missing_programs()}; it said last: {said[-4000:]}")
        raise


def test_it_goes_without_a_trace_while_pods_run_and_the_first_cluster_stays(
    cluster: conftest.Cluster, two: conftest.Cluster, programs: dict[str, int]
) -> None:
    """The last of this cluster's tests. Processes run by `enter` belong to the cluster, too."""
    entered = subprocess.Popen(two.handle.enter(["sleep", "1000"]))
    network = two.handle.layout.netns
    until(lambda: entered.pid in {each.pid for each in in_network(network)}, "sleep")
    assert down(two.handle)
    assert entered.wait(timeout=PATIENCE_S) == -signal.SIGTERM
    assert traces_of(two.handle.layout) == nothing()
    assert not down(two.handle)
    assert cluster.handle.running() == programs


@pytest.mark.parametrize("point", ["containerd-2", "kubelet-2"])
def test_what_a_harness_killed_half_way_left_of_two_nodes_is_taken_away(
    tmp_path: Path, point: str
) -> None:
    handle = Cluster(Layout(tmp_path / "home"), os.environ)
    harness = cluster_command(handle.layout.home, "up", "--nodes", "2")
    try:
        until(lambda: point in handle.running(), f"a cluster with {point}")
        harness.kill()
        harness.communicate()
        assert made_by(nodes_of(handle.layout)[1]) == [True, True, True]
    finally:
        harness.kill()
        assert down(handle)
    assert traces_of(handle.layout) == nothing()


def made_by(second: Node) -> list[bool]:
    """Traces of a second node: a folder, a cgroup, sockets."""
    return [second.home.is_dir(), cgroups.exists(second.cgroup), second.run.is_dir()]
