"""The memory of all tasks together: everybody's runtimes, experts' weights, the calibration."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

import numpy as np

from plimsoll_predictor.core.units import DAY_S, HOUR_S
from plimsoll_predictor.runtimes.forecasting.grid import N_BINS, FloatArray
from plimsoll_predictor.runtimes.forecasting.settings import Settings

# A context: how many runs are known, and how long ago the last one finished.
RUNS_UP_TO = (0, 1, 2, 5, 20, 100)
AGES_S = (120.0, HOUR_S, DAY_S)
N_RUNS = len(RUNS_UP_TO) + 1
N_AGES = len(AGES_S) + 1
PIT_BINS = 40
PIT_EDGES = np.linspace(0.0, 1.0, PIT_BINS + 1)
PIT_EDGES.setflags(write=False)


def context_of(runs: int, age_s: float | None) -> tuple[int, int]:
    """The classes of a number of known runs and of the last finish's age; None: never."""
    of_age = N_AGES - 1 if age_s is None else bisect_right(AGES_S, age_s)
    return bisect_left(RUNS_UP_TO, runs), of_age


class Shared:
    """The part of a forecaster's memory that all tasks teach.

    counts: (N_BINS,) of everybody's runs; everybody: the same as a distribution, float32, replaced
    and never written to. weights: (N_RUNS, N_AGES, experts); owner_weights: (N_RUNS, owner experts
    + 1). pit, pit_in_context: (N_RUNS, PIT_BINS) and (N_RUNS, N_AGES, PIT_BINS), counts of runs by
    the share of their forecast below them. feature_weights: (N_RUNS, N_AGES, 2) of all those
    experts together, and of the one that knows features. featured_pit: (N_RUNS, PIT_BINS), like
    pit, for forecasts that this expert moved.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        tasks, owners = len(settings.task_half_lives), len(settings.owner_half_lives) + 1
        self.total = 1.0
        self.counts: FloatArray = np.full(N_BINS, 1.0 / N_BINS)
        self.everybody: FloatArray = self.counts.astype(np.float32)
        self.weights: FloatArray = np.full((N_RUNS, N_AGES, tasks), 1.0 / tasks)
        self.owner_weights: FloatArray = np.full((N_RUNS, owners), 1.0 / owners)
        self.pit: FloatArray = np.zeros((N_RUNS, PIT_BINS))
        self.pit_in_context: FloatArray = np.zeros((N_RUNS, N_AGES, PIT_BINS))
        self.feature_weights: FloatArray = np.full((N_RUNS, N_AGES, 2), 0.5)
        self.featured_pit: FloatArray = np.zeros((N_RUNS, PIT_BINS))
        self._curves: dict[tuple[int, int], FloatArray] = {}
        self._featured_curves: dict[int, FloatArray] = {}

    def learn(self, bump: FloatArray, weight: float) -> None:
        """Count anybody's run. bump: (N_BINS,) its mass over the bins."""
        keep = 0.5 ** (weight / self._settings.global_half_life)
        self.counts = self.counts * keep
        self.counts += weight * bump
        self.total = self.total * keep + weight
        self.everybody = (self.counts / self.total).astype(np.float32)

    def credit(self, weights: FloatArray, right: FloatArray, rate: float) -> None:
        """Move the weights of a context towards the experts that were right.

        weights: a view of this object's weights; it is changed in place. right: shares that sum to
        1, one per weight.
        """
        floor = self._settings.weight_floor
        weights *= 1.0 - rate
        weights += rate * ((1.0 - floor) * right + floor / len(right))

    def calibrate(self, context: tuple[int, int], share: float, weight: float) -> None:
        """Count where a run fell in its forecast before calibration, 0 to 1."""
        keep = 0.5 ** (weight / self._settings.calibration_half_life)
        at = min(int(share * PIT_BINS), PIT_BINS - 1)
        for pit in (self.pit[context[0]], self.pit_in_context[context]):
            pit *= keep
            pit[at] += weight
        for age in range(N_AGES):
            self._curves.pop((context[0], age), None)

    def curve(self, context: tuple[int, int]) -> FloatArray:
        """(PIT_BINS + 1,) ascending from 0 to 1: the share that truly lies below each PIT_EDGES."""
        if context not in self._curves:
            self._curves[context] = self._new_curve(context)
        return self._curves[context]

    def calibrate_featured(self, runs_class: int, share: float, weight: float) -> None:
        """The same, for a forecast that the feature expert moved."""
        pit = self.featured_pit[runs_class]
        pit *= 0.5 ** (weight / self._settings.calibration_half_life)
        pit[min(int(share * PIT_BINS), PIT_BINS - 1)] += weight
        self._featured_curves.pop(runs_class, None)

    def featured_curve(self, runs_class: int) -> FloatArray:
        """``curve`` for forecasts that the feature expert moved."""
        if runs_class not in self._featured_curves:
            prior = self._settings.calibration_prior / PIT_BINS
            self._featured_curves[runs_class] = _summed(self.featured_pit[runs_class] + prior)
        return self._featured_curves[runs_class]

    def restore_features(self, weights: FloatArray, pit: FloatArray) -> None:
        """Replace ``feature_weights`` and ``featured_pit``."""
        self.feature_weights, self.featured_pit = weights, pit
        self._featured_curves.clear()

    def restore(
        self,
        total: float,
        counts: FloatArray,
        weights: tuple[FloatArray, FloatArray],
        pits: tuple[FloatArray, FloatArray],
    ) -> None:
        """Replace all of it: see the class for the shapes; weights are the tasks', the owners'."""
        self.total, self.counts = total, counts
        self.everybody = (counts / total).astype(np.float32)
        self.weights, self.owner_weights = weights
        self.pit, self.pit_in_context = pits
        self._curves.clear()

    def _new_curve(self, context: tuple[int, int]) -> FloatArray:
        settings = self._settings
        general = self.pit[context[0]] + settings.calibration_prior / PIT_BINS
        general *= settings.calibration_context_prior / general.sum()
        general += self.pit_in_context[context]
        return _summed(general)


def _summed(counts: FloatArray) -> FloatArray:
    curve = np.zeros(len(counts) + 1)
    np.cumsum(counts, out=curve[1:])
    curve /= curve[-1]
    return curve
