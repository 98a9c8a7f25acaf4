"""Pods for tests that are real cgroups with real processes in them. Needs root."""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from plimsoll_operator.agent.pod_cgroups import Hierarchy, Version
from plimsoll_operator.agent.sampler import Sampler
from plimsoll_operator.attempts.peaks import PeakReport
from plimsoll_predictor.core.units import MIB
from tests.builders.agent.cgroup_trees import CONTAINER, UID
from tests.rigs.node.enforced_limits import pods_there


def _own(controller: str) -> Path:
    """This process's own cgroup folder in version 1's hierarchy of ``controller``."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controller in controllers.split(","):
            mount = next(
                p for n in (controllers, controller) if (p := Path("/sys/fs/cgroup") / n).is_dir()
            )
            return mount / path.lstrip("/")
    raise AssertionError(f"no {controller} cgroup of version 1 in /proc/self/cgroup")


@dataclass
class RealPod:
    """A real pod-like cgroup, named as kubelet names it, with one container in it."""

    hierarchy: Hierarchy
    pod: str
    children: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def container(self) -> str:
        return f"{self.pod}/{CONTAINER}"

    def limit(self, size_bytes: int) -> RealPod:
        """Limit pod and container alike, as kubelet does for a pod of one container."""
        for folder in (self.pod, self.container):
            name = "memory.limit_in_bytes" if self._v1 else "memory.max"
            (Path(folder) / name).write_text(str(size_bytes))
        return self

    def start(self, code: str) -> subprocess.Popen[bytes]:
        """Run Python code in the container's cgroups, for real."""
        files = self.hierarchy.files(self.container)
        joins = "".join(
            f"echo $$ > {shlex.quote(folder)}/cgroup.procs; "
            for folder in dict.fromkeys((files.memory, files.cpu))
            if folder is not None
        )
        # Its own prefix: it reads none of the virtual environment's site packages.
        command = f"{joins} exec {shlex.quote(sys.executable)} -I -S -c {shlex.quote(code)}"
        child = subprocess.Popen(
            ["/bin/sh", "-c", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.children.append(child)
        return child

    def start_nothing(self) -> subprocess.Popen[bytes]:
        """A child that ends at once, outside the pod: the followed process is already over."""
        child = subprocess.Popen(["/bin/true"])
        self.children.append(child)
        return child

    def remove_container(self) -> None:
        """Do what the runtime does as soon as a container has ended."""
        for folder in _folders(self.hierarchy, self.container):
            _remove(folder)
        self.wait_until_counted()

    def wait_until_counted(self) -> None:
        """Wait until memory.stat counts what the pod uses.

        The kernel adds its processors' counts up every 2 s. A read of memory.stat adds them up,
        too, but only after enough changes, and changes during another such read are forgotten.
        So some reads in a hundred do not count yet what was just taken or freed.
        """
        deadline = time.monotonic() + 20
        while abs(self._counted_bytes() - self._used_bytes()) > 8 * MIB:
            assert time.monotonic() < deadline, f"{self._counted_bytes()=} {self._used_bytes()=}"
            time.sleep(0.01)

    def _counted_bytes(self) -> int:
        names = ("total_rss", "total_cache") if self._v1 else ("anon", "file")
        lines = Path(self.pod, "memory.stat").read_text().splitlines()
        counted = dict(line.split() for line in lines)
        return sum(int(counted[name]) for name in names)

    def _used_bytes(self) -> int:
        name = "memory.usage_in_bytes" if self._v1 else "memory.current"
        return int(Path(self.pod, name).read_text())

    @property
    def _v1(self) -> bool:
        return self.hierarchy.version is Version.V1


class Follower:
    """Looks at a real pod as the agent does, whenever a test says so."""

    def __init__(self, pod: RealPod) -> None:
        self._pod = pod
        self._sampler = Sampler(pod.hierarchy.version, {}, time.time)
        self.reports: dict[str | None, PeakReport] = {}

    def tick(self) -> None:
        """Read every cgroup once."""
        for report in self._sampler.tick(pods_there(self._pod.hierarchy)):
            self.reports[report.container_id] = report

    def end(self) -> Mapping[str | None, PeakReport]:
        """The last report of each, after the end.

        The container's cgroup goes at once, as with a real runtime; the pod's is seen once more.
        """
        self._pod.remove_container()
        self.tick()
        return self.reports


def follow(
    pod: RealPod, child: subprocess.Popen[bytes], interval_s: float = 1.0
) -> Mapping[str | None, PeakReport]:
    """Watch a child to its end, reading every ``interval_s``; the last report of each cgroup."""
    follower = Follower(pod)
    with child:
        while True:
            follower.tick()
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(interval_s)
                return follower.end()


def follow_steps(pod: RealPod, steps: Sequence[str]) -> Mapping[str | None, PeakReport]:
    """Run pieces of code in one child, one after another, and read once after each.

    What happens between two readings is then the same however slow the machine is.
    """
    code = "".join(f"{step}\nprint('done', flush=True); input()\n" for step in steps)
    follower = Follower(pod)
    with pod.start(code) as child:
        assert child.stdout is not None
        assert child.stdin is not None
        for _ in steps:
            assert child.stdout.readline() == b"done\n"
            pod.wait_until_counted()
            follower.tick()
            child.stdin.write(b"\n")
            child.stdin.flush()
    return follower.end()


@contextlib.contextmanager
def a_real_pod(uid: str = UID) -> Iterator[RealPod]:
    """A pod's cgroup below this process's own. Needs root and a memory cgroup; fails without."""
    name = f"plimsoll-test-{uuid.uuid4().hex[:8]}"
    hierarchy, parents = _hierarchy(name)
    pod = RealPod(hierarchy, f"{hierarchy.memory}/kubepods/burstable/pod{uid}")
    try:
        for folder in _folders(hierarchy, pod.container):
            _make(folder, hierarchy)
        yield pod
    finally:
        for child in pod.children:
            with child:
                child.kill()
        for parent in parents:
            _remove_all(parent)


def _hierarchy(name: str) -> tuple[Hierarchy, list[Path]]:
    if Path("/sys/fs/cgroup/cgroup.controllers").exists():
        root = Path("/sys/fs/cgroup") / name
        return Hierarchy(Version.V2, root, root), [root]
    memory, cpu = _own("memory") / name, _own("cpuacct") / name
    return Hierarchy(Version.V1, memory, cpu), [memory, cpu]


def _folders(hierarchy: Hierarchy, cgroup: str) -> list[Path]:
    files = hierarchy.files(cgroup)
    return [Path(folder) for folder in dict.fromkeys((files.memory, files.cpu)) if folder]


def _make(folder: Path, hierarchy: Hierarchy) -> None:
    folder.mkdir(parents=True)
    if hierarchy.version is Version.V2:
        for parent in reversed([p for p in folder.parents if hierarchy.memory in (p, *p.parents)]):
            (parent / "cgroup.subtree_control").write_text("+memory")


def _remove_all(folder: Path) -> None:
    for inner in folder.iterdir():
        if inner.is_dir():
            _remove_all(inner)
    _remove(folder)


def _remove(folder: Path) -> None:
    # A process that was just killed holds its cgroup for a moment.
    busy = None
    for _ in range(1000):
        try:
            folder.rmdir()
        except FileNotFoundError:
            return
        except OSError as error:
            busy = error
            time.sleep(0.01)
        else:
            return
    raise AssertionError(f"{folder} stays busy: {busy}")


def a_cold_file(path: Path, size_bytes: int) -> Path:
    """A file with nothing in the page cache: its reader is charged for it."""
    block = os.urandom(MIB)
    with path.open("wb") as file:
        for _ in range(size_bytes // MIB):
            file.write(block)
        file.flush()
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return path
