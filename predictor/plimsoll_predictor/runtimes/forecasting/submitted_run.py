"""A run that was submitted: its forecast is kept until the run ends and can be scored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from plimsoll_predictor.runtimes.features.asked import NOTHING_ASKED, AskedRun
from plimsoll_predictor.runtimes.features.feature_expert import SHARES, WIDTHS, moved, place_of
from plimsoll_predictor.runtimes.forecasting.forecast import Forecast
from plimsoll_predictor.runtimes.forecasting.grid import EDGES, N_BINS, WIDTH, FloatArray, bin_of
from plimsoll_predictor.runtimes.forecasting.shared import PIT_EDGES, width_of

NO_COUNTS: Final[FloatArray] = np.zeros((0, N_BINS), dtype=np.float32)
NO_TOTALS: Final[FloatArray] = np.zeros(0)
# An expert that ruled a result out still gets this mass for it.
_LEAST = 1e-9


@dataclass(slots=True, eq=False)
class ParentExperts:
    """The parent's experts at a submission. The arrays are those of that time, never written to.

    counts: (experts, N_BINS) float32 of the owner and totals: (experts,), the share of
    everybody included; both without rows for an unknown owner. everybody: (N_BINS,) float32.
    weights: (experts + 1,), everybody's the last.
    """

    counts: FloatArray
    totals: FloatArray
    everybody: FloatArray
    weights: FloatArray

    def right(self, at: int, own: float) -> FloatArray | None:
        """(experts + 1,) each expert's part in the forecast of bin ``at``; sums to 1."""
        if not len(self.counts):
            return None
        masses = np.empty(len(self.weights))
        everybody = float(self.everybody[at])
        masses[:-1] = (self.counts[:, at] + own * everybody) / self.totals
        masses[-1] = everybody
        return _parts(self.weights, masses)


@dataclass(slots=True, eq=False)
class TaskExperts:
    """A task's experts at a submission.

    counted: (experts, N_BINS) float32, with the share of the parent and of the runs then running;
    without rows for a task without runs. totals: (experts,) the sums of the rows. weights:
    (experts,) above 0. mixed: (N_BINS + 1,) the share of all together below each edge.
    """

    counted: FloatArray
    totals: FloatArray
    weights: FloatArray
    mixed: FloatArray

    def right(self, at: int) -> FloatArray | None:
        """(experts,) each expert's part in the forecast of bin ``at``; sums to 1."""
        if not len(self.counted):
            return None
        return _parts(self.weights, self.counted[:, at] / self.totals)

    @property
    def width(self) -> int:
        """The class of the mixture's width, before calibration."""
        return width_of(self.mixed)

    def share_below(self, runtime_ln: float) -> float:
        """The share of the mixture below a runtime, before calibration."""
        at = bin_of(runtime_ln)
        inside = min(max((runtime_ln - float(EDGES[at])) / WIDTH, 0.0), 1.0)
        return float(self.mixed[at] + inside * (self.mixed[at + 1] - self.mixed[at]))


@dataclass(slots=True, eq=False)
class Featured:
    """How the expert that knows features moved a run's forecast.

    masses: (N_SHARES,) its answer. weight: its part against all other experts together, 0 to 1.
    curve: the calibration of its forecasts at that time; replaced and never written to.
    """

    masses: FloatArray
    weight: float
    curve: FloatArray

    def right(self, share: float) -> FloatArray:
        """(2,) the parts of the others and of this one in the forecast of a runtime; sums to 1."""
        at = place_of(share)
        likelier = float(self.masses[at] / WIDTHS[at])
        masses = np.array([1.0 - self.weight, self.weight * likelier])
        masses /= masses.sum()
        return masses

    def before_curve(self, shares: FloatArray) -> FloatArray:
        """Convert shares of the mixture's forecast to shares of the moved forecast."""
        below: FloatArray = np.interp(shares, SHARES, moved(self.masses, self.weight))
        return below


@dataclass(slots=True, eq=False)
class SubmittedRun:
    """A run, and all that is needed to score its forecast.

    open_beside: other runs of its task that were open at its submission. context: see
    ``context_of``. curve, curve_of_width: the calibrations then, over forecasts of any width, and
    over those as wide as this one; replaced and never written to. asked: what is known of the run
    itself. featured: None without a feature expert. row: the feature expert's input, if it is to
    learn from this run. _cdf: kept for a second call.
    """

    task: str
    owner: str
    submitted_s: float
    started_s: float | None
    open_beside: int
    context: tuple[int, int]
    known_runs: int
    usual_s: float | None
    parent: ParentExperts
    experts: TaskExperts
    curve: FloatArray
    curve_of_width: FloatArray
    asked: AskedRun = NOTHING_ASKED
    featured: Featured | None = None
    row: list[float] | None = None
    _cdf: FloatArray | None = None

    @property
    def alone(self) -> float:
        """1 for a run that was open alone, less in a burst: a burst teaches as one run."""
        return 1.0 / (1.0 + self.open_beside)

    def forecast(self) -> Forecast:
        """The forecast that the run was given."""
        if self.featured is None:
            cdf = np.interp(self.experts.mixed, PIT_EDGES, self.curve_of_width)
        else:
            moved_cdf = self.featured.before_curve(self.cdf())
            cdf = np.interp(moved_cdf, PIT_EDGES, self.featured.curve)
        return Forecast.of_cdf(cdf, self.known_runs, self.usual_s)

    def cdf(self) -> FloatArray:
        """(N_BINS + 1,) the share below each edge that the feature expert moves."""
        if self._cdf is None:
            self._cdf = np.interp(self.experts.mixed, PIT_EDGES, self.curve)
        return self._cdf

    def share_below(self, runtime_ln: float) -> float:
        """The share of ``cdf`` below a runtime."""
        return float(np.interp(self.experts.share_below(runtime_ln), PIT_EDGES, self.curve))


def _parts(weights: FloatArray, masses: FloatArray) -> FloatArray:
    parts: FloatArray = weights * (masses + _LEAST)
    parts /= parts.sum()
    return parts
