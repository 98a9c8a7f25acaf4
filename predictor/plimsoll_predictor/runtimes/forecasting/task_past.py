"""What is known of one task's runtimes: histograms that forget, and how well each did."""

from __future__ import annotations

import numpy as np

from plimsoll_predictor.runtimes.forecasting.grid import N_BINS, FloatArray
from plimsoll_predictor.runtimes.forecasting.settings import MAX_SURVIVORS
from plimsoll_predictor.runtimes.forecasting.usual import Usual

# Counts this small say nothing, and would slow every later sum down as denormal numbers.
NOTHING = 1e-9
SWEEP_EVERY = 32


class TaskPast:
    """One task's past.

    runs: how many finished. counts: (experts, N_BINS) float32, replaced and never written to.
    totals: (experts,) what each row sums to. credit: (experts,) how often each expert was the one
    to be right. in_flight: how many were submitted and have not ended. running: those of them
    that started, and when.
    """

    __slots__ = (
        "counts",
        "credit",
        "in_flight",
        "last_finish_s",
        "last_starts",
        "last_usual_s",
        "running",
        "runs",
        "totals",
        "usual",
    )

    def __init__(self, experts: int) -> None:
        self.runs = 0
        self.counts: FloatArray = np.zeros((experts, N_BINS), dtype=np.float32)
        self.totals: FloatArray = np.zeros(experts)
        self.credit: FloatArray = np.zeros(experts)
        self.last_finish_s: float | None = None
        self.usual = Usual()
        self.last_usual_s: float | None = None
        self.running: dict[str, float] = {}
        self.in_flight = 0
        self.last_starts: FloatArray | None = None

    def learn(self, runtime_s: float, bump: FloatArray, weight: float, keep: FloatArray) -> None:
        """Count a finished run.

        bump: (N_BINS,) its mass over the bins. weight: what it counts, above 0 to 1. keep:
        (experts,) the share of each row that it leaves.
        """
        counts = self.counts * keep.astype(np.float32)[:, None]
        counts += np.float32(weight) * bump
        self.runs += 1
        if self.runs % SWEEP_EVERY == 0:
            counts[counts < NOTHING] = 0.0
        self.counts = counts
        self.totals = self.totals * keep + weight
        self.usual.add(runtime_s)
        self.last_usual_s = None

    @property
    def usual_s(self) -> float | None:
        """The median runtime; None before the first."""
        if self.last_usual_s is None:
            self.last_usual_s = self.usual.median_s()
        return self.last_usual_s

    def started(self, run: str, at_s: float) -> None:
        """A run in flight started."""
        self.running[run] = at_s
        self.last_starts = None

    def ended(self, run: str) -> None:
        """A run in flight is no longer."""
        self.in_flight -= 1
        if self.running.pop(run, None) is not None:
            self.last_starts = None

    def starts(self) -> FloatArray:
        """(up to MAX_SURVIVORS,) when those that run started, the longest running first.

        Those tell the most: one that has just started tells nothing.
        """
        if self.last_starts is None:
            self.last_starts = np.array(sorted(self.running.values())[:MAX_SURVIVORS])
        return self.last_starts

    def finished(self, at_s: float) -> None:
        """A run finished at this time; a clock that goes back changes nothing."""
        if self.last_finish_s is None or at_s > self.last_finish_s:
            self.last_finish_s = at_s
