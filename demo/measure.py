"""Runs a program once and measures it: this is how the history was recorded.

The peak is the kernel's own, from a memory cgroup made for this one run. File pages that it still
held at the end are subtracted: they are the page cache of libraries and data, which the kernel
takes back when it must. If no such cgroup can be made (not root), the peak is the process' highest
resident memory.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

CGROUP_ROOT: Final = Path("/sys/fs/cgroup")
ENTER: Final = 'echo $$ > "$0"/cgroup.procs && exec "$@"'
"""Shell: enter the cgroup, then become the program, so that all its memory is charged there."""


@dataclass(frozen=True, slots=True)
class Files:
    """Where one version of cgroups keeps its numbers."""

    peak: str
    limit: str
    inactive_file: str
    active_file: str


V1: Final = Files(
    "memory.max_usage_in_bytes",
    "memory.limit_in_bytes",
    "total_inactive_file",
    "total_active_file",
)
V2: Final = Files("memory.peak", "memory.max", "inactive_file", "active_file")


@dataclass(frozen=True, slots=True)
class Measured:
    """One run, measured. Times are Unix seconds."""

    started_s: float
    finished_s: float
    peak_bytes: int
    cpu_s: float
    exit_code: int


def own_cgroup(text: str, root: Path = CGROUP_ROOT) -> Path | None:
    """Where this process' memory is accounted. None if nowhere.

    text: the content of /proc/self/cgroup.
    """
    for line in text.splitlines():
        _, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            return root / "memory" / path.lstrip("/")
    v2 = [line[3:] for line in text.splitlines() if line.startswith("0::")]
    return root / v2[0].lstrip("/") if v2 else None


def measure(program: Sequence[str], limit_bytes: int) -> Measured:
    """Run ``program`` to its end under a memory limit, in its own cgroup if possible."""
    parent = own_cgroup(Path("/proc/self/cgroup").read_text())
    cgroup = parent / f"plimsoll-demo-{os.getpid()}" if parent else None
    try:
        if cgroup:
            cgroup.mkdir()
    except OSError:
        cgroup = None
    try:
        files = _files_of(cgroup)
        if cgroup is None or files is None:
            return _run(program, None, V1)
        (cgroup / files.limit).write_text(str(limit_bytes))
        return _run(["/bin/sh", "-c", ENTER, str(cgroup), *program], cgroup, files)
    finally:
        if cgroup:
            cgroup.rmdir()


def _files_of(cgroup: Path | None) -> Files | None:
    """The files of this cgroup. None if its memory is not accounted."""
    if cgroup is None:
        return None
    return next((files for files in (V1, V2) if (cgroup / files.peak).exists()), None)


def _run(program: Sequence[str], cgroup: Path | None, files: Files) -> Measured:
    started_s = time.time()
    process = subprocess.Popen(program, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    peak_bytes = usage.ru_maxrss * 1024
    if cgroup:
        peak_bytes = int((cgroup / files.peak).read_text()) - _file_cache(cgroup, files)
    return Measured(
        started_s=started_s,
        finished_s=time.time(),
        peak_bytes=peak_bytes,
        cpu_s=usage.ru_utime + usage.ru_stime,
        exit_code=process.returncode,
    )


def _file_cache(cgroup: Path, files: Files) -> int:
    numbers = dict(line.split() for line in (cgroup / "memory.stat").read_text().splitlines())
    return int(numbers[files.inactive_file]) + int(numbers[files.active_file])
