"""The cgroup of the node's pods, in each hierarchy (v1) or in the only one (v2)."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import Final

from deploy.local.trouble import Trouble

CGROUPS: Final = Path("/sys/fs/cgroup")
CPU_PERIOD_US: Final = 20_000
"""The period in which a cgroup's CPU is counted: shorter than the default, so pauses are short."""


def hierarchies(root: Path = CGROUPS) -> list[Path]:
    """Folders in which our cgroup must be made: one per v1 hierarchy, or v2's root."""
    if is_unified(root):
        return [root]
    return sorted({path.resolve() for path in root.iterdir() if (path / "cgroup.procs").exists()})


def is_unified(root: Path = CGROUPS) -> bool:
    """Whether this is cgroup v2 alone."""
    return (root / "cgroup.controllers").exists()


def has_memory(root: Path = CGROUPS) -> bool:
    """Whether memory can be limited: without it nothing is ever OOM-killed."""
    if is_unified(root):
        return "memory" in (root / "cgroup.controllers").read_text().split()
    return (root / "memory" / "memory.limit_in_bytes").exists()


def memory_limit_bytes(root: Path = CGROUPS) -> int | None:
    """The limit of the cgroup at the root, as a container has one; None if there is none."""
    path = root / "memory.max" if is_unified(root) else root / "memory" / "memory.limit_in_bytes"
    try:
        text = path.read_text().strip()
    except OSError:
        return None
    # v1 writes "no limit" as the largest possible number of pages.
    return int(text) if text.isdigit() and int(text) < 1 << 60 else None


def make(name: str, root: Path = CGROUPS) -> None:
    """Make the cgroup. In v2 kubelet needs every controller delegated to it.

    Raises:
        Trouble: if the kernel or the container around us does not allow it.

    """
    try:
        for hierarchy in hierarchies(root):
            (hierarchy / name).mkdir(exist_ok=True)
        if is_unified(root):
            for folder in (root, root / name):
                _hand_down_controllers(folder)
    except OSError as error:
        raise Trouble(
            f"cannot make the cgroup {name} below {root}: {error.strerror}; "
            "in a container, run it privileged"
        ) from None


def _hand_down_controllers(folder: Path) -> None:
    for controller in (folder / "cgroup.controllers").read_text().split():
        # Some (rdma, misc) cannot be delegated everywhere, and kubelet does not need them.
        with contextlib.suppress(OSError):
            (folder / "cgroup.subtree_control").write_text(f"+{controller}")


def limit_cpu(name: str, cores: float, root: Path = CGROUPS) -> None:
    """Limit all processes of the cgroup to so many cores together.

    Raises:
        Trouble: if the kernel refuses it.

    """
    quota_us = round(CPU_PERIOD_US * cores)
    try:
        if is_unified(root):
            (root / name / "cpu.max").write_text(f"{quota_us} {CPU_PERIOD_US}")
        else:
            (root / "cpu" / name / "cpu.cfs_period_us").write_text(str(CPU_PERIOD_US))
            (root / "cpu" / name / "cpu.cfs_quota_us").write_text(str(quota_us))
    except OSError as error:
        raise Trouble(f"cannot limit the CPU of the cgroup {name}: {error.strerror}") from None


def exists(name: str, root: Path = CGROUPS) -> bool:
    """Whether the cgroup exists in any hierarchy."""
    return any((hierarchy / name).is_dir() for hierarchy in hierarchies(root))


def remove(name: str, root: Path = CGROUPS) -> None:
    """Remove the cgroup and all below it. Its processes must have ended.

    Raises:
        Trouble: if some are still busy after 10 s.

    """
    until_s = time.monotonic() + 10.0
    while busy := [h / name for h in hierarchies(root) if not _remove_tree(h / name)]:
        if time.monotonic() > until_s:
            raise Trouble(f"the cgroup {busy[0]} is still in use; see its cgroup.procs")
        time.sleep(0.1)


def _remove_tree(top: Path) -> bool:
    # The kernel takes a moment after the last process; the caller asks again.
    with contextlib.suppress(OSError):
        for folder, _, _ in os.walk(top, topdown=False):
            os.rmdir(folder)
    return not top.exists()
