"""The known runtimes of a task, and of an owner: histograms that forget."""

from __future__ import annotations

import numpy as np

from plimsoll_predictor.runtimes.forecasting.grid import N_BINS, FloatArray
from plimsoll_predictor.runtimes.forecasting.settings import MAX_SURVIVORS
from plimsoll_predictor.runtimes.forecasting.usual import Usual

# Counts this small say nothing, and would slow every later sum down as denormal numbers.
_NOTHING = 1e-9
_SWEEP_EVERY = 32


class _Past:
    """Histograms of runtimes, one an expert.

    runs: how many finished. counts: (experts, N_BINS) float32, replaced and never written to.
    totals: (experts,) the sums of the rows. credit: (credited,) how often each was right.
    """

    __slots__ = ("counts", "credit", "runs", "totals")

    def __init__(self, experts: int, credited: int) -> None:
        self.runs = 0
        self.counts: FloatArray = np.zeros((experts, N_BINS), dtype=np.float32)
        self.totals: FloatArray = np.zeros(experts)
        self.credit: FloatArray = np.zeros(credited)

    def count(self, bump: FloatArray, weight: float, keep: FloatArray) -> None:
        """Count a finished run.

        bump: (N_BINS,) its mass over the bins. weight: what it counts, above 0 to 1. keep:
        (experts,) the share of each row that it leaves.
        """
        counts = self.counts * keep.astype(np.float32)[:, None]
        counts += np.float32(weight) * bump
        self.runs += 1
        if self.runs % _SWEEP_EVERY == 0:
            counts[counts < _NOTHING] = 0.0
        self.counts = counts
        self.totals = self.totals * keep + weight


class OwnerPast(_Past):
    """One owner's past over all its tasks: the parent of a task's experts.

    Everybody's runs are the last of those that are credited.
    """

    __slots__ = ()

    def __init__(self, experts: int) -> None:
        super().__init__(experts, experts + 1)


class TaskPast(_Past):
    """One task's past.

    open_runs: how many were submitted and have not ended. running: those of them that started,
    and when.
    """

    __slots__ = ("last_finish_s", "last_starts", "last_usual_s", "open_runs", "running", "usual")

    def __init__(self, experts: int) -> None:
        super().__init__(experts, experts)
        self.last_finish_s: float | None = None
        self.usual = Usual()
        self.last_usual_s: float | None = None
        self.running: dict[str, float] = {}
        self.open_runs = 0
        self.last_starts: FloatArray | None = None

    def learn(self, runtime_s: float, bump: FloatArray, weight: float, keep: FloatArray) -> None:
        """Count a finished run, and its runtime towards the usual one."""
        self.count(bump, weight, keep)
        self.usual.add(runtime_s)
        self.last_usual_s = None

    @property
    def usual_s(self) -> float | None:
        """The median runtime; None before the first."""
        if self.last_usual_s is None:
            self.last_usual_s = self.usual.median_s()
        return self.last_usual_s

    def started(self, run: str, at_s: float) -> None:
        """An open run started."""
        self.running[run] = at_s
        self.last_starts = None

    def ended(self, run: str) -> None:
        """An open run ended."""
        self.open_runs -= 1
        if self.running.pop(run, None) is not None:
            self.last_starts = None

    def starts(self) -> FloatArray:
        """(up to MAX_SURVIVORS,) when those that run started, the longest running first.

        Those say the most about runtimes: one that has just started says nothing.
        """
        if self.last_starts is None:
            self.last_starts = np.array(sorted(self.running.values())[:MAX_SURVIVORS])
        return self.last_starts

    def finished(self, at_s: float) -> None:
        """A run finished at this time; a clock that goes back changes nothing."""
        if self.last_finish_s is None or at_s > self.last_finish_s:
            self.last_finish_s = at_s
