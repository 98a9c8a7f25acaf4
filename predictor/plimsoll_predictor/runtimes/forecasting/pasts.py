"""The known runtimes of a task, and of an owner: histograms that forget."""

from __future__ import annotations

import numpy as np

from plimsoll_predictor.core.units import DAY_S
from plimsoll_predictor.runtimes.features.asked import NOTHING_ASKED, AskedRun
from plimsoll_predictor.runtimes.features.lines import Lines
from plimsoll_predictor.runtimes.features.row import KEPT, Newest
from plimsoll_predictor.runtimes.forecasting.grid import N_BINS, FloatArray
from plimsoll_predictor.runtimes.forecasting.settings import MAX_SURVIVORS
from plimsoll_predictor.runtimes.forecasting.usual import Usual

# Counts this small mean nothing, and as denormal numbers they would slow every later sum.
_NOTHING = 1e-9
_SWEEP_EVERY = 32
MOST_COUNTED = 2.0**15
"""In runs: a row with more is halved, which is exact. In float32, a run of a burst of fifty would
add nothing to the full bins of a row that counts half a million."""


class _Past:
    """Histograms of runtimes, one per expert.

    runs: how many finished. counts: (experts, N_BINS) float32, replaced and never written to.
    totals: (experts,) the sums of the rows. credit: (credited,) how often each was right.
    newest_ln: ln(runtime) of the newest few, the newest first. last_finish_s: when the last one
    finished; None before the first.
    """

    __slots__ = ("counts", "credit", "last_finish_s", "newest_ln", "runs", "totals")

    def __init__(self, experts: int, credited: int) -> None:
        self.runs = 0
        self.counts: FloatArray = np.zeros((experts, N_BINS), dtype=np.float32)
        self.totals: FloatArray = np.zeros(experts)
        self.credit: FloatArray = np.zeros(credited)
        self.newest_ln: tuple[float, ...] = ()
        self.last_finish_s: float | None = None

    def count(self, bump: FloatArray, weight: float, keep: FloatArray) -> None:
        """Count a finished run.

        bump: (N_BINS,) its mass over the bins. weight: how much it counts, above 0 to 1. keep:
        (experts,) the share of each row that stays.
        """
        keep = np.where(self.totals < MOST_COUNTED, keep, 0.5 * keep)
        counts = self.counts * keep.astype(np.float32)[:, None]
        counts += np.float32(weight) * bump
        self.runs += 1
        if self.runs % _SWEEP_EVERY == 0:
            counts[counts < _NOTHING] = 0.0
        self.counts = counts
        self.totals = self.totals * keep + weight

    def newest(self) -> Newest:
        """The part of it that the feature expert reads."""
        return Newest(self.runs, self.newest_ln, self.last_finish_s)

    def finished(self, runtime_ln: float, at_s: float) -> None:
        """Count a run that finished at this time.

        Runs may be told a little out of order; if one finished a day before the last one, the clock
        of the last one was ahead.
        """
        self.newest_ln = (runtime_ln, *self.newest_ln[: KEPT - 1])
        last_s = self.last_finish_s
        if last_s is None or at_s > last_s or at_s < last_s - DAY_S:
            self.last_finish_s = at_s


class OwnerPast(_Past):
    """One owner's past over all its tasks: the parent of a task's experts.

    Everybody's runs are the last of the experts that are credited.
    """

    __slots__ = ()

    def __init__(self, experts: int) -> None:
        super().__init__(experts, experts + 1)


class TaskPast(_Past):
    """One task's past.

    open_runs: how many were submitted and have not ended. running: those that started, and when.
    lines: ln(runtime) against its features. asked: by the run that finished last, without the load.
    feature_credit: (2,) how often all others were right, and the expert that knows features.
    """

    __slots__ = (
        "asked",
        "feature_credit",
        "last_starts",
        "last_usual_s",
        "lines",
        "open_runs",
        "running",
        "usual",
    )

    def __init__(self, experts: int) -> None:
        super().__init__(experts, experts)
        self.usual = Usual()
        self.last_usual_s: float | None = None
        self.running: dict[str, float] = {}
        self.open_runs = 0
        self.last_starts: FloatArray | None = None
        self.lines = Lines()
        self.asked: AskedRun = NOTHING_ASKED
        self.feature_credit: FloatArray = np.zeros(2)

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
        """(up to MAX_SURVIVORS,) starts of the runs that run now, the longest running first.

        The longest running say the most about runtimes: one that has just started says nothing.
        """
        if self.last_starts is None:
            self.last_starts = np.array(sorted(self.running.values())[:MAX_SURVIVORS])
        return self.last_starts
