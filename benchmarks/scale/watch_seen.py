"""What a controller made of pods that ended: rows with the moment they appeared, and its costs."""

from __future__ import annotations

import asyncio
import re
import sqlite3
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import psutil

LOOK_EVERY_S: Final = 0.05
STILL_S: Final = 4.0
"""A controller that uses at most STILL_SHARE of a processor for so long has nothing left to do."""
STILL_SHARE: Final = 0.25


@dataclass(slots=True)
class Rows:
    """The store's observations, in the order in which they came.

    seen_s: attempt UID -> when its row appeared, Unix seconds, LOOK_EVERY_S late at most.
    """

    store: Path
    seen_s: dict[str, float] = field(default_factory=dict)
    twice: list[str] = field(default_factory=list)
    _last: int = -1

    def look(self) -> int:
        """Read new rows; return how many there are."""
        if not self.store.exists():
            return 0
        with closing(self._connected()) as store:
            rows = store.execute(
                "SELECT id, attempt_uid FROM observations WHERE id > ? ORDER BY id", (self._last,)
            ).fetchall()
        now_s = time.time()
        for number, uid in rows:
            self._last = number
            if uid in self.seen_s:
                self.twice.append(uid)
            self.seen_s.setdefault(uid, now_s)
        return len(self.seen_s)

    async def wait_for(self, count: int, within_s: float, tell: Callable[[int], None]) -> None:
        """Look until there are so many. tell: is called with the number so far."""
        async with asyncio.timeout(within_s):
            while (there := self.look()) < count:
                tell(there)
                await asyncio.sleep(LOOK_EVERY_S)
            tell(there)

    def counted(self) -> int:
        """Return how many attempts the tasks' totals count: it shows one that is counted twice."""
        with closing(self._connected()) as store:
            found = store.execute("SELECT sum(observations) FROM totals").fetchone()
        return int(found[0] or 0)

    def _connected(self) -> sqlite3.Connection:
        return sqlite3.connect(f"file:{self.store}?mode=ro", uri=True, timeout=30)


@dataclass(frozen=True, slots=True)
class Lag:
    """Seconds from the moment when a kubelet wrote a pod's end until its observation appeared."""

    p50_s: float
    p99_s: float
    most_s: float


def lag_of(ended_s: Mapping[str, float], seen_s: Mapping[str, float]) -> Lag:
    """Return the lag of pods that were observed."""
    late_s = [seen_s[uid] - ended_s[uid] for uid in ended_s if uid in seen_s]
    return Lag(*(float(each) for each in np.quantile(late_s, (0.5, 0.99, 1.0))))


def rate_of(times_s: Collection[float]) -> float:
    """Return the rate per second, from the first to the last."""
    took_s = max(times_s) - min(times_s)
    return (len(times_s) - 1) / took_s if took_s else float("inf")


@dataclass(frozen=True, slots=True)
class Costs:
    """A process's costs. pid: its own; trainings are separate processes."""

    pid: int

    @property
    def cpu_s(self) -> float:
        """Return the processor time that it has used."""
        times = psutil.Process(self.pid).cpu_times()
        return float(times.user + times.system)

    @property
    def rss_bytes(self) -> int:
        """Return its memory now."""
        return int(psutil.Process(self.pid).memory_info().rss)

    @property
    def peak_rss_bytes(self) -> int:
        """Return the most memory that it ever used."""
        status = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii")
        found = re.search(r"VmHWM:\s+(\d+) kB", status)
        return int(found[1]) * 1024 if found else 0

    async def still(self, within_s: float) -> float:
        """Wait until it has nothing left to do; return the processor time that it has used."""
        async with asyncio.timeout(within_s):
            while True:
                before_s = self.cpu_s
                await asyncio.sleep(STILL_S)
                if self.cpu_s - before_s <= STILL_SHARE * STILL_S:
                    return self.cpu_s


EVERYTHING: Final = "all there is"


@dataclass(frozen=True, slots=True)
class Processors:
    """How much each process uses the machine's processors. pids: by the processes' names."""

    pids: Mapping[str, int]

    def used_s(self) -> dict[str, float]:
        """Return the processor time used by each, and by everything on this machine."""
        used = {name: Costs(pid).cpu_s for name, pid in self.pids.items()}
        busy = psutil.cpu_times()
        return {**used, EVERYTHING: float(busy.user + busy.nice + busy.system)}


def shares(
    before_s: Mapping[str, float], after_s: Mapping[str, float], took_s: float
) -> dict[str, float]:
    """Return how many processors each used meanwhile; a new process counts from its start."""
    return {name: (used_s - before_s.get(name, 0.0)) / took_s for name, used_s in after_s.items()}
