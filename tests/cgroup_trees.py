"""Cgroups for tests: recorded version 2 files in a folder, and real cgroups with real processes."""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from plimsoll_operator.agent.cgroups import Hierarchy, Version, find_kubepods, scan
from plimsoll_operator.agent.need import Peaks
from plimsoll_operator.agent.readings import Reading
from plimsoll_operator.agent.sampler import Sampler
from plimsoll_operator.peaks import PeakReport
from plimsoll_predictor.units import MIB

UID = "0a1b2c3d-0000-4000-8000-00000000abcd"
CONTAINER = "c0ffee" * 10 + "c0ff"
PAUSE = "beef" * 16

RECORDED_V2_STAT = """\
anon {anon}
file {file}
kernel 4431872
kernel_stack 147456
pagetables 1273856
sec_pagetables 0
percpu 1128
sock 0
vmalloc 0
shmem {shmem}
zswap 0
zswapped 0
file_mapped {file_mapped}
file_dirty 0
file_writeback 0
swapcached 0
anon_thp 0
file_thp 0
shmem_thp 0
inactive_anon {anon}
active_anon 8192
inactive_file {inactive_file}
active_file {active_file}
unevictable 0
slab_reclaimable {slab_reclaimable}
slab_unreclaimable 1118568
slab 2790176
workingset_refault_anon 0
workingset_refault_file 11204
workingset_activate_anon 0
workingset_activate_file 5021
workingset_restore_anon 0
workingset_restore_file 0
workingset_nodereclaim 0
pgscan 53120
pgsteal {pgsteal}
pgscan_kswapd 0
pgscan_direct 53120
pgscan_khugepaged 0
pgsteal_kswapd 0
pgsteal_direct {pgsteal}
pgsteal_khugepaged 0
pgfault 60372
pgmajfault 27
pgrefill 3044
pgactivate 6043
pgdeactivate 3044
pglazyfree 0
pglazyfreed 0
thp_fault_alloc 0
thp_collapse_alloc 0
"""
RECORDED_V2_EVENTS = "low 0\nhigh 0\nmax {max}\noom 0\noom_kill 0\noom_group_kill 0\n"
RECORDED_V2_CPU = """\
usage_usec {usage_usec}
user_usec 1200000
system_usec 34567
nr_periods 0
nr_throttled 0
throttled_usec 0
"""


def a_reading(**changed: int | float | None) -> Reading:
    """A reading of 10 MiB without cache, with the named fields changed."""
    plain: dict[str, int | float | None] = {
        "usage_bytes": 10 * MIB,
        "kernel_peak_bytes": 10 * MIB,
        "anon_bytes": 10 * MIB,
        "shmem_bytes": 0,
        "inactive_file_bytes": 0,
        "active_file_bytes": 0,
        "mapped_file_bytes": 0,
        "slab_reclaimable_bytes": 0,
        "reclaimed_bytes": 0,
        "limit_bytes": None,
        "limit_hits": 0,
        "cpu_s": 0.0,
    }
    return Reading(**(plain | changed))  # type: ignore[arg-type]


def a_report(**changed: object) -> PeakReport:
    """A report of one container that needs 100 MiB, with the named fields changed."""
    plain: dict[str, object] = {
        "pod_uid": UID,
        "container_id": CONTAINER,
        "need_peak_bytes": 100 * MIB,
        "kernel_peak_bytes": 200 * MIB,
        "working_set_peak_bytes": 90 * MIB,
        "anon_peak_bytes": 80 * MIB,
        "cpu_s": 1.5,
        "limit_bytes": 200 * MIB,
        "final": False,
        "measured_s": 1_700_000_000.0,
    }
    return PeakReport(**(plain | changed))  # type: ignore[arg-type]


def peaks_of(readings: list[Reading]) -> Peaks:
    """The maxima after these readings."""
    peaks = Peaks()
    for reading in readings:
        peaks = peaks.advance(reading)
    return peaks


@dataclass
class RecordedTree:
    """A version 2 hierarchy of recorded files under ``root``."""

    root: Path

    def __post_init__(self) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        (self.root / "cgroup.controllers").write_text("cpuset cpu io memory hugetlb pids\n")

    def write(self, cgroup: str, **changed: int | str | None) -> Path:
        """Record one cgroup. Fields are the kernel's; ``peak=None`` is a kernel before 5.19."""
        numbers: dict[str, int | str | None] = {
            "anon": 10 * MIB, "shmem": 0, "file_mapped": 0, "inactive_file": 0, "active_file": 0,
            "slab_reclaimable": 0, "pgsteal": 0, "max": 0, "usage_usec": 1_234_567,
            "current": 10 * MIB, "peak": 10 * MIB, "limit": "max",
        }  # fmt: skip
        numbers |= changed
        numbers["file"] = sum(int(numbers[n] or 0) for n in ("inactive_file", "active_file"))
        folder = self.root / cgroup
        folder.mkdir(parents=True, exist_ok=True)
        files = {
            "memory.stat": RECORDED_V2_STAT.format(**numbers),
            "memory.events": RECORDED_V2_EVENTS.format(**numbers),
            "cpu.stat": RECORDED_V2_CPU.format(**numbers),
            "memory.current": f"{numbers['current']}\n",
            "memory.max": f"{numbers['limit']}\n",
        }
        if numbers["peak"] is not None:
            files["memory.peak"] = f"{numbers['peak']}\n"
        for name, text in files.items():
            (folder / name).write_text(text)
        return folder

    def remove(self, cgroup: str) -> None:
        """The cgroup goes, as the kernel removes it: with its files."""
        folder = self.root / cgroup
        for entry in folder.iterdir():
            if entry.is_dir():
                self.remove(str(entry.relative_to(self.root)))
            else:
                entry.unlink()
        folder.rmdir()


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
        # Its own prefix: nothing of the virtual environment's site packages is read into it.
        command = f"{joins} exec {shlex.quote(sys.executable)} -I -S -c {shlex.quote(code)}"
        child = subprocess.Popen(
            ["/bin/sh", "-c", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.children.append(child)
        return child

    def start_nothing(self) -> subprocess.Popen[bytes]:
        """A child that ends at once, outside the pod: what is followed is over already."""
        child = subprocess.Popen(["/bin/true"])
        self.children.append(child)
        return child

    def remove_container(self) -> None:
        """What the runtime does as soon as a container has ended."""
        for folder in _folders(self.hierarchy, self.container):
            _remove(folder)

    @property
    def _v1(self) -> bool:
        return self.hierarchy.version is Version.V1


class Follower:
    """Looks at a real pod as the agent does, whenever it is told to."""

    def __init__(self, pod: RealPod) -> None:
        self._pod = pod
        self._sampler = Sampler(pod.hierarchy.version, {}, time.time)
        self._kubepods = find_kubepods(pod.hierarchy)
        self.reports: dict[str | None, PeakReport] = {}

    def tick(self) -> None:
        """Read every cgroup once."""
        for report in self._sampler.tick(scan(self._pod.hierarchy, self._kubepods)):
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
    """A file of which nothing is in the page cache: whoever reads it is charged for it."""
    block = os.urandom(MIB)
    with path.open("wb") as file:
        for _ in range(size_bytes // MIB):
            file.write(block)
        file.flush()
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return path


def until(holds: Callable[[], bool], seconds: float = 20.0) -> None:
    """Wait for something another process does; fails if it never comes."""
    tries = int(seconds / 0.02)
    for _ in range(tries):
        if holds():
            return
        time.sleep(0.02)
    raise AssertionError("it never came to be")
