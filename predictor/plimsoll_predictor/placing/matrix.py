"""Which kinds slow which by how much, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from plimsoll_predictor.placing.kinds import OTHERS

Array = NDArray[np.float64]

TELLING: Final = 0.1
"""A logarithm with a larger standard deviation is not told as a fact. This is a little more than
the difference of one pair from what both kinds do in general."""
Z_90: Final = 1.645
MOST_UNTOLD: Final = math.log(2.0)
"""A θ that is not told counts as no worse than the worst that is, or, if that is more, as this. A
guess of twenty times would set prices and orders of all kinds, also of those that have nothing to
do with it."""
SURELY: Final = 4.0
"""Standard deviations by which no pair of any matrix is off by chance."""
SLIGHTLY: Final = 0.05
"""A logarithm that is nearer to 0 is as good as 0."""


def shares_of_jobs(shares: Array, least: float) -> Array:
    """Return shares that add up to 1. least: what a kind counts as at least, before that."""
    jobs = np.maximum(shares, least)
    return np.asarray(jobs / jobs.sum())


@dataclass(frozen=True, slots=True)
class Slowdown:
    """How many times longer one kind takes beside one of another.

    low, high: the true value lies between them in nine of ten cases.
    known: whether they are near enough to each other to say so.
    """

    times: float
    low: float
    high: float
    known: bool


@dataclass(frozen=True, slots=True)
class Matrix:
    """What is believed of all pairs of kinds. Arrays have a row and a column per kind.

    theta: ln of how many times longer the row's kind takes for each neighbour of the column's.
    deviation: one standard deviation of theta. own: a row's ln that no neighbour explains (the
    error of its forecast alone). shares: of the latest runs.
    apart: one standard deviation of (theta - the mean effect of other neighbours on the row's
    kind); None if it was not computed. If a task never runs alone, that difference may be known
    while theta is not.
    noise: one standard deviation of a run of the row's kind; None if it is not known.
    together: one standard deviation of (own + theta); None if it was not computed.
    """

    kinds: tuple[str, ...]
    theta: Array
    deviation: Array
    own: Array
    shares: Array
    apart: Array | None = None
    noise: Array | None = None
    together: Array | None = None
    _places: Mapping[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Raise ValueError where the arrays do not belong together."""
        size = len(self.kinds)
        shapes = (self.theta.shape, self.deviation.shape, self.own.shape, self.shares.shape)
        if shapes != ((size, size), (size, size), (size,), (size,)):
            message = f"{size} kinds, but arrays of {shapes}"
            raise ValueError(message)
        object.__setattr__(self, "_places", {kind: n for n, kind in enumerate(self.kinds)})

    def place(self, kind: str) -> int:
        """The row and column of a kind: that of OTHERS where it is not told apart."""
        return self._places.get(kind, self._places.get(OTHERS, 0))

    @property
    def least_deviation(self) -> Array:
        """One standard deviation: of theta, or of how much it differs from others', if less."""
        if self.apart is None:
            return self.deviation
        return np.minimum(self.deviation, self.apart)

    @property
    def _faster(self) -> NDArray[np.bool_]:
        """Whether a neighbour seems to make a run faster.

        It hardly ever does. Of pods that start together, those that run long are the last beside
        fewer, and so are those that start late and sleep until a time of day.
        """
        return np.asarray(self.theta + Z_90 * self.deviation < 0)

    @property
    def doubted(self) -> NDArray[np.bool_]:
        """Pairs about which nothing is told, whatever their intervals.

        If any neighbour surely seems to make a kind faster, how long the kind runs decides whom it
        meets: then the other slowdowns of its row are as wrong.
        """
        seem = self._faster & (self.theta < -SLIGHTLY)
        surely = self.theta + SURELY * self.deviation < -SLIGHTLY
        return np.asarray(seem | np.any(surely, axis=1, keepdims=True))

    @property
    def believed(self) -> Array:
        """Theta, but 0 where a neighbour seems to make a run faster."""
        return np.where(self._faster, 0.0, self.theta)

    @property
    def known(self) -> NDArray[np.bool_]:
        """Whether a slowdown is known by itself."""
        return np.asarray((self.deviation <= TELLING) & ~self.doubted)

    @property
    def told(self) -> NDArray[np.bool_]:
        """Whether a slowdown is known, by itself or by how much it differs from others'."""
        return np.asarray((self.least_deviation <= TELLING) & ~self.doubted)

    @property
    def slowdowns(self) -> Array:
        """How many times longer the row's kind takes beside one of the column's.

        A guess counts as at least once and at most MOST_UNTOLD.
        """
        return np.exp(self._bounded_theta())

    @property
    def times_forecast(self) -> Array:
        """The runtime of the row's kind beside one of the column's, divided by a forecast.

        The forecast is for the kind alone. The quotient includes what no neighbour explains. It is
        known even if a task never runs alone: its time beside each is seen, and only the split
        between itself and its neighbours is not. If the sum is a guess, too, theta counts as at
        most MOST_UNTOLD.
        """
        theta = self._bounded_theta()
        if self.together is not None:
            theta = np.where(self.together <= TELLING, self.believed, theta)
        return np.exp(self.own[:, None] + theta)

    def _bounded_theta(self) -> Array:
        most = float(self.theta[self.told].max(initial=MOST_UNTOLD))
        return np.where(self.told, self.believed, np.clip(self.believed, 0.0, most))

    @property
    def known_pairs(self) -> int:
        """Pairs of kinds that are told apart and have a known slowdown, in each direction."""
        named = [place for place, kind in enumerate(self.kinds) if kind != OTHERS]
        return int(self.known[np.ix_(named, named)].sum())

    def moved_since(self, before: Matrix, unknown: float) -> float:
        """Return the largest change of a θ that is known at least half as well as one that is told.

        unknown: what was believed of pairs that were not told apart.
        """
        shared = [at for at, kind in enumerate(self.kinds) if kind in before._places]
        then = [before.place(self.kinds[at]) for at in shared]
        believed = np.full(self.theta.shape, unknown)
        believed[np.ix_(shared, shared)] = before.theta[np.ix_(then, then)]
        moved = np.abs(self.theta - believed)
        return float(moved[self.deviation <= 2 * TELLING].max(initial=0.0))

    def slowdown(self, kind: str, neighbour: str) -> Slowdown:
        """The slowdown of one kind beside one neighbour of another."""
        at = self.place(kind), self.place(neighbour)
        theta, deviation = float(self.theta[at]), float(self.deviation[at])
        low, high = theta - Z_90 * deviation, theta + Z_90 * deviation
        known = bool(self.known[at])
        return Slowdown(float(np.exp(theta)), float(np.exp(low)), float(np.exp(high)), known)
