"""A node whose pods near their limits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from plimsoll_operator.agent.cgroup_memory import CgroupFiles, CgroupSample
from plimsoll_operator.agent.near_limit import NearLimit
from plimsoll_operator.agent.outbox import Key
from plimsoll_operator.agent.pod_cgroups import PodCgroup, Version
from plimsoll_operator.attempts.alarms import Alarm
from plimsoll_predictor.core.units import MIB

LIMIT = 400
EMPTY = CgroupSample(
    usage_bytes=0,
    kernel_peak_bytes=0,
    limit_hits=0,
    anon_bytes=0,
    shmem_bytes=0,
    inactive_file_bytes=0,
    active_file_bytes=0,
    mapped_file_bytes=0,
    slab_reclaimable_bytes=0,
    reclaimed_bytes=0,
    limit_bytes=LIMIT * MIB,
    cpu_s=0.0,
)


class Node:
    """A node of version 1 cgroups, with a clock that tests set. Sizes in MiB."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.now_s = 100.0
        self.near = NearLimit(Version.V1, self.sampled, lambda: self.now_s)
        self.sizes: dict[str, tuple[float, float, float]] = {}
        self.at_rest: dict[str, CgroupSample] = {}
        """What the sampler read last of containers that it has not read since."""

    def holds(self, name: str, anon: float, cache: float = 0, limit: float = LIMIT) -> None:
        self.sizes[name] = (anon, cache, limit)
        folder = self.root / name
        folder.mkdir(exist_ok=True)
        usage, total = int((anon + cache) * MIB), int(limit * MIB)
        (folder / "memory.usage_in_bytes").write_text(f"{usage}\n")
        (folder / "memory.max_usage_in_bytes").write_text(f"{usage}\n")
        (folder / "memory.failcnt").write_text("0\n")
        (folder / "memory.limit_in_bytes").write_text(f"{total}\n")
        stat = f"total_rss {int(anon * MIB)}\ntotal_inactive_file {int(cache * MIB)}\n"
        (folder / "memory.stat").write_text(stat)

    def sampled(self, key: Key) -> CgroupSample | None:
        if key[0] not in self.sizes:
            return None
        if key[0] in self.at_rest:
            return self.at_rest[key[0]]
        anon, cache, limit = self.sizes[key[0]]
        return replace(
            EMPTY,
            usage_bytes=int((anon + cache) * MIB),
            anon_bytes=int(anon * MIB),
            inactive_file_bytes=int(cache * MIB),
            limit_bytes=int(limit * MIB) if limit else None,
        )

    def tick(self, *rescuable: str) -> list[Alarm]:
        self.now_s += 1.0
        pods = [self.pod(name) for name in self.sizes]
        return self.near.tick(pods, set(rescuable or self.sizes))

    def look(self) -> list[Alarm]:
        self.now_s += 0.1
        return self.near.look()

    def pod(self, name: str) -> PodCgroup:
        files = CgroupFiles(str(self.root / name), None)
        return PodCgroup(name, files, {"main": files})
