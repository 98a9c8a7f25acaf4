"""Which cgroups belong to which pod. Reads folder names only.

Names, as kubelet and the runtimes make them:

    cgroupfs  kubepods/burstable/pod<uid>/<id>
    systemd   kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod<uid>.slice/
              cri-containerd-<id>.scope, or docker-, or crio-

A Guaranteed pod has no QoS folder above it. systemd's names have underscores for a UID's dashes.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Final

from plimsoll_operator.agent.cgroup_memory import (
    CgroupFiles,
    glance_v1,
    glance_v2,
    read_v1,
    read_v2,
)

SEARCH_DEPTH: Final = 4
"""How far below the root kubelet's own cgroup may lie (``--cgroup-root``, kind, k3d)."""

_KUBEPODS = re.compile(r"^(?:.+-)?kubepods(?:\.slice)?$")
_QOS = re.compile(r"^(?:.+-)?(?:burstable|besteffort)(?:\.slice)?$")
_POD = re.compile(r"^(?:.+-)?pod([0-9a-f]{32}|[0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12})"
                  r"(?:\.slice)?$")  # fmt: skip
_CONTAINER = re.compile(
    r"^(?:(?:cri-containerd|docker|crio|libpod)-)?([0-9a-f]{12,64})(?:\.scope)?$"
)


class CgroupError(Exception):
    """No memory cgroups can be read here; the message says what to do."""


class Version(IntEnum):
    """The version of the hierarchy that holds the memory controller."""

    V1 = 1
    V2 = 2


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """The folders where the controllers are mounted. cpu: None where CPU time is not counted."""

    version: Version
    memory: Path
    cpu: Path | None

    def files(self, memory: str) -> CgroupFiles:
        """The folders of the cgroup whose memory folder is ``memory``."""
        if self.cpu is None or self.cpu == self.memory:
            return CgroupFiles(memory, memory if self.cpu else None)
        return CgroupFiles(memory, str(self.cpu) + memory.removeprefix(str(self.memory)))


@dataclass(frozen=True, slots=True)
class PodCgroup:
    """One pod's folder and its containers' (the pause container is one of them), by id."""

    uid: str
    files: CgroupFiles
    containers: dict[str, CgroupFiles]


def find_hierarchy(root: Path) -> Hierarchy:
    """The hierarchy under ``root``, usually ``/sys/fs/cgroup``.

    Raises:
        CgroupError: if neither version's memory controller is mounted there.

    """
    memory = root / "memory"
    if (memory / "memory.usage_in_bytes").exists() or (memory / "memory.stat").exists():
        cpu = next((p for n in ("cpuacct", "cpu,cpuacct") if (p := root / n).is_dir()), None)
        return Hierarchy(Version.V1, memory, cpu)
    controllers = root / "cgroup.controllers"
    if controllers.exists() and "memory" in controllers.read_text().split():
        return Hierarchy(Version.V2, root, root)
    raise CgroupError(
        f"no memory cgroups under {root}; mount the node's /sys/fs/cgroup there and name it with"
        " --cgroup-root"
    )


def find_kubepods(hierarchy: Hierarchy) -> tuple[Path, ...]:
    """Kubelet's own cgroups; empty if kubelet has made none (yet)."""
    return tuple(_kubepods_below(str(hierarchy.memory), SEARCH_DEPTH))


def scan(hierarchy: Hierarchy, kubepods: tuple[Path, ...]) -> list[PodCgroup]:
    """All pods there now. Pods that go away meanwhile are left out.

    Raises:
        OSError: if a kubepods folder itself cannot be read.
    """
    return [pod for root in kubepods for pod in _pods_in(str(root), hierarchy)]


def pods_used_bytes(hierarchy: Hierarchy, kubepods: tuple[Path, ...]) -> int:
    """Return what all pods use, less the page cache that nobody reads.

    Raises:
        OSError: if a kubepods folder cannot be read.
    """
    v1 = hierarchy.version is Version.V1
    total_bytes = 0
    for folder in kubepods:
        files = CgroupFiles(str(folder), None)
        glance = (glance_v1 if v1 else glance_v2)(files)
        reading = (read_v1 if v1 else read_v2)(files, glance)
        total_bytes += reading.usage_bytes - reading.inactive_file_bytes
    return max(0, total_bytes)


def pod_uid(folder: str) -> str | None:
    """The UID in a pod's folder name, with dashes; None if it is not a pod's."""
    match = _POD.match(folder)
    return match[1].replace("_", "-") if match else None


def container_id(folder: str) -> str | None:
    """The id in a container's folder name; None if it is not a container's."""
    match = _CONTAINER.match(folder)
    return match[1] if match else None


def _pods_in(folder: str, hierarchy: Hierarchy) -> Iterator[PodCgroup]:
    for name, path in _folders(folder):
        with contextlib.suppress(FileNotFoundError):
            if (uid := pod_uid(name)) is not None:
                containers = {
                    inner_id: hierarchy.files(inner)
                    for inner_name, inner in _folders(path)
                    if (inner_id := container_id(inner_name)) is not None
                }
                yield PodCgroup(uid, hierarchy.files(path), containers)
            elif _QOS.match(name):
                yield from _pods_in(path, hierarchy)


def _kubepods_below(folder: str, depth: int) -> Iterator[Path]:
    try:
        children = list(_folders(folder))
    except OSError:
        return
    for name, path in children:
        if _KUBEPODS.match(name):
            yield Path(path)
        elif depth > 1:
            yield from _kubepods_below(path, depth - 1)


def _folders(folder: str) -> Iterator[tuple[str, str]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield entry.name, entry.path
