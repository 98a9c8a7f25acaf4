"""The size that a task's next run hardly ever exceeds, if it varies as those before it did.

Two views compete: that needs scatter around their mean, and that they grow from run to run. Both
use logarithms, with Student's room for one more run (a prediction interval of a normal sample). Few
runs say little about their spread, so the usual variation of programs' needs counts as well.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

import numpy as np
from numpy.typing import NDArray

from plimsoll_predictor.experts.features.residuals import CHANCE, mean_of, student

WOBBLE: Final = 0.03
"""The likely standard deviation of logarithms, before a task's runs show theirs."""
WOBBLE_RUNS: Final = 0.5
"""How many runs that counts as: without it, two runs alike by chance would leave no room."""
MOST_LOG_ROOM: Final = 0.6
"""Over the usual need, as a logarithm: two or three runs may vary by chance as no task does."""
LEAST_OF_A_TREND: Final = 3
NEARER: Final = 0.5
"""Runs must deviate from their growth by less than this share of the deviation from their mean."""
LATEST: Final = 24
"""The most runs to look at: the needs of a year ago may not hold now."""

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _View:
    """One view of the next run: its predicted logarithm, and how far runs deviate.

    deviation: of one run from the prediction, with ``known`` degrees of freedom. widening: the
        factor by which the variance of the next run is larger.
    """

    predicted: float
    deviation: float
    known: float
    widening: float

    @property
    def bound(self) -> float:
        """The bound that the next run's logarithm hardly exceeds."""
        room = student(CHANCE, self.known) * math.sqrt(self.widening) * self.deviation
        return self.predicted + min(room, MOST_LOG_ROOM)


def hardly_exceeded_bytes(needs_bytes: Sequence[float]) -> float:
    """The size that the next run exceeds with a chance of about ``CHANCE``.

    needs_bytes: of two runs or more, oldest first, each above zero.
    """
    latest = list(islice(needs_bytes, max(0, len(needs_bytes) - LATEST), None))
    logs = np.log(np.array(latest, dtype=np.float64))
    view = _scattered(logs)
    if logs.size >= LEAST_OF_A_TREND:
        grown = _grown(logs)
        if grown is not None and grown.deviation < NEARER * view.deviation:
            view = grown
    return math.exp(view.bound)


def _scattered(logs: Vector) -> _View:
    n, mean = logs.size, mean_of(logs)
    centred = logs - mean
    return _view(mean, float(centred @ centred), n - 1, 1 + 1 / n)


def _grown(logs: Vector) -> _View | None:
    """The view of a line over the runs' order; None where needs do not grow."""
    n, mean = logs.size, mean_of(logs)
    places = np.arange(n) - (n - 1) / 2
    spread = float(places @ places)
    slope = float(places @ logs) / spread
    if slope <= 0:
        return None
    ahead = (n + 1) / 2
    residuals = logs - mean - slope * places
    squares = float(residuals @ residuals)
    return _view(mean + slope * ahead, squares, n - 2, 1 + 1 / n + ahead**2 / spread)


def _view(predicted: float, squares: float, freedom: int, widening: float) -> _View:
    """A view from the sum of its squared residuals."""
    known = WOBBLE_RUNS + freedom
    deviation = math.sqrt((WOBBLE_RUNS * WOBBLE**2 + squares) / known)
    return _View(predicted, deviation, known, widening)
