"""Brings the cluster up, takes it down, and reports its state."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from deploy.local import leftovers
from deploy.local.binaries.kubernetes import binaries_folder, build, pause_image
from deploy.local.images.on_node import load_image
from deploy.local.layout import MARK, PORTS, Layout
from deploy.local.machine import cgroups, packages, prerequisites
from deploy.local.machine.namespaces import (
    Process,
    inside,
    keeper_of,
    make_network,
    start_inside,
    start_keeper,
    wait_for,
)
from deploy.local.node import programs
from deploy.local.node.certificates import make_certificates
from deploy.local.node.configuration import NodeSize, write_settings
from deploy.local.node.nodes import cores_for, nodes_of, note_cores, threads_apart
from deploy.local.shell import try_run
from deploy.local.trouble import Trouble

Say = Callable[[str], None]

GO_SETTINGS: Final = "PLIMSOLL_CLUSTER_GO"
"""Variable with settings of Go's runtime for the cluster's programs, separated by blanks."""
STARTING_PAUSE_S: Final = 0.5
"""Each look at a starting program runs kubectl, which takes processor time from that program."""
STARTED_WITHIN_S: Final = 300.0
"""A safety net: beside other suites, an API server takes a minute to start, and longer on a slower
machine. A program that has ended is not waited for."""
ANSWER_WITHIN_S: Final = 60.0
"""For a cluster that is up. One that does not answer is removed, and a busy one answers late."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster of this machine and the environment to use it.

    environment: the caller's; names the cache.
    """

    layout: Layout
    environment: Mapping[str, str]

    @property
    def binaries(self) -> Path:
        """Folder of Kubernetes' programs."""
        return binaries_folder(self.environment)

    @property
    def go_settings(self) -> dict[str, str]:
        """Settings for the programs' Go runtime.

        Raises:
            Trouble: if the caller's environment has invalid ones.

        """
        told = self.environment.get(GO_SETTINGS, "")
        pairs = [word.partition("=") for word in told.split()]
        if not all(name and value for name, _, value in pairs):
            raise Trouble(f"{GO_SETTINGS}={told!r} is no list such as 'GOGC=400 GOMAXPROCS=1'")
        return {name: value for name, _, value in pairs}

    def enter(self, argv: Sequence[str]) -> list[str]:
        """Make the command line that runs another one in the cluster's network."""
        return ["nsenter", f"--net={self.layout.netns}", "--", *argv]

    def kubectl(self, *words: str) -> list[str]:
        """Make the command line of kubectl as the cluster's administrator."""
        kubectl = str(self.binaries / "kubectl")
        return self.enter([kubectl, f"--kubeconfig={self.layout.kubeconfig}", *words])

    def running(self) -> dict[str, int]:
        """Process id of each running program."""
        keeper = keeper_of(self.layout)
        found = {} if keeper is None else {Path(p.argv[0]).name: p.pid for p in inside(keeper)}
        wanted = programs.names(self.layout, self.binaries)
        return {name: found[name] for name in wanted if name in found}

    def missing_programs(self) -> list[str]:
        """Programs that should run and do not."""
        running = self.running()
        return [n for n in programs.names(self.layout, self.binaries) if n not in running]

    def is_up(self) -> bool:
        """Whether it was brought up, all its programs run, and the API answers."""
        if not self.layout.up_stamp.exists() or self.missing_programs():
            return False
        ready = self.kubectl("get", "--raw", "/readyz")
        return try_run(ready, timeout_s=ANSWER_WITHIN_S) == "ok"


def up(cluster: Cluster, say: Say, *, max_pods: int = 110, nodes: int | None = None) -> bool:
    """Bring the cluster up; return False if it was up.

    nodes: how many; None accepts a running cluster as it is, else brings up one node.

    Raises:
        Trouble: if something is missing or does not start; everything started is ended. Or if
            the cluster is up with another number of nodes.

    """
    layout = cluster.layout
    prerequisites.require_machine(prerequisites.this_machine())
    cores = cores_for(nodes or 1, threads_apart(os.sched_getaffinity(0)))
    with leftovers.machine_lock():
        if _is_up_with(cluster, nodes):
            return False
        packages.require(packages.CLUSTER_PACKAGES, say)
    build(cluster.environment, say)
    with leftovers.machine_lock():
        if _is_up_with(cluster, nodes):
            return False
        if leftovers.remove_own(layout):
            say("removed what an earlier run left behind")
        for name in leftovers.remove_abandoned():
            say(f"removed what {name} left behind")
        prerequisites.require_space(prerequisites.up_places(layout.home))
        try:
            _start(cluster, _node_size(max_pods, nodes or 1), cores)
        except BaseException:
            _end_keeping_logs(layout)
            raise
    return True


def _is_up_with(cluster: Cluster, nodes: int | None) -> bool:
    if not cluster.is_up():
        return False
    if nodes is not None and nodes != (found := len(nodes_of(cluster.layout))):
        raise Trouble(f"the cluster is up, nodes: {found}; take it down first: cluster.py down")
    return True


def _node_size(max_pods: int, nodes: int) -> NodeSize:
    return NodeSize(
        machine_bytes=os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        limit_bytes=cgroups.memory_limit_bytes(),
        max_pods=max_pods,
        nodes=nodes,
    )


def _start(cluster: Cluster, size: NodeSize, cores: Sequence[int]) -> None:
    layout, binaries = cluster.layout, cluster.binaries
    settings = cluster.go_settings
    covers = _make_folders(layout, cores)
    nodes = nodes_of(layout)
    write_settings(layout, size, make_certificates(layout.certificates, nodes))
    for name in dict.fromkeys([layout.name, *(node.cgroup for node in nodes)]):
        cgroups.make(name)
    make_network(layout)
    require_ports(cluster)
    keeper = start_keeper(layout, covers)
    for name, argv in programs.control_plane(layout, binaries).items():
        start_inside(layout, keeper, name, argv, settings)
    _await(cluster, "kube-apiserver", cluster.kubectl("get", "--raw", "/readyz"))
    for name, argv in programs.node(layout, binaries).items():
        if name == "kubelet":
            _load_pause(cluster)
        start_inside(layout, keeper, name, argv, settings)
    for node in nodes:
        ready = ["wait", "--for=condition=Ready", f"node/{node.name}", "--timeout=1s"]
        _await(cluster, node.program("kubelet"), cluster.kubectl(*ready))
    account = cluster.kubectl("get", "serviceaccount", "default")
    _await(cluster, "kube-controller-manager", account)
    layout.up_stamp.touch()


def _make_folders(layout: Layout, cores: Sequence[int]) -> list[tuple[Path, Path]]:
    layout.home.mkdir(parents=True, mode=0o755, exist_ok=True)  # an empty folder may be named
    (layout.home / MARK).touch()
    note_cores(layout, cores)
    layout.logs.mkdir()
    layout.inner_home.mkdir(parents=True)
    (layout.run / "home-path").write_text(f"{layout.home}\n")
    leftovers.make_fixed_folders()
    covers = [(layout.home / own, fixed) for own, fixed in leftovers.FIXED_FOLDERS.items()]
    for own, _ in covers:
        own.mkdir()
    return covers


def require_ports(cluster: Cluster) -> None:
    """Refuse to start if another program already listens in the cluster's network.

    Raises:
        Trouble: naming the ports.

    """
    tables = [try_run(cluster.enter(["cat", f"/proc/net/{t}"])) or "" for t in ("tcp", "tcp6")]
    taken = prerequisites.listening_ports(tables)
    where = f"the network namespace {cluster.layout.name}"
    kubelets = [node.kubelet_port for node in nodes_of(cluster.layout)]
    prerequisites.require_free_ports({*PORTS, *kubelets}, taken, where)


def _load_pause(cluster: Cluster) -> None:
    for node in nodes_of(cluster.layout):
        asked = ["ctr", "--address", str(node.containerd_socket), "version"]
        _await(cluster, node.program("containerd"), asked)
    load_image(cluster.layout, pause_image(cluster.environment))


def _await(cluster: Cluster, program: str, probe: Sequence[str]) -> None:
    def answers() -> bool | None:
        """Return None while it starts, and False if it has ended without an answer."""
        if try_run(probe, timeout_s=15.0) is not None:
            return True
        return False if _has_ended(cluster, program) else None

    answered = wait_for(answers, timeout_s=STARTED_WITHIN_S, pause_s=STARTING_PAUSE_S)
    if not answered:
        log = cluster.layout.logs / f"{program}.log"
        lines = log.read_text(errors="replace").splitlines() if log.exists() else []
        how = f"is not up after {STARTED_WITHIN_S:.0f} s" if answered is None else "has ended"
        raise Trouble(f"{program} {how}; {log} ends with: {' / '.join(lines[-2:])[-600:]}")


def _has_ended(cluster: Cluster, program: str) -> bool:
    keeper = keeper_of(cluster.layout)
    if keeper is None:
        return True
    # Until its own exec, it is a program such as setsid, whose arguments name it. During an exec,
    # the kernel shows no arguments.
    alive = [process.argv for process in inside(keeper)]
    names = {Path(word).name for argv in alive for word in argv}
    return ("",) not in alive and program not in names


def _end_keeping_logs(layout: Layout) -> None:
    """After a failed start, keep only the home folder, for its logs; the next ``up`` clears it."""
    trace = leftovers.traces().get(layout.name)
    if trace is not None:
        leftovers.remove(trace)


def down(cluster: Cluster) -> bool:
    """Remove the cluster with everything it left anywhere; return whether there was one.

    Raises:
        Trouble: if the caller may not remove it, or something does not end.

    """
    prerequisites.require_machine(prerequisites.this_machine())
    with leftovers.machine_lock():
        found = leftovers.remove_own(cluster.layout)
        leftovers.remove_abandoned()
    return found


def stop_program(cluster: Cluster, name: str) -> None:
    """Kill one program of a running cluster, to see the effect of its absence.

    Raises:
        Trouble: if it does not run.

    """
    pid = cluster.running().get(name)
    if pid is None:
        raise Trouble(f"{name} does not run; `cluster.py status` lists what does")
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: name not in cluster.running() or None, timeout_s=10.0)


def start_program(cluster: Cluster, name: str) -> None:
    """Start one program of a running cluster again.

    Raises:
        Trouble: if it runs, is not known, or the cluster is not up.

    """
    layout, keeper = cluster.layout, _require_keeper(cluster.layout)
    commands = programs.control_plane(layout, cluster.binaries)
    commands |= programs.node(layout, cluster.binaries)
    if name not in commands:
        raise Trouble(f"{name} is no program of the cluster; it has {', '.join(commands)}")
    if name in cluster.running():
        raise Trouble(f"{name} runs already")
    start_inside(layout, keeper, name, commands[name], cluster.go_settings)


def _require_keeper(layout: Layout) -> Process:
    keeper = keeper_of(layout)
    if keeper is None:
        raise Trouble("the cluster is not up; bring it up: cluster.py up")
    return keeper


def require_up(cluster: Cluster) -> None:
    """Refuse a command that needs a running cluster.

    Raises:
        Trouble: saying how to bring it up.

    """
    _require_keeper(cluster.layout)


def status(cluster: Cluster) -> str:
    """Report the cluster's state as JSON: up, paths, nodes and programs."""
    layout = cluster.layout
    return json.dumps(
        {
            "up": cluster.is_up(),
            "kubernetes": cluster.binaries.parent.name.removeprefix("kubernetes-"),
            "home": str(layout.home),
            "kubeconfig": str(layout.kubeconfig),
            "network_namespace": str(layout.netns),
            "cgroup": layout.name,
            "containerd_socket": str(layout.containerd_socket),
            "nodes": [node.name for node in nodes_of(layout)],
            "programs": cluster.running(),
        },
        indent=1,
    )
