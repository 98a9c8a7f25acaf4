"""Reads a cgroup's memory and CPU, from cgroup version 1 or 2.

Kernel documentation: admin-guide/cgroup-v1/memory.rst, admin-guide/cgroup-v2.rst.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from plimsoll_predictor.core.units import MIB

UNLIMITED_BYTES: Final = 2**60
"""Version 1 writes "unlimited" as a number near 2**63; nothing real is this large."""
RECLAIM_PER_HIT_BYTES: Final = 2 * MIB
"""At most this much is reclaimed for one failed charge: the largest folio that is charged at once.
Stands in for a count of reclaimed pages where the kernel keeps none (version 1)."""
PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
MOST_TEXT_BYTES: Final = 65_536
"""The most that is read of a file."""


@dataclass(frozen=True, slots=True)
class Glance:
    """The three counters that move whenever memory does. Equal glances: nothing happened.

    kernel_peak_bytes: the kernel's own running peak; None before Linux 5.19 on version 2.
    limit_hits: how often a charge met the limit; only grows.
    """

    usage_bytes: int
    kernel_peak_bytes: int | None
    limit_hits: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CgroupSample:
    """The kernel's figures of one cgroup, its children included.

    kernel_peak_bytes, limit_hits: as in Glance.
    reclaimed_bytes: page cache reclaimed so far, or the most it can have been; only grows.
    limit_bytes: None if unlimited.
    least_below_bytes: the least limit of the cgroups below, whose hits may be in limit_hits; None
        if none has one.
    cpu_s: CPU time used so far; None where it cannot be read.
    slab_reclaimable_bytes: kernel caches (directory entries, inodes); 0 on version 1.
    swapped_bytes: in swap and not in memory; 0 on version 1, whose swap is not read.
    """

    usage_bytes: int
    kernel_peak_bytes: int | None
    limit_hits: int
    anon_bytes: int
    shmem_bytes: int
    inactive_file_bytes: int
    active_file_bytes: int
    mapped_file_bytes: int
    slab_reclaimable_bytes: int
    reclaimed_bytes: int
    limit_bytes: int | None
    cpu_s: float | None
    swapped_bytes: int = 0
    least_below_bytes: int | None = None

    @property
    def file_bytes(self) -> int:
        """Page cache that can be dropped; tmpfs and shared memory are not in it.

        memory.stat may be up to 2 s old, and then still counts what was dropped; usage is new.
        """
        return min(self.inactive_file_bytes + self.active_file_bytes, self.usage_bytes)

    @property
    def reclaimable_bytes(self) -> int:
        """All that the kernel can take back without swap."""
        return self.file_bytes + self.slab_reclaimable_bytes


@dataclass(frozen=True, slots=True)
class CgroupFiles:
    """The folders of one cgroup, without a trailing slash; on version 2 they are the same."""

    memory: str
    cpu: str | None


Read = Callable[[CgroupFiles, Glance], CgroupSample]
Text = Callable[[str], str]
"""Reads one of the kernel's files by its path."""


def kernel_text(path: str) -> str:
    """Return the first 64 KiB of one of the kernel's files. OSError if it cannot be read."""
    # os.open and os.read: a third of the cost of open().
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, MOST_TEXT_BYTES).decode("ascii")
    finally:
        os.close(descriptor)


def glance_v1(files: CgroupFiles, text: Text = kernel_text) -> Glance:
    """Cheap first look. OSError when the cgroup is gone."""
    return Glance(
        int(text(f"{files.memory}/memory.usage_in_bytes")),
        int(text(f"{files.memory}/memory.max_usage_in_bytes")),
        int(text(f"{files.memory}/memory.failcnt")),
    )


def read_v1(files: CgroupFiles, glance: Glance) -> CgroupSample:
    """All figures of a version 1 cgroup. OSError when it is gone."""
    stat = _pairs(kernel_text(f"{files.memory}/memory.stat"))
    limit = int(kernel_text(f"{files.memory}/memory.limit_in_bytes"))
    cpu = _text_if_there(f"{files.cpu}/cpuacct.usage") if files.cpu else None
    return CgroupSample(
        usage_bytes=glance.usage_bytes,
        kernel_peak_bytes=glance.kernel_peak_bytes,
        anon_bytes=stat.get("total_rss", 0),
        shmem_bytes=stat.get("total_shmem", 0),
        inactive_file_bytes=stat.get("total_inactive_file", 0),
        active_file_bytes=stat.get("total_active_file", 0),
        mapped_file_bytes=stat.get("total_mapped_file", 0),
        slab_reclaimable_bytes=0,
        reclaimed_bytes=glance.limit_hits * RECLAIM_PER_HIT_BYTES,
        limit_bytes=limit if limit < UNLIMITED_BYTES else None,
        limit_hits=glance.limit_hits,
        cpu_s=int(cpu) / 1e9 if cpu else None,
    )


def glance_v2(files: CgroupFiles, text: Text = kernel_text) -> Glance:
    """Cheap first look. OSError when the cgroup is gone."""
    peak = _text_if_there(f"{files.memory}/memory.peak", text)
    events = _pairs(text(f"{files.memory}/memory.events"))
    return Glance(
        int(text(f"{files.memory}/memory.current")),
        int(peak) if peak else None,
        events.get("max", 0) + events.get("high", 0),
    )


def read_v2(files: CgroupFiles, glance: Glance) -> CgroupSample:
    """All figures of a version 2 cgroup. OSError when it is gone."""
    stat = _pairs(kernel_text(f"{files.memory}/memory.stat"))
    limit = kernel_text(f"{files.memory}/memory.max").strip()
    cpu = _text_if_there(f"{files.cpu}/cpu.stat") if files.cpu else None
    cpu_us = _pairs(cpu).get("usage_usec") if cpu else None
    stolen_pages = stat.get("pgsteal")
    return CgroupSample(
        usage_bytes=glance.usage_bytes,
        kernel_peak_bytes=glance.kernel_peak_bytes,
        anon_bytes=stat.get("anon", 0),
        shmem_bytes=stat.get("shmem", 0),
        inactive_file_bytes=stat.get("inactive_file", 0),
        active_file_bytes=stat.get("active_file", 0),
        mapped_file_bytes=stat.get("file_mapped", 0),
        slab_reclaimable_bytes=stat.get("slab_reclaimable", 0),
        reclaimed_bytes=glance.limit_hits * RECLAIM_PER_HIT_BYTES
        if stolen_pages is None
        else stolen_pages * PAGE_BYTES,
        limit_bytes=None if limit == "max" else int(limit),
        limit_hits=glance.limit_hits,
        cpu_s=None if cpu_us is None else cpu_us / 1e6,
        swapped_bytes=_swapped_bytes(files, stat),
    )


def _swapped_bytes(files: CgroupFiles, stat: Mapping[str, int]) -> int:
    """Return what is in swap only; a page that came back may be in both, and counts as memory."""
    if stat.get("pgsteal") == 0:
        return 0  # nothing was ever taken from memory, so the file need not be read
    swapped = _text_if_there(f"{files.memory}/memory.swap.current")
    return max(0, int(swapped) - stat.get("swapcached", 0)) if swapped else 0


def usage_v1(files: CgroupFiles, text: Text = kernel_text) -> int:
    """The bytes used, page cache included. OSError when the cgroup is gone."""
    return int(text(f"{files.memory}/memory.usage_in_bytes"))


def usage_v2(files: CgroupFiles, text: Text = kernel_text) -> int:
    """The bytes used, page cache included. OSError when the cgroup is gone."""
    return int(text(f"{files.memory}/memory.current"))


def _pairs(text: str) -> Mapping[str, int]:
    """Lines of ``name number``."""
    words = text.split()
    return dict(zip(words[::2], map(int, words[1::2]), strict=False))


def _text_if_there(path: str, text: Text = kernel_text) -> str | None:
    try:
        return text(path)
    except FileNotFoundError:
        return None
