"""Keeps kinds from paying for others: a kind that suffers more than at random gets weight."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from plimsoll_predictor.placing.chance import random_slowdowns
from plimsoll_predictor.placing.matrix import Array
from plimsoll_predictor.placing.soft_pairing import MOST_EXCESS

STEP: Final = 0.01
"""A run adds this share of its excess to its kind's weight. The excess is its slowdown over its
kind's at random, beyond MOST_EXCESS. Both are in spreads of the kind: what is much for a kind that
nobody slows is little for others."""
MOST: Final = 0.1
"""The largest weight, in the same unit. The believed slowdowns at random are a little off, and the
errors would add up."""
LEAST_SPREAD: Final = 0.05


@dataclass(slots=True)
class Fairness:
    """Weights of kinds: zero as long as they do nearly as well as at random.

    at_random: a kind's slowdown beside neighbours as they come. over: the share of that by which
    the row's kind is slowed more beside the column's. spread: that of ``over`` for each kind.
    """

    at_random: Array = field(init=False, default_factory=lambda: np.ones(0))
    over: Array = field(init=False, default_factory=lambda: np.ones((0, 0)))
    spread: Array = field(init=False, default_factory=lambda: np.ones(0))
    weights: Array = field(init=False, default_factory=lambda: np.zeros(0))
    """What an excess costs, in slowdowns."""

    def renew(self, slowdowns: Array, shares: Array, work: Array) -> None:
        """Take over what is known now; weights stay at their places."""
        self.at_random = random_slowdowns(slowdowns, shares, work)
        self.over = slowdowns / self.at_random[:, None] - 1.0
        self.spread = np.maximum(LEAST_SPREAD, np.sqrt(self.over**2 @ shares))
        weights = np.zeros(len(shares))
        weights[: len(self.weights)] = self.weights[: len(shares)]
        self.weights = weights

    def ended(self, kind: int, slowdown: float) -> None:
        """Count a run that ended, unless nothing is known about its kind yet."""
        if kind >= len(self.weights):
            return
        spread = self.spread[kind]
        excess = (slowdown / self.at_random[kind] - 1.0 - MOST_EXCESS) / spread
        weight = self.weights[kind] * spread + STEP * excess
        self.weights[kind] = min(MOST, max(0.0, weight)) / spread

    def excess(self) -> Array:
        """Return what each pair costs the row's kind beyond its slowdown at random, weighted."""
        return np.asarray(self.weights[:, None] * self.over)
