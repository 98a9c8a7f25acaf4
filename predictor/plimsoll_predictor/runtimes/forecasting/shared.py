"""The memory of all tasks together: everybody's runtimes, experts' weights, the calibration."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

import numpy as np

from plimsoll_predictor.core.units import DAY_S, HOUR_S
from plimsoll_predictor.runtimes.forecasting.grid import EDGES, N_BINS, FloatArray
from plimsoll_predictor.runtimes.forecasting.settings import Settings

# A context: how many runs are known, and how long ago the last one finished.
RUNS_UP_TO = (0, 1, 2, 5, 20, 100)
AGES_S = (120.0, HOUR_S, DAY_S)
N_RUNS = len(RUNS_UP_TO) + 1
N_AGES = len(AGES_S) + 1
# A class of width: how far, in ln(runtime), a forecast spans these shares before its calibration.
SPANNED = (0.04, 0.96)
WIDTHS_UP_TO = (0.6, 1.0, 1.6, 2.6)
N_WIDTHS = len(WIDTHS_UP_TO) + 1
PIT_BINS = 40
PIT_EDGES = np.linspace(0.0, 1.0, PIT_BINS + 1)
PIT_EDGES.setflags(write=False)


def context_of(runs: int, age_s: float | None) -> tuple[int, int]:
    """The classes of a number of known runs and of the last finish's age; None: never."""
    of_age = N_AGES - 1 if age_s is None else bisect_right(AGES_S, age_s)
    return bisect_left(RUNS_UP_TO, runs), of_age


def width_of(mixed: FloatArray) -> int:
    """The class of a forecast's width. mixed: (N_BINS + 1,) the share below each edge."""
    low, high = np.interp(SPANNED, mixed, EDGES).tolist()
    return bisect_left(WIDTHS_UP_TO, high - low)


class Shared:
    """The part of a forecaster's memory that all tasks teach.

    counts: (N_BINS,) of everybody's runs; everybody: the same as a distribution, float32, replaced
    and never written to. weights: (N_RUNS, N_AGES, experts); owner_weights: (N_RUNS, owner experts
    + 1). pit, pit_in_context: (N_RUNS, PIT_BINS) and (N_RUNS, N_AGES, PIT_BINS), counts of runs by
    the share of their forecast below them; pit_of_width, pit_of_width_in_context: the same for each
    of N_WIDTHS, in float32, since where steady tasks fall says nothing about tasks that vary.
    feature_weights: (N_RUNS, N_AGES, 2) of all those experts together, and of the one that knows
    features. featured_pit, featured_pit_of_width: like pit, for forecasts that this expert moved.
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
        self.pit_of_width, self.pit_of_width_in_context = no_pits_of_width()
        self.feature_weights: FloatArray = np.full((N_RUNS, N_AGES, 2), 0.5)
        self.featured_pit: FloatArray = np.zeros((N_RUNS, PIT_BINS))
        self.featured_pit_of_width, _ = no_pits_of_width()
        # By known runs, since a run changes the curves of all with so many.
        self._curves: dict[int, dict[int, FloatArray]] = {}
        self._curves_of_width: dict[int, dict[tuple[int, int], FloatArray]] = {}
        self._featured_curves: dict[int, dict[int, FloatArray]] = {}

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

    def calibrate(self, context: tuple[int, int], width: int, share: float, weight: float) -> None:
        """Count where a run fell in its forecast before calibration, 0 to 1."""
        runs, age = context
        pits = (
            self.pit[runs],
            self.pit_in_context[context],
            self.pit_of_width[width, runs],
            self.pit_of_width_in_context[width, runs, age],
        )
        self._count(pits, share, weight)
        self._curves.pop(runs, None)
        self._curves_of_width.pop(runs, None)

    def curve(self, context: tuple[int, int]) -> FloatArray:
        """(PIT_BINS + 1,) ascending from 0 to 1: the share that truly lies below each PIT_EDGES.

        Over forecasts of any width: what the feature expert moves has to stay the same thing while
        forecasts get wider and narrower.
        """
        runs, age = context
        curves = self._curves.setdefault(runs, {})
        if age not in curves:
            settings = self._settings
            curves[age] = _leaning(
                (settings.calibration_prior, self.pit[runs]),
                (settings.calibration_context_prior, self.pit_in_context[context]),
            )
        return curves[age]

    def curve_of_width(self, context: tuple[int, int], width: int) -> FloatArray:
        """The same over forecasts as wide as this one, for a forecast that nothing moves."""
        runs, age = context
        curves = self._curves_of_width.setdefault(runs, {})
        if (width, age) not in curves:
            settings, in_context = self._settings, self.pit_of_width_in_context
            curves[width, age] = _leaning(
                (settings.calibration_prior, self.pit[runs]),
                (settings.calibration_width_prior, self.pit_of_width[width, runs]),
                (settings.calibration_context_prior, in_context[width, runs, age]),
            )
        return curves[width, age]

    def calibrate_featured(self, runs: int, width: int, share: float, weight: float) -> None:
        """The same, for a forecast that the feature expert moved. runs: the class of known runs."""
        self._count(
            (self.featured_pit[runs], self.featured_pit_of_width[width, runs]), share, weight
        )
        self._featured_curves.pop(runs, None)

    def featured_curve(self, runs: int, width: int) -> FloatArray:
        """``curve_of_width`` for a forecast that the feature expert moved."""
        curves = self._featured_curves.setdefault(runs, {})
        if width not in curves:
            settings = self._settings
            curves[width] = _leaning(
                (settings.calibration_prior, self.featured_pit[runs]),
                (settings.calibration_width_prior, self.featured_pit_of_width[width, runs]),
            )
        return curves[width]

    def _count(self, pits: Sequence[FloatArray], share: float, weight: float) -> None:
        keep = 0.5 ** (weight / self._settings.calibration_half_life)
        at = min(int(share * PIT_BINS), PIT_BINS - 1)
        for pit in pits:
            pit *= keep
            pit[at] += weight

    def restore_features(
        self, weights: FloatArray, pit: FloatArray, pit_of_width: FloatArray
    ) -> None:
        """Replace ``feature_weights``, ``featured_pit`` and ``featured_pit_of_width``."""
        self.feature_weights, self.featured_pit = weights, pit
        self.featured_pit_of_width = pit_of_width
        self._featured_curves.clear()

    def restore(
        self,
        total: float,
        counts: FloatArray,
        weights: tuple[FloatArray, FloatArray],
        pits: tuple[FloatArray, FloatArray],
        pits_of_width: tuple[FloatArray, FloatArray],
    ) -> None:
        """Replace all else: see the class for the shapes; weights are the tasks', the owners'."""
        self.total, self.counts = total, counts
        self.everybody = (counts / total).astype(np.float32)
        self.weights, self.owner_weights = weights
        self.pit, self.pit_in_context = pits
        self.pit_of_width, self.pit_of_width_in_context = pits_of_width
        self._curves.clear()
        self._curves_of_width.clear()


def no_pits_of_width() -> tuple[FloatArray, FloatArray]:
    """``pit_of_width`` and ``pit_of_width_in_context`` before the first run."""
    of_width = np.zeros((N_WIDTHS, N_RUNS, PIT_BINS), dtype=np.float32)
    return of_width, np.zeros((N_WIDTHS, N_RUNS, N_AGES, PIT_BINS), dtype=np.float32)


def _leaning(*levels: tuple[float, FloatArray]) -> FloatArray:
    """The curve of counts that lean on those before them, the first ones on a flat curve.

    levels: how many runs' worth of what is before each, and its counts.
    """
    counts = np.ones(PIT_BINS)
    for prior, pit in levels:
        counts *= prior / counts.sum()
        counts += pit
    return _summed(counts)


def _summed(counts: FloatArray) -> FloatArray:
    curve = np.zeros(len(counts) + 1)
    np.cumsum(counts, out=curve[1:])
    curve /= curve[-1]
    return curve
