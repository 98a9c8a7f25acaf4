"""Made-up tasks whose conditions change their runtimes by a known amount, or not at all.

A world is drawn with a seed; ``truth`` computes what is true of it, from many more runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from plimsoll_predictor.runtimes.what_if.measures import (
    MEASURES,
    FloatArray,
    Measure,
    levels,
    log_outlier_of,
)
from plimsoll_predictor.runtimes.what_if.past_run import PastRun

WEEK_S: Final = 604_800.0
NEW, OLD = "n2", "n1"
TRUE_RUNS: Final = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """How runs on NEW nodes differ from those on OLD ones, and what else makes runs differ.

    faster: by how much ln(runtime) is less on NEW. spread_new, spread_old: deviation of ln(runtime)
        for one kind of run. tail: share of runs with an added exponential of mean 1.
    weekly: deviation of what a whole week adds. share_new: of runs on NEW; it varies from week
        to week. burst: so many successive runs are on one node and within ``alike`` of each other.
    busy: how much longer a run on NEW takes, only because weeks with many runs on NEW are slow.
    """

    runs: int
    weeks: int
    share_new: float = 0.4
    faster: float = 0.0
    spread_new: float = 0.3
    spread_old: float = 0.3
    tail: float = 0.05
    weekly: float = 0.2
    burst: int = 1
    busy: float = 0.0

    def drawn(self, seed: int) -> list[PastRun]:
        """The task's past runs."""
        random = np.random.default_rng(seed)
        times_s = np.sort(random.random(self.runs)) * self.weeks * WEEK_S
        week = (times_s // WEEK_S).astype(int)
        leaning = random.uniform(-0.5, 0.5, self.weeks + 1)
        burst = np.arange(self.runs) // self.burst
        lots = random.random(int(burst[-1]) + 1)[burst]
        on_new = lots < np.clip(self.share_new * (1 + leaning[week]), 0, 1)
        drift = random.normal(0, self.weekly, self.weeks + 1) + self.busy * leaning
        alike = random.normal(0, 1, int(burst[-1]) + 1)[burst] if self.burst > 1 else None
        logs = drift[week] + self._noise(random, on_new, alike)
        return [
            PastRun(
                runtime_s=float(np.exp(5 + log)),
                submitted_s=float(time_s),
                node_type=NEW if new else OLD,
            )
            for log, time_s, new in zip(logs, times_s, on_new, strict=True)
        ]

    def truth(self) -> dict[Measure, float]:
        """The true difference of each measure, if both sides ran in the same weeks."""
        random = np.random.default_rng(0)
        weekly = random.normal(0, self.weekly, TRUE_RUNS)
        sides = [
            np.sort(5 + weekly + self._noise(random, np.full(TRUE_RUNS, new), None))
            for new in (True, False)
        ]
        mixed = self.share_new
        shares = np.concatenate([np.full(TRUE_RUNS, mixed), np.full(TRUE_RUNS, 1 - mixed)])
        everyone = random.choice(np.concatenate(sides), TRUE_RUNS, p=shares / shares.sum())
        outlier, weights = log_outlier_of(everyone), np.ones(TRUE_RUNS)
        new, old = (levels(side, weights, outlier) for side in sides)
        return dict(zip(MEASURES, (new - old).tolist(), strict=True))

    def _noise(
        self, random: np.random.Generator, on_new: FloatArray, alike: FloatArray | None
    ) -> FloatArray:
        deviation = np.where(on_new, self.spread_new, self.spread_old)
        own = random.normal(size=on_new.size)
        if alike is not None:
            own = np.sqrt(0.8) * alike + np.sqrt(0.2) * own
        tail = (random.random(on_new.size) < self.tail) * random.exponential(1, on_new.size)
        noise: FloatArray = own * deviation + tail - self.faster * on_new
        return noise


WORLDS: Final = {
    "nothing changes, 80 runs": World(runs=80, weeks=12),
    "nothing changes, 1,000 runs": World(runs=1000, weeks=40),
    "nothing changes, bursts of 5 alike": World(runs=600, weeks=30, burst=5),
    "18% faster, 150 runs": World(runs=150, weeks=20, faster=0.2),
    "less spread, 600 runs": World(runs=600, weeks=26, spread_new=0.15),
    "10% slower, 2,000 runs": World(runs=2000, weeks=40, faster=-0.1),
    "rare on the new node, 400 runs": World(runs=400, weeks=16, share_new=0.1, faster=0.3),
    "slow weeks on the new node": World(runs=600, weeks=30, busy=1.0),
}
