"""The growing programs of ``make bench-rescue``: their paces and steps, and what each needs."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import Any, Final

from plimsoll_operator.names import labels
from tests.rigs.images.eater import a_spec

MB: Final = 1_000_000
MIB: Final = 1 << 20
RATES_MB_S: Final = (5, 10, 20, 50, 100, 200, 400)
BEYOND: Final = (1.3, 1.6)
WITHIN: Final = (0.9, 0.75)
"""The need of a ramp, as a share of its limit."""
BASE_SHARE: Final = 0.5
HOLDS_S: Final = 11
"""An unneeded raise is given back after some seconds; a real run holds for minutes."""
STEP_MIB: Final = 40
STEP_S: Final = 3
STAIRS: Final = (1.15, 1.3, 1.45, 1.6, 0.9, 0.75)
CACHE_MIB: Final = 200
CACHE_LIMIT_MIB: Final = 96
USUAL_MIB: Final = 96
LEAK_LIMIT_MIB: Final = 128
LEAK_RUNS: Final = 3
LEAK_MB_S: Final = (20, 50)
GRID_MB_S: Final = (10, 25, 50, 100, 200, 400)
GRID_HEADROOM_MIB: Final = (16, 32, 64, 128, 256, 512)
GRID_BASE_MIB: Final = 64
GRID_NEED: Final = 1.3


@dataclass(frozen=True, slots=True)
class GrowingTask:
    """One run. words: the eater's arguments. need_mib: None for a leak, which never ends.

    rate_mb_s: its pace; None for steps and page cache. headroom_mib: between its memory when it
    begins to grow and its limit.
    """

    name: str
    kind: str
    words: tuple[str, ...]
    limit_mib: int
    need_mib: int | None
    rate_mb_s: int | None = None
    headroom_mib: int | None = None
    task: str = ""

    @property
    def beyond(self) -> bool:
        """Whether it needs more than its limit."""
        return self.need_mib is None or self.need_mib > self.limit_mib

    def pod(self) -> dict[str, Any]:
        """Return its pod; each run has its own task."""
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": self.name, "labels": {labels.TASK: self.task or self.name}},
            "spec": a_spec(list(self.words), f"{self.limit_mib}Mi"),
        }


def ramp(name: str, limit_mib: int, base_mib: int, need_mib: int, rate_mb_s: int) -> GrowingTask:
    """Return a task that holds its base for four seconds, and then grows to its need."""
    kib_s = rate_mb_s * MB // 1024
    holds_s = 2 if name.startswith("grid") else HOLDS_S
    words = ("pace", str(base_mib), "4", str(need_mib - base_mib), str(kib_s), str(holds_s))
    headroom_mib = limit_mib - base_mib
    return GrowingTask(name, "ramp", words, limit_mib, need_mib, rate_mb_s, headroom_mib)


def forty(seed: int) -> list[GrowingTask]:
    """Return the forty tasks, in a random order; half of them need more than they have."""
    tasks: list[GrowingTask] = []
    for rate in RATES_MB_S:
        limit_mib = 160 if rate <= 20 else 256 if rate <= 100 else 512
        for share in (*BEYOND, *WITHIN):
            name = f"ramp-{rate}-{round(100 * share)}"
            need_mib, base_mib = math.ceil(share * limit_mib), int(BASE_SHARE * limit_mib)
            tasks.append(ramp(name, limit_mib, base_mib, need_mib, rate))
    tasks += [_stairs(share) for share in STAIRS]
    for number in range(4):
        words = ("fill", str(CACHE_MIB), str(HOLDS_S))
        tasks.append(GrowingTask(f"cache-{number}", "page cache", words, CACHE_LIMIT_MIB, 8))
    tasks += [_leak(rate) for rate in LEAK_MB_S]
    random.Random(seed).shuffle(tasks)
    return tasks


def _stairs(share: float) -> GrowingTask:
    limit_mib = 200
    need_mib = math.ceil(share * limit_mib)
    words, taken = ["steps"], 0
    while taken < need_mib:
        more = min(STEP_MIB, need_mib - taken)
        taken += more
        words += [str(more), str(STEP_S if taken < need_mib else HOLDS_S)]
    name = f"stairs-{round(100 * share)}"
    return GrowingTask(name, "stair-steps", tuple(words), limit_mib, need_mib)


def _leak(rate_mb_s: int) -> GrowingTask:
    kib_s = rate_mb_s * MB // 1024
    words = ("pace", "16", "1", "4096", str(kib_s), "1")
    name = f"leak-{rate_mb_s}"
    headroom_mib = LEAK_LIMIT_MIB - 16
    return GrowingTask(name, "leak", words, LEAK_LIMIT_MIB, None, rate_mb_s, headroom_mib)


def healthy_runs() -> list[GrowingTask]:
    """Return the runs that the leaking tasks had before they leaked."""
    words = ("steps", str(USUAL_MIB), "4")
    return [
        GrowingTask(
            f"leak-{rate}-healthy-{n}",
            "healthy",
            words,
            LEAK_LIMIT_MIB,
            USUAL_MIB,
            task=f"leak-{rate}",
        )
        for n in range(LEAK_RUNS)
        for rate in LEAK_MB_S
    ]


def grid() -> list[GrowingTask]:
    """Return a ramp for each rate and headroom, each far beyond its limit."""
    return [
        ramp(
            f"grid-{rate}-{headroom}",
            GRID_BASE_MIB + headroom,
            GRID_BASE_MIB,
            math.ceil(GRID_NEED * (GRID_BASE_MIB + headroom)),
            rate,
        )
        for rate in GRID_MB_S
        for headroom in GRID_HEADROOM_MIB
    ]
