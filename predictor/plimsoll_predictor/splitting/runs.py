"""What is known of a task's splitting: its chunks' times and peaks, and how well they predict."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final

from plimsoll_predictor.splitting.costs import ChunkSums, Costs
from plimsoll_predictor.splitting.peaks import Peaks, PeakSums

KEPT: Final = 0.8
"""How much an older run counts after a newer one: the last three weigh half of the total."""
LEAST_NOISE: Final = 0.01
USUAL_NOISE: Final = 0.02
"""One standard deviation of a makespan around what its chunks explain, while no run is known."""
USUAL_RUNS: Final = 1.0


@dataclass(slots=True)
class RunSums:
    """A task's runs so far, in bounded space. A run's numbers are added when it has ended."""

    times: ChunkSums = field(default_factory=ChunkSums)
    peaks: PeakSums = field(default_factory=PeakSums)
    runs: int = 0
    _judged: float = 0.0
    _surprise: float = 0.0

    def begin(self) -> None:
        """Let older runs count less: a task changes."""
        self.times.fade(KEPT)
        self.peaks.begin(KEPT)

    def take(self, run: RunSums, before: RunSums) -> None:
        """Add what one run measured: what it knows, less what it knew when it began.

        Older peaks count as little as the run found that they should; see ``PeakSums.kept``.
        """
        kept = run.peaks.kept
        self.times.take(run.times)
        self.times.take(before.times, -1.0)
        self.peaks.fade(kept)
        self.peaks.take(run.peaks)
        self.peaks.take(before.peaks, -kept)
        for kill in run.peaks.kills:
            if kill.weight == 1.0:  # else an earlier run's
                self.peaks.killed(kill.items, kill.container_bytes)

    def ended(self, makespan_s: float, explained_s: float | None = None) -> None:
        """Count a run. explained_s: the makespan by its chunks' own times; None if not computed.

        A machine that is slower for a day is no noise, since it is slower for every cut. An item
        that took long is no noise either, since the model expects such. The rest is noise.
        """
        self.runs += 1
        if explained_s and makespan_s > 0:
            self._surprise = KEPT * self._surprise + math.log(makespan_s / explained_s) ** 2
            self._judged = KEPT * self._judged + 1

    @property
    def noise(self) -> float:
        """How far makespans are from what chunks explain, as a share; one standard deviation."""
        usual = USUAL_RUNS * USUAL_NOISE**2
        found = math.sqrt((self._surprise + usual) / (self._judged + USUAL_RUNS))
        return max(LEAST_NOISE, found)

    def costs(self) -> Costs | None:
        """Return what items and chunks cost; None if no chunk was measured."""
        return self.times.fit()

    def memory(self) -> Peaks | None:
        """Return what chunks need; None if no peak is known."""
        return self.peaks.fit()
