"""The paper's method in time order: one of 8 shapes, times the median of a task's known runs.

Shapes are learned once, from what is known when the test begins: ratio-normalised, from the tasks
with 20 known runs or more, and the newest 2,000 of each. A task's shape is the one with the highest
posterior likelihood of its known runs (section 5.2); the newest count most. The paper does not
cover a task without a known run: it gets the product's forecast for its owner.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from plimsoll_predictor.replay.runtimes.baselines import (
    HISTORY,
    NOTHING_KNOWN,
    Drawn,
    PastRuns,
    runtime_ln,
)
from plimsoll_predictor.replay.runtimes.method import SHARES, FloatArray, RuntimeForecast
from plimsoll_predictor.replay.runtimes.product import ProductForecast
from plimsoll_predictor.replay.runtimes.protocol import first_tested
from plimsoll_predictor.runtimes.forecasting.forecaster import Forecaster
from plimsoll_predictor.runtimes.runs.log_run import SHORTEST_S, LogRun

if TYPE_CHECKING:
    from plimsoll_predictor.runtimes.shapes.catalogue import ShapeCatalogue

SHAPES: Final = 8
SEED: Final = 7
NEWEST: Final = 100
"""How many known runs decide a label: an older one has a weight below 1 %."""
_EDGES: Final[FloatArray] = np.linspace(0.0, 10.0, 201)
_MIDDLES: Final[FloatArray] = (_EDGES[:-1] + _EDGES[1:]) / 2
_LEAST_S: Final = 1e-3


@dataclass(frozen=True, slots=True)
class Scaled:
    """A forecast: a shape's histogram of ratios times the usual runtime in s."""

    pmf: FloatArray
    usual_s: float

    def quantiles_ln(self) -> FloatArray:
        """The middle of the bin; an outlier counts as the longest ratio there is."""
        bins = np.searchsorted(self._cumulative()[1:], SHARES)
        ratios = _MIDDLES[np.minimum(bins, _MIDDLES.size - 1)]
        quantiles_ln: FloatArray = np.log(np.maximum(ratios * self.usual_s, _LEAST_S))
        return quantiles_ln

    def longer_than(self, seconds: float) -> float:
        """Beyond the longest ratio: the share of outliers."""
        ratio = min(seconds / self.usual_s, _EDGES[-2])
        below = float(np.interp(ratio, _EDGES, self._cumulative()))
        return min(max(1.0 - below, 0.0), 1.0)

    def _cumulative(self) -> FloatArray:
        cumulative = np.concatenate(([0.0], np.cumsum(self.pmf)))
        shares: FloatArray = cumulative / cumulative[-1]
        return shares


@dataclass(slots=True)
class _TaskRuns:
    """Known runtimes in s: as logarithms sorted, and the newest in their order."""

    known: PastRuns = field(default_factory=lambda: PastRuns(HISTORY))
    newest_s: deque[float] = field(default_factory=lambda: deque(maxlen=NEWEST))

    def usual_s(self) -> float:
        """Their median."""
        sorted_ln = self.known.sorted_ln
        low, high = sorted_ln[(len(sorted_ln) - 1) // 2], sorted_ln[len(sorted_ln) // 2]
        return float(np.exp(low) + np.exp(high)) / 2


class PaperShapes:
    """Shapes as forecasts. runs: in the log; the last half of them is the test."""

    def __init__(self, runs: int) -> None:
        self._learns_at = first_tested(runs)
        self._tasks: dict[str, _TaskRuns] = {}
        self._owners = Forecaster()
        self._of_owners: set[int] = set()
        self._catalogue: ShapeCatalogue | None = None

    def submit(self, number: int, run: LogRun) -> RuntimeForecast:
        """Forecast by its task's shape, or by its owner's runs."""
        if number == self._learns_at:
            self._learn_shapes()
        runs = self._tasks.get(run.task)
        if runs is None:
            self._of_owners.add(number)
            return ProductForecast(
                self._owners.submit(str(number), run.task, run.owner, run.submitted_s)
            )
        if self._catalogue is None:
            return Drawn(runs.known.sorted_ln or NOTHING_KNOWN)
        usual_s = runs.usual_s()
        label = self._catalogue.label(runs.newest_s, usual_s)
        return Scaled(self._catalogue.shapes[label.place].pmf, usual_s)

    def start(self, number: int, run: LogRun) -> None:
        """Count it for its owner: an owner's running runs count."""
        self._owners.start(str(number), run.started_s)

    def finish(self, number: int, run: LogRun) -> None:
        """Add a known run to its task and its owner."""
        if number in self._of_owners:
            self._of_owners.remove(number)
            self._owners.finish(str(number), run.runtime_s, run.finished_s)
        else:
            self._owners.learn(run.task, run.owner, run.runtime_s, run.finished_s)
        runs = self._tasks.setdefault(run.task, _TaskRuns())
        runs.known.add(runtime_ln(run))
        runs.newest_s.append(max(run.runtime_s, SHORTEST_S))

    def bytes_per_task(self) -> float | None:
        """It keeps up to 2,000 runs of a task."""
        return None

    def _learn_shapes(self) -> None:
        # Imported late: scikit-learn takes a second to load, and only this method needs it.
        from plimsoll_predictor.runtimes.shapes.fitting import TooFewRuns, fit
        from plimsoll_predictor.runtimes.shapes.normalising import SUPPORT, Normalisation

        histories = [
            np.exp(runs.known.sorted_ln)
            for runs in self._tasks.values()
            if len(runs.known.sorted_ln) >= SUPPORT
        ]
        try:
            fitted = fit(histories, Normalisation.RATIO, seed=SEED, n_shapes=SHAPES)
            self._catalogue = fitted.catalogue
        except TooFewRuns:
            # No task recurs often enough: only the known runs are left.
            self._catalogue = None
