"""Items of Jobs on the real node: how long each takes, and how many are enough for a judgement."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np

from plimsoll_predictor.splitting.makespans import played_s

WORKERS: Final = 2
MOST_RATIO: Final = 1.10
"""The aim: a makespan over the one that no cut can beat."""
LEAST_WORK_S: Final = 20.0
ORDERS: Final = 1000
MOST_MISSED: Final = 0.05
"""The share of random orders that may be above MOST_RATIO if items are taken one at a time."""
_QUANTILES: Final = 16
_SEED: Final = 5


@dataclass(frozen=True, slots=True)
class Kind:
    """Items of one kind. mean_s: of an item; sigma: of its logarithm."""

    items: int
    mean_s: float
    sigma: float

    @property
    def name(self) -> str:
        """As it is shown, and the name of its task."""
        return f"items-{self.mean_s * 1000:.0f}ms-s{self.sigma * 10:.0f}"

    @property
    def times_us(self) -> list[int]:
        """Middles of equal parts of the distribution, in microseconds, with the mean."""
        parts = (NormalDist().inv_cdf((at + 0.5) / _QUANTILES) for at in range(_QUANTILES))
        times = [math.exp(self.sigma * each) for each in parts]
        scale = self.mean_s * 1e6 * _QUANTILES / sum(times)
        return [round(each * scale) for each in times]

    @property
    def each_s(self) -> list[float]:
        """The time of each item, by the hash of tests/rigs/images/eater.py."""
        times = self.times_us
        return [times[(at * 2654435761 >> 7) % _QUANTILES] / 1e6 for at in range(self.items)]

    @property
    def work_s(self) -> float:
        """The time of all items, one after the other."""
        return sum(self.each_s)


def fair_items(mean_s: float, sigma: float) -> int:
    """Return how many items a kind needs so that the bar judges the method, not the draw.

    It is the smallest multiple of the hash's quantiles with two properties. It is at least
    LEAST_WORK_S of work, so that a start is not most of it; and few random orders miss the bar if
    items are taken one at a time, the best way if the long ones are unknown. With 12 items of 5 s,
    σ 1.5, four of ten orders miss it.
    """
    enough = math.ceil(LEAST_WORK_S / mean_s / _QUANTILES) * _QUANTILES
    while _missed(Kind(enough, mean_s, sigma)) > MOST_MISSED:
        enough += _QUANTILES
    return enough


def _missed(kind: Kind) -> float:
    """Return the share of random orders that miss the bar without a start, one item at a time."""
    draw, each_s = np.random.default_rng(_SEED), np.array(kind.each_s)
    most_s = MOST_RATIO * kind.work_s / WORKERS
    if (kind.work_s + max(each_s)) / WORKERS <= most_s:
        return 0.0  # no order leaves a worker alone for longer than the longest item
    took_s = (played_s(draw.permutation(each_s).tolist(), WORKERS, 0.0) for _ in range(ORDERS))
    return sum(took > most_s for took in took_s) / ORDERS


KINDS: Final = tuple(
    Kind(fair_items(mean_s, sigma), mean_s, sigma)
    for mean_s in (0.01, 0.2, 5.0)
    for sigma in (0.5, 1.5)
)
