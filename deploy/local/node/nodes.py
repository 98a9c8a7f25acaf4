"""The nodes of a cluster: one that has the machine, or two with a processor core each.

All nodes share the machine's kernel and the cluster's network, process and mount namespaces. Each
node has its own copy of what kubelet and containerd do not share: folders, sockets, ports, an
address, a range of pods' addresses, a bridge and a cgroup.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from deploy.local.layout import KUBELET_PORT, Layout
from deploy.local.trouble import Trouble

MOST_NODES: Final = 2
PROCESSORS: Final = Path("/sys/devices/system/cpu")
_PORTS_APART: Final = 100
_CORES: Final = "cores"
"""File in the cluster's home: the nodes' cores, separated by blanks. One node has no such file."""


@dataclass(frozen=True, slots=True)
class Node:
    """One node's names and numbers, and its paths.

    number: from 1. core: its own processor core; None if it has the whole machine.
    """

    layout: Layout
    number: int
    core: int | None

    @property
    def name(self) -> str:
        """The node's name in Kubernetes."""
        return f"node-{self.number}"

    @property
    def address(self) -> str:
        """The address of its kubelet."""
        return f"10.89.0.{self.number}"

    @property
    def pod_range(self) -> str:
        """Addresses of its pods."""
        return f"10.88.{self.number - 1}.0/24"

    @property
    def bridge(self) -> str:
        """The network link of its pods."""
        return f"cni{self.number - 1}"

    @property
    def kubelet_port(self) -> int:
        """The port of kubelet's API."""
        return KUBELET_PORT + _PORTS_APART * (self.number - 1)

    @property
    def health_port(self) -> int:
        """The port of kubelet's own health."""
        return self.kubelet_port - 2

    @property
    def cgroup(self) -> str:
        """Parent of its pods' cgroups. Kubelet ends pods below it that it does not know."""
        return self.layout.name if self.core is None else f"{self.layout.name}/{self.name}"

    @property
    def home(self) -> Path:
        """The state folder as the caller sees it: the first node's is the cluster's."""
        return self._own(self.layout.home)

    @property
    def inner_home(self) -> Path:
        """The state folder as the cluster's own processes see it."""
        return self._own(self.layout.inner_home)

    @property
    def run(self) -> Path:
        """Short paths for sockets."""
        return self._own(self.layout.run)

    @property
    def containerd_socket(self) -> Path:
        """The socket for `ctr` and kubelet."""
        return self.run / self.layout.containerd_socket.name

    def program(self, name: str) -> str:
        """Name a program that runs once per node, like ``kubelet-2``; the first has no number."""
        return name if self.number == 1 else f"{name}-{self.number}"

    def _own(self, folder: Path) -> Path:
        return folder if self.number == 1 else folder / self.name


def nodes_of(layout: Layout) -> list[Node]:
    """Return the nodes that a cluster has been, or is being, brought up with."""
    try:
        cores = (layout.home / _CORES).read_text().split()
    except FileNotFoundError:
        cores = []
    if len(cores) < MOST_NODES:
        return [Node(layout, 1, None)]
    return [Node(layout, number, int(core)) for number, core in enumerate(cores, start=1)]


def note_cores(layout: Layout, cores: Sequence[int]) -> None:
    """Record the nodes' cores, before anything asks for the nodes; none for one node."""
    if cores:
        (layout.home / _CORES).write_text(" ".join(map(str, cores)) + "\n")


def cores_for(count: int, usable: Sequence[int]) -> list[int]:
    """Give each of two nodes a core; none to a single node, which has them all.

    Raises:
        Trouble: if there are too few.

    """
    if count == 1:
        return []
    if len(usable) < count:
        raise Trouble(
            f"{count} nodes take {count} processor cores, one each, and here is {len(usable)}; "
            "bring up one node: cluster.py up"
        )
    return list(usable[:count])


def threads_apart(cores: Collection[int], root: Path = PROCESSORS) -> list[int]:
    """Order the kernel's processors: one thread of each core first, then the others."""

    def rank(core: int) -> tuple[int, int]:
        threads = _listed(root / f"cpu{core}" / "topology" / "thread_siblings_list") or [core]
        return threads.index(core), core

    return sorted(cores, key=rank)


def cores_beside(core: int, root: Path = PROCESSORS) -> list[int]:
    """List the machine's cores except this one."""
    return [each for each in _listed(root / "online") if each != core]


def _listed(path: Path) -> list[int]:
    """Read the kernel's lists of numbers, such as ``0-3,8``; empty if there is no file."""
    try:
        text = path.read_text().strip()
    except FileNotFoundError:
        return []
    ends = [part.partition("-") for part in text.split(",")]
    return [each for low, _, high in ends for each in range(int(low), int(high or low) + 1)]
