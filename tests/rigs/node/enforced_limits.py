"""The memory limit that the kernel enforces on a pod of this machine's node."""

from __future__ import annotations

from pathlib import Path

from plimsoll_operator.agent.pod_cgroups import (
    Hierarchy,
    PodCgroup,
    Version,
    find_hierarchy,
    find_kubepods,
    scan,
)

CGROUPS = Path("/sys/fs/cgroup")


def limited_container(uid: str) -> tuple[str, Path]:
    """Return the ID and the limit's file of a pod's container; its pause container has no limit.

    Raises:
        FileNotFoundError: if there is none (yet).

    """
    hierarchy = find_hierarchy(CGROUPS)
    name = "memory.limit_in_bytes" if hierarchy.version is Version.V1 else "memory.max"
    for pod in pods_there(hierarchy):
        if pod.uid == uid:
            for container_id, files in pod.containers.items():
                path = Path(files.memory) / name
                if 0 < limit_in(path) < 2**60:
                    return container_id, path
    raise FileNotFoundError(f"no cgroup of pod {uid}")


def pods_there(hierarchy: Hierarchy) -> list[PodCgroup]:
    """Return the pods of all clusters on this machine; other suites' come and go meanwhile."""
    return [
        pod for kubepods in find_kubepods(hierarchy) for pod in _pods_below(hierarchy, kubepods)
    ]


def _pods_below(hierarchy: Hierarchy, kubepods: Path) -> list[PodCgroup]:
    """None if another suite's cluster has gone since it was found."""
    try:
        return scan(hierarchy, (kubepods,))
    except FileNotFoundError:
        return []


def limit_file(uid: str) -> Path:
    """Return the limit's file alone."""
    return limited_container(uid)[1]


def limit_in(path: Path) -> int:
    """Return a limit in bytes; 0 if there is none."""
    text = path.read_text().strip()
    return 0 if text == "max" else int(text)
