"""What programs do that know their cgroup's limit. It runs in the runtimes' image, by Python alone.

cache MIB SHARE       fill a cache of a SHARE of the limit; one below MIB is an error (exit 1)
watchdog MIB          take MIB in steps; end by exit 137 before the kernel does it, as Dask's does
resume FOLDER MIB     take MIB, unless FOLDER has the mark that an earlier start has left there
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

MIB = 1 << 20
NEAR_THE_LIMIT = 0.9
KILLED = 137


def limit_bytes() -> int:
    """The cgroup's memory limit, of version 2 or 1."""
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            text = Path(path).read_text().strip()
        except OSError:
            continue
        return 1 << 40 if text == "max" else int(text)
    raise SystemExit("there is no memory cgroup")


def take(size_bytes: int) -> bytearray:
    """Memory that is really used."""
    taken = bytearray(size_bytes)
    taken[::4096] = b"1" * len(range(0, size_bytes, 4096))
    return taken


def cache(least_mib: str, share: str) -> None:
    """Hold as much as the limit allows, as libraries do."""
    size_bytes = int(min(limit_bytes(), 1 << 30) * float(share))
    if size_bytes < int(least_mib) * MIB:
        raise SystemExit(f"a cache of {size_bytes} bytes cannot hold the index of {least_mib} MiB")
    held = take(size_bytes)
    time.sleep(1)
    del held


def watchdog(mib: str) -> None:
    """Look at the limit before each step."""
    held: list[bytearray] = []
    # The interpreter itself has about as much as one step.
    while len(held) < int(mib):
        if (len(held) + 10) * MIB > NEAR_THE_LIMIT * limit_bytes():
            # The readings that say so are taken once a second.
            time.sleep(2)
            os._exit(KILLED)
        held.append(take(MIB))
    time.sleep(1)


def resume(folder: str, mib: str) -> None:
    """Do the large part once: what was done is found again after a restart in place."""
    mark = Path(folder) / "done"
    if mark.exists():
        return
    mark.touch()
    held = take(int(mib) * MIB)
    time.sleep(1)
    del held


DOES: dict[str, Callable[..., None]] = {"cache": cache, "watchdog": watchdog, "resume": resume}

if __name__ == "__main__":
    DOES[sys.argv[1]](*sys.argv[2:])
