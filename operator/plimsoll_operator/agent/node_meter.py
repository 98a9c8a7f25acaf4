"""How much of its node is in use, and by which pods: two files more, once in ten ticks.

/proc/stat and /proc/meminfo show the whole node in every container, with either version of cgroups
and without a mount; a root cgroup has no figure of memory on version 2. What pods used is known
already: the sampler has just read all of them.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from plimsoll_operator.agent.cgroup_memory import CgroupSample, kernel_text
from plimsoll_operator.agent.outbox import Key
from plimsoll_operator.agent.pod_cgroups import PodCgroup
from plimsoll_operator.attempts.node_use import LONGEST_WINDOW_S, MOST_PODS, NodeUse

PROC: Final = Path("/proc")
LEAST_CORES: Final = 0.01
"""A pod that uses less slows no other pod, and is not reported."""
_TIMES: Final = 8
"""User, nice, system, idle, iowait, irq, softirq, steal. Guests' time is in user's already."""
_IDLE: Final = slice(3, 5)

Sampled = Callable[[Key], CgroupSample | None]


@dataclass(frozen=True, slots=True)
class CpuTimes:
    """Ticks of all processors since the node started.

    busy: of work, and of waiting for a processor that another virtual machine had (steal).
    """

    busy: int
    total: int


@dataclass(frozen=True, slots=True)
class _Before:
    """The reading before, by pod UIDs. pods_cpu_s: CPU seconds used so far."""

    at_s: float
    times: CpuTimes | None
    pods_cpu_s: Mapping[str, float]
    pods_bytes: Mapping[str, int]


class NodeMeter:
    """Reads one node. Belongs to the sampling thread."""

    def __init__(
        self, node: str, sampled: Sampled, monotonic_s: Callable[[], float], proc: Path = PROC
    ) -> None:
        """sampled: the last reading of a cgroup; None if there is none."""
        self._node = node
        self._sampled = sampled
        self._now_s = monotonic_s
        self._stat, self._meminfo = str(proc / "stat"), str(proc / "meminfo")
        self._before: _Before | None = None

    def measure(self, pods: Iterable[PodCgroup]) -> NodeUse | None:
        """Return the use since the last call; None at the first one, or after too long.

        pods: all of the node, each read just now. Figures of the node that cannot be read are None.
        A pod that ended since the last call is left out: its last seconds count for no pod.
        """
        before, now = self._before, self._reading(pods)
        self._before = now
        over_s = 0.0 if before is None else now.at_s - before.at_s
        if before is None or not 0 < over_s <= LONGEST_WINDOW_S:
            return None
        return NodeUse(
            node=self._node,
            over_s=round(over_s, 3),
            cpu_share=_busy_share(before.times, now.times),
            memory_share=memory_share(_text_or_nothing(self._meminfo)),
            pods_cores=_cores(before.pods_cpu_s, now.pods_cpu_s, over_s),
            pods_bytes=_largest(now.pods_bytes),
        )

    def _reading(self, pods: Iterable[PodCgroup]) -> _Before:
        cpu_s: dict[str, float] = {}
        used_bytes: dict[str, int] = {}
        for pod in pods:
            sample = self._sampled((pod.uid, None))
            if sample is None:
                continue
            used_bytes[pod.uid] = max(0, sample.usage_bytes - sample.reclaimable_bytes)
            if sample.cpu_s is not None:
                cpu_s[pod.uid] = sample.cpu_s
        return _Before(self._now_s(), cpu_times(_text_or_nothing(self._stat)), cpu_s, used_bytes)


def cpu_times(stat: str) -> CpuTimes | None:
    """Read the first line of /proc/stat, the sum of all processors; None if it is another line.

    >>> cpu_times("cpu  10 0 20 60 10 0 0 0 5 0")
    CpuTimes(busy=30, total=100)
    """
    words = stat.partition("\n")[0].split()
    if not words or words[0] != "cpu":
        return None
    try:
        times = [int(word) for word in words[1 : 1 + _TIMES]]
    except ValueError:
        return None
    if len(times) <= _IDLE.start or min(times) < 0:
        return None
    total = sum(times)
    return CpuTimes(total - sum(times[_IDLE]), total)


def memory_share(meminfo: str) -> float | None:
    r"""Return the share of the memory that is not available, of /proc/meminfo; None if unknown.

    Available is what a new program may have without swapping, by the kernel's own estimate: free
    memory and page cache. Kernels before 3.14 do not have it.

    >>> memory_share("MemTotal: 100 kB\nMemFree: 10 kB\nMemAvailable: 40 kB\n")
    0.6
    """
    lines = dict(line.split(":", 1) for line in meminfo.splitlines() if ":" in line)
    try:
        total, left = (int(lines[name].split()[0]) for name in ("MemTotal", "MemAvailable"))
    except (KeyError, IndexError, ValueError):
        return None
    return _share(total - left, total)


def _busy_share(before: CpuTimes | None, now: CpuTimes | None) -> float | None:
    if before is None or now is None:
        return None
    return _share(now.busy - before.busy, now.total - before.total)


def _share(part: int, whole: int) -> float | None:
    """Four digits, 0 to 1. The counters of idle time sometimes step back by a tick."""
    return round(min(1.0, max(0.0, part / whole)), 4) if whole > 0 else None


def _cores(
    before_s: Mapping[str, float], now_s: Mapping[str, float], over_s: float
) -> dict[str, float]:
    """What each pod used since the reading before; of a new one, all that it used so far."""
    cores = {
        uid: round((used_s - before_s.get(uid, 0.0)) / over_s, 3) for uid, used_s in now_s.items()
    }
    used = ((uid, each) for uid, each in cores.items() if each >= LEAST_CORES)
    return dict(heapq.nlargest(MOST_PODS, used, key=lambda pair: pair[1]))


def _largest(used_bytes: Mapping[str, int]) -> dict[str, int]:
    return dict(heapq.nlargest(MOST_PODS, used_bytes.items(), key=lambda pair: pair[1]))


def _text_or_nothing(path: str) -> str:
    try:
        return kernel_text(path)
    except (OSError, UnicodeDecodeError):
        return ""
