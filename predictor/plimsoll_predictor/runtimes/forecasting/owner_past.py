"""What the runs of an owner's tasks last, whichever the task: the parent of a task's experts."""

from __future__ import annotations

import numpy as np

from plimsoll_predictor.runtimes.forecasting.grid import N_BINS, FloatArray
from plimsoll_predictor.runtimes.forecasting.task_past import NOTHING, SWEEP_EVERY


class OwnerPast:
    """One owner's past over all its tasks.

    counts: (experts, N_BINS) float32, replaced and never written to. totals: (experts,) what
    each row sums to. credit: (experts + 1,) how often each was right, everybody's the last.
    """

    __slots__ = ("counts", "credit", "runs", "totals")

    def __init__(self, experts: int) -> None:
        self.runs = 0
        self.counts: FloatArray = np.zeros((experts, N_BINS), dtype=np.float32)
        self.totals: FloatArray = np.zeros(experts)
        self.credit: FloatArray = np.zeros(experts + 1)

    def learn(self, bump: FloatArray, weight: float, keep: FloatArray) -> None:
        """Count a run: (N_BINS,) its mass, what it counts, (experts,) what it leaves of a row."""
        counts = self.counts * keep.astype(np.float32)[:, None]
        counts += np.float32(weight) * bump
        self.runs += 1
        if self.runs % SWEEP_EVERY == 0:
            counts[counts < NOTHING] = 0.0
        self.counts = counts
        self.totals = self.totals * keep + weight
