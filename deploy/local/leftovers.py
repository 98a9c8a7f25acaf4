"""Removes a cluster, whole or what is left of it after a kill."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from deploy.local.layout import MARK, NAME, NETNS_ROOT, RUN_ROOT, Layout, is_cluster_name
from deploy.local.machine import cgroups
from deploy.local.machine.namespaces import (
    Process,
    end_entered,
    end_keeper,
    in_network,
    keepers,
    remove_network,
)
from deploy.local.shell import try_run

FIXED_FOLDERS: Final = {
    "shims": Path("/run/containerd"),
    "cni": Path("/var/lib/cni"),
    "kubelet-fixed": Path("/var/lib/kubelet"),
    "container-logs": Path("/var/log/containers"),
}
"""Paths built into containerd, CNI and kubelet, by the folder in our home that covers them inside.
They must exist outside to be covered, but nothing is written there."""

_MADE: Final = RUN_ROOT / "made"
"""Lists those of `FIXED_FOLDERS` that did not exist before us."""


@contextlib.contextmanager
def machine_lock() -> Iterator[None]:
    """Hold off every other ``up`` and ``down`` on this machine.

    The lock is on /run itself: a lock file would be left over, and could not be removed safely.
    """
    descriptor = os.open("/run", os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@dataclass(frozen=True, slots=True)
class Trace:
    """A trace of a cluster that is or was on this machine.

    home: None if it is no longer recorded.
    keeper: None if its processes have ended.
    """

    name: str
    home: Path | None
    keeper: Process | None

    @property
    def run(self) -> Path:
        """Where its sockets are."""
        return RUN_ROOT / self.name.removeprefix(NAME)

    @property
    def netns(self) -> Path:
        """Where its network namespace is mounted."""
        return NETNS_ROOT / self.name

    def is_abandoned(self) -> bool:
        """Whether nobody can use it any more: its folder is gone, or its processes have ended."""
        if self.home is None or not (self.home / MARK).exists():
            return True
        return self.keeper is None and not in_network(self.netns)


def traces() -> dict[str, Trace]:
    """The traces of every cluster, by name: its processes, its network or its run folder.

    A cgroup alone is not enough: cgroups are visible from containers on this machine, too, but the
    processes in them are not.
    """
    running = {Layout(home).name: (home, keeper) for home, keeper in keepers().items()}
    run_names = {NAME + path.name for path in _folders(RUN_ROOT)}
    network_names = {path.name for path in NETNS_ROOT.iterdir()} if NETNS_ROOT.exists() else set()
    found = {}
    for name in filter(is_cluster_name, running.keys() | run_names | network_names):
        home, keeper = running.get(name, (_recorded_home(name), None))
        found[name] = Trace(name, home, keeper)
    return found


def _folders(root: Path) -> list[Path]:
    return [path for path in root.iterdir() if path.is_dir()] if root.is_dir() else []


def _recorded_home(name: str) -> Path | None:
    try:
        return Path((RUN_ROOT / name.removeprefix(NAME) / "home-path").read_text().strip())
    except OSError:
        return None


def remove_abandoned() -> list[str]:
    """Remove what unusable clusters left behind; return their names.

    A running cluster is left alone, and so is the home folder of a stopped one.
    """
    abandoned = [trace for trace in traces().values() if trace.is_abandoned()]
    for trace in abandoned:
        remove(trace)
    return [trace.name for trace in abandoned]


def remove_own(layout: Layout) -> bool:
    """Remove one cluster with its home folder; return whether there was anything."""
    trace = traces().get(layout.name)
    found = trace is not None or cgroups.exists(layout.name)
    layout.up_stamp.unlink(missing_ok=True)
    remove(trace or Trace(layout.name, layout.home, None))
    was_home = (layout.home / MARK).exists()
    if was_home:
        _unmount_below(layout.home)
        # The mark goes last: after an interruption the folder is still known to be ours.
        for path in layout.home.iterdir():
            if path.name != MARK:
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        shutil.rmtree(layout.home)
    return found or was_home


def remove(trace: Trace) -> None:
    """End a cluster's processes, then remove its network, cgroups and sockets."""
    if trace.keeper is not None and trace.home is not None:
        end_keeper(trace.keeper, trace.home)
    end_entered(trace.netns)
    remove_network(trace.netns)
    cgroups.remove(trace.name)
    if trace.run.exists():
        _unmount_below(trace.run)
        shutil.rmtree(trace.run)
    _remove_fixed_folders()


def _unmount_below(folder: Path) -> None:
    """Deleting must never reach through a mount into someone else's files."""
    with Path("/proc/self/mountinfo").open() as lines:
        points = [line.split()[4] for line in lines]
    for point in sorted(points, reverse=True):
        if point.startswith(f"{folder}/"):
            try_run(["umount", "-l", point])


def make_fixed_folders() -> None:
    """Create the folders that must exist to be covered, and note them, to be removed at the end."""
    with _MADE.open("a") as record:
        for path in (NETNS_ROOT, *FIXED_FOLDERS.values()):
            if not path.exists():
                record.write(f"{path}\n")
                path.mkdir(parents=True)


def _remove_fixed_folders() -> None:
    # If another cluster covers a folder, removing it would take the cover off.
    if keepers() or not RUN_ROOT.exists() or _folders(RUN_ROOT):
        return
    for line in _MADE.read_text().splitlines() if _MADE.exists() else []:
        _remove_if_empty(Path(line))
    shutil.rmtree(RUN_ROOT)


def _remove_if_empty(folder: Path) -> None:
    if folder.is_dir() and not any(folder.iterdir()):
        # `ip netns add` mounts its folder on itself.
        try_run(["umount", folder])
        with contextlib.suppress(OSError):
            folder.rmdir()
