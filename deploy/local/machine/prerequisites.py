"""The needs of the local cluster, and one clear sentence for each thing that the machine lacks."""

from __future__ import annotations

import os
import platform
import re
import shutil
import tempfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from deploy.local.layout import cache_root
from deploy.local.machine import cgroups
from deploy.local.shell import run
from deploy.local.trouble import Trouble

GIB: Final = 1 << 30
BUILD_BYTES: Final = 6 * GIB
"""Go's build cache 2.8 GB, its module cache 1.5 GB, the programs 0.5 GB, twice while replaced."""
UP_BYTES: Final = 2 * GIB
"""Unpacked images and logs."""
GO_NEEDED: Final = (1, 25)
ELSEWHERE: Final = "name a cluster of yours instead: make demo CONTEXT=kind-dev"
DISK_FULL: Final = "the disk is full; free some space (Go's caches: `go clean -cache -modcache`)"


@dataclass(frozen=True, slots=True)
class Machine:
    """Properties that decide whether a cluster can run here at all."""

    system: str
    architecture: str
    is_root: bool
    has_memory_cgroup: bool


def this_machine() -> Machine:
    """The machine as it is now."""
    is_linux = platform.system() == "Linux"
    return Machine(
        system=platform.system(),
        architecture=platform.machine(),
        is_root=os.geteuid() == 0,
        has_memory_cgroup=is_linux and cgroups.CGROUPS.is_dir() and cgroups.has_memory(),
    )


def require_machine(machine: Machine) -> None:
    """Refuse a machine that cannot run the cluster.

    Raises:
        Trouble: for the first missing thing.

    """
    require_system(machine)
    if not machine.is_root:
        raise Trouble(
            "root is needed, for network namespaces, mounts and cgroups; run it with sudo, or "
            + ELSEWHERE
        )
    if not machine.has_memory_cgroup:
        raise Trouble(
            "no memory cgroup below /sys/fs/cgroup, so nothing could be OOM-killed; boot with "
            "cgroup_enable=memory, or in a container run it privileged"
        )


def require_system(machine: Machine) -> None:
    """Refuse a system that is not Linux on a usual processor.

    Raises:
        Trouble: naming what it is.

    """
    if machine.system != "Linux":
        raise Trouble(f"a node needs Linux, this is {machine.system}; {ELSEWHERE}")
    if machine.architecture not in {"x86_64", "aarch64"}:
        raise Trouble(f"a processor of type {machine.architecture} is untested; {ELSEWHERE}")


def go_version() -> str | None:
    """The version of the ``go`` on PATH, such as ``go1.25.3``; None if there is none."""
    if shutil.which("go") is None:
        return None
    # Without this, an old Go downloads a new one only to answer how old it is.
    environment = {**os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": ""}
    # Not in a folder with a go.mod: it requires a version, and an older Go would refuse.
    asked = ["go", "env", "GOVERSION"]
    return run(asked, doing="asking Go", cwd=Path("/"), environment=environment).strip()


def require_go(version: str | None) -> None:
    """Refuse to build without Go or with an old one.

    Raises:
        Trouble: with the version found and the version needed.

    """
    needed = ".".join(map(str, GO_NEEDED))
    how = "get it from https://go.dev/dl and put its bin folder on PATH (sudo may reset PATH)"
    if version is None:
        raise Trouble(f"no Go on PATH; Kubernetes is built with Go {needed} or newer; {how}")
    found = re.match(r"(?:go|devel go)(\d+)\.(\d+)", version)
    if found is None or (int(found[1]), int(found[2])) < GO_NEEDED:
        raise Trouble(f"{version} is too old; Kubernetes is built with Go {needed}; {how}")


@dataclass(frozen=True, slots=True)
class Place:
    """Disk space that something needs, and that is free."""

    what: str
    path: Path
    needed_bytes: int
    free_bytes: int


def build_places(environment: Mapping[str, str]) -> list[Place]:
    """Where a build writes."""
    cache = cache_root(environment)
    return [place("building Kubernetes", cache, BUILD_BYTES)]


def up_places(home: Path) -> list[Place]:
    """Where a cluster writes."""
    return [place("the cluster", home, UP_BYTES)]


def place(what: str, path: Path, needed_bytes: int) -> Place:
    """Measure a place that may not exist yet."""
    existing = next(folder for folder in (path, *path.parents) if folder.exists())
    return Place(what, path, needed_bytes, shutil.disk_usage(existing).free)


def require_space(places: Collection[Place]) -> None:
    """Refuse work that would fill the disk.

    Raises:
        Trouble: naming the folder, what it needs and what is free.

    """
    for place in places:
        if place.free_bytes < place.needed_bytes:
            raise Trouble(
                f"{place.what} needs {place.needed_bytes / GIB:.1f} GiB in {place.path}, "
                f"{place.free_bytes / GIB:.1f} GiB are free; free some space, or set "
                "XDG_CACHE_HOME (cache) or PLIMSOLL_CLUSTER_HOME (state) to a larger disk"
            )


def require_writable(folder: Path) -> None:
    """Make a folder of the cache, and try to write in it.

    Raises:
        Trouble: if it cannot be made or written.

    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):  # clusters may come up side by side in one process
            pass
    except OSError as error:
        raise Trouble(
            f"the cache folder {folder} cannot be written ({error.strerror}); "
            "set XDG_CACHE_HOME to one that can"
        ) from None


def listening_ports(tables: Collection[str]) -> set[int]:
    """Ports on which a program listens, from the text of /proc/net/tcp and tcp6."""
    ports = set()
    for table in tables:
        for line in table.splitlines()[1:]:
            fields = line.split()
            if len(fields) > 3 and fields[3] == "0A":
                ports.add(int(fields[1].rpartition(":")[2], 16))
    return ports


def require_free_ports(needed: Collection[int], taken: Collection[int], where: str) -> None:
    """Refuse to start servers whose ports are in use.

    Raises:
        Trouble: naming the ports.

    """
    if both := sorted(set(needed) & set(taken)):
        raise Trouble(
            f"port {', '.join(map(str, both))} in {where} is taken; "
            "`ss -ltnp` there says by what; end it"
        )
