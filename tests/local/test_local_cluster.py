"""The local cluster itself is real, leaves no trace, and survives its killer."""

from __future__ import annotations

import json
import os
import shutil
import signal
import ssl
import subprocess
import sys
import urllib.request
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from deploy.local import leftovers
from deploy.local.layout import NETNS_ROOT, Layout, kubernetes_version
from deploy.local.lifecycle import Cluster, down, up
from deploy.local.machine import cgroups
from deploy.local.machine.namespaces import keeper_of

from tests import conftest
from tests.local.traces import CLUSTER_COMMAND, cluster_command, nothing, traces_of, until
from tests.rigs.images.eater import an_eating_pod, load_eater

pytestmark = pytest.mark.node


@pytest.fixture
def namespace(cluster: conftest.Cluster) -> Iterator[str]:
    name = f"local-{uuid.uuid4().hex[:8]}"
    cluster.kubectl("create", "namespace", name)
    yield name
    cluster.kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Cluster]:
    """A second cluster, as if of another checkout; its home is an empty folder."""
    handle = Cluster(Layout(tmp_path / "a-home-with-a-name-so-long" / ("x" * 90)), os.environ)
    handle.layout.home.mkdir(parents=True)
    yield handle
    down(handle)


def ended(cluster: conftest.Cluster, namespace: str, pod: str) -> dict[str, Any]:
    """Wait for the end of a pod; return its single container's terminated state."""

    def state() -> Any:
        statuses = cluster.get("pod", pod, "-n", namespace)["status"].get("containerStatuses")
        return statuses and statuses[0]["state"].get("terminated")

    found: dict[str, Any] = until(state, f"end of pod {pod}")
    return found


def test_the_node_is_ready_and_offers_less_than_the_machine_has(cluster: conftest.Cluster) -> None:
    node = cluster.get("node", "node-1")["status"]
    ready = [c["status"] for c in node["conditions"] if c["type"] == "Ready"]
    allocatable = int(node["allocatable"]["memory"].removesuffix("Ki")) << 10
    machine_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert ready == ["True"]
    assert machine_bytes // 4 < allocatable < machine_bytes


def test_a_pod_within_its_limit_succeeds(cluster: conftest.Cluster, namespace: str) -> None:
    load_eater(cluster.handle.layout)
    cluster.apply(an_eating_pod("small", eats_mib=20, limit_mib=64), "-n", namespace)
    end = ended(cluster, namespace, "small")
    assert (end["exitCode"], end["reason"]) == (0, "Completed")


def test_a_pod_over_its_limit_is_killed_by_the_kernel(
    cluster: conftest.Cluster, namespace: str
) -> None:
    load_eater(cluster.handle.layout)
    cluster.apply(an_eating_pod("big", eats_mib=200, limit_mib=64), "-n", namespace)
    end = ended(cluster, namespace, "big")
    assert (end["exitCode"], end["reason"]) == (137, "OOMKilled")


def test_a_service_leads_to_its_pod(cluster: conftest.Cluster) -> None:
    """The API's own Service: kube-proxy translates its address."""
    trusted = ssl.create_default_context(cafile=cluster.handle.layout.certificates / "ca.crt")
    with urllib.request.urlopen("https://10.96.0.1/version", context=trusted) as answer:
        assert json.load(answer)["gitVersion"] == f"v{kubernetes_version()}"


def test_bringing_up_what_is_up_changes_nothing(cluster: conftest.Cluster) -> None:
    before = cluster.handle.running()
    started = up(cluster.handle, print)
    assert (started, cluster.handle.running()) == (False, before)


def test_what_a_killed_harness_left_is_cleaned_by_the_next_up(
    cluster: conftest.Cluster, other: Cluster
) -> None:
    harness = cluster_command(other.layout.home, "up")
    until(lambda: "kube-apiserver" in other.running(), "a cluster that is half up")
    harness.kill()
    harness.communicate()
    assert traces_of(other.layout)["processes"]

    said: list[str] = []
    assert up(other, said.append)
    assert other.is_up()
    assert "removed what an earlier run left behind" in said
    down(other)
    assert traces_of(other.layout) == nothing()
    assert cluster.handle.is_up()


def test_networks_and_cgroups_without_processes_are_cleaned_even_if_the_checkout_is_gone(
    cluster: conftest.Cluster, other: Cluster
) -> None:
    harness = cluster_command(other.layout.home, "up")
    keeper = until(lambda: keeper_of(other.layout), "the first process of a cluster")
    harness.kill()
    harness.communicate()
    os.kill(keeper.pid, signal.SIGKILL)
    until(lambda: keeper_of(other.layout) is None, "its end")
    shutil.rmtree(other.layout.home)
    left = traces_of(other.layout)
    assert left["networks"]
    assert left["cgroups"]

    assert leftovers.remove_abandoned() == [other.layout.name]
    assert traces_of(other.layout) == nothing()
    assert cluster.handle.is_up()


def test_a_cluster_whose_checkout_was_deleted_while_it_ran_is_ended(
    cluster: conftest.Cluster, other: Cluster
) -> None:
    harness = cluster_command(other.layout.home, "up")
    until(lambda: "etcd" in other.running(), "its first program")
    harness.kill()
    harness.communicate()
    shutil.rmtree(other.layout.home, ignore_errors=True)

    assert leftovers.remove_abandoned() == [other.layout.name]
    shutil.rmtree(other.layout.home, ignore_errors=True)
    assert traces_of(other.layout) == nothing()
    assert cluster.handle.is_up()


def test_strangers_processes_networks_and_cgroups_are_left_alone(tmp_path: Path) -> None:
    """They only look like ours: no cluster has this name, network or cgroup."""
    stranger = subprocess.Popen(["sleep", "1000"])
    network = "plimsoll-of-a-stranger"
    folder = next(iter(cgroups.hierarchies())) / "plimsoll-test-stranger"
    subprocess.run(["ip", "netns", "add", network], check=True)
    folder.mkdir()
    try:
        leftovers.remove_abandoned()
        down(Cluster(Layout(tmp_path / "never-up"), os.environ))
        assert stranger.poll() is None
        assert (NETNS_ROOT / network).exists()
        assert folder.exists()
    finally:
        stranger.kill()
        stranger.wait()
        folder.rmdir()
        subprocess.run(["ip", "netns", "del", network], check=True)


# A machine within the machine: no process, mount or run folder of another cluster is seen. The
# copied mounts of others' networks go first: whoever deletes a network takes them away here, too.
_ALONE = """
set -e
machine=$1
while mountpoint --quiet /run/netns; do umount --lazy /run/netns; done
for folder in /run /var/lib /var/log; do mount -t tmpfs none $folder; done
look() {
  findmnt --raw --noheadings --output TARGET | sort
  find /run /var/lib /var/log | sort
  # Into a file, and not through a pipe: a pipe's other end, forked and not yet run, is one
  # more process, "[bash]".
  ps -e --no-headers -o args > "$machine/processes"
  grep -v -e look -e "ps -e" "$machine/processes" || true
}
look > "$1/before"
"$2" "$3" up
"$2" "$3" enter true
look > "$1/while"
"$2" "$3" down
look > "$1/after"
"""


def test_down_restores_the_machine_as_it_was(tmp_path: Path) -> None:
    home = Layout(tmp_path / "home")
    alone = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    command = ["bash", "-c", _ALONE, "machine", str(tmp_path)]
    environment = {**os.environ, "PLIMSOLL_CLUSTER_HOME": str(home.home)}
    done = subprocess.run(
        [*alone, *command, sys.executable, str(CLUSTER_COMMAND)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    before, during, after = (
        (tmp_path / name).read_text().splitlines() for name in ("before", "while", "after")
    )
    assert any("kubelet" in line for line in set(during) - set(before))
    assert after == before
    assert traces_of(home) == nothing()
