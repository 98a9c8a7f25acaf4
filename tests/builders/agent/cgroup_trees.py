"""Readings, reports and recorded version 2 cgroups for tests."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from plimsoll_operator.agent.cgroup_memory import CgroupSample
from plimsoll_operator.agent.need import Peaks
from plimsoll_operator.attempts.peaks import PeakReport
from plimsoll_predictor.core.units import MIB

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
swapcached {swapcached}
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


def a_reading(**changed: int | float | None) -> CgroupSample:
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
    return CgroupSample(**(plain | changed))  # type: ignore[arg-type]


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


def peaks_of(readings: list[CgroupSample]) -> Peaks:
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
        """Record one cgroup. Fields are the kernel's; ``peak=None`` is a kernel before 5.19.

        swap: as in memory.swap.current; None for a kernel without swap.
        """
        numbers: dict[str, int | str | None] = {
            "anon": 10 * MIB, "shmem": 0, "file_mapped": 0, "inactive_file": 0, "active_file": 0,
            "slab_reclaimable": 0, "pgsteal": 0, "max": 0, "usage_usec": 1_234_567,
            "current": 10 * MIB, "peak": 10 * MIB, "limit": "max", "swap": 0, "swapcached": 0,
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
        if numbers["swap"] is not None:
            files["memory.swap.current"] = f"{numbers['swap']}\n"
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


def until(holds: Callable[[], bool], seconds: float = 20.0) -> None:
    """Wait for something another process does; fails if it never comes."""
    tries = int(seconds / 0.02)
    for _ in range(tries):
        if holds():
            return
        time.sleep(0.02)
    raise AssertionError("it never came to be")
