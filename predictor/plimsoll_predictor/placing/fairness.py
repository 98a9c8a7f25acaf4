"""Keeps kinds from paying for others: who suffers more than at random gets a say in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from plimsoll_predictor.placing.matrix import Array

STEP: Final = 0.3
"""What a run's excess over its kind's slowdown at random adds to its kind's weight."""
MOST: Final = 3.0
ROUNDS: Final = 20


def random_slowdowns(slowdowns: Array, shares: Array, work: Array) -> Array:
    """Return each kind's slowdown beside one neighbour as it comes.

    A kind that is slow is there for longer, so it is met more often: shares of time, not of jobs.
    """
    met = shares * work
    slow = np.ones(len(shares))
    for _ in range(ROUNDS):
        met = met / met.sum()
        slow = 1 / ((1 / slowdowns) @ met)
        met = shares * work * slow
    return np.asarray(slow)


@dataclass(slots=True)
class Fairness:
    """Weights of kinds: zero as long as they do as well as at random.

    at_random: a kind's slowdown beside a neighbour as it comes.
    """

    at_random: Array
    weights: Array = field(init=False)

    def __post_init__(self) -> None:
        """Begin with nobody worse off."""
        self.weights = np.zeros(len(self.at_random))

    def renew(self, at_random: Array) -> None:
        """Take over what is known now; weights stay, by places."""
        grown = np.zeros(len(at_random))
        grown[: len(self.weights)] = self.weights[: len(at_random)]
        self.at_random, self.weights = at_random, grown

    def ended(self, kind: int, slowdown: float) -> None:
        """Count a run that ended."""
        excess = slowdown / self.at_random[kind] - 1.0
        self.weights[kind] = min(MOST, max(0.0, self.weights[kind] + STEP * excess))

    def excess(self, slowdowns: Array) -> Array:
        """Return what each pair costs the row's kind over what it has at random, weighted."""
        over = slowdowns / self.at_random[:, None] - 1.0
        return np.asarray(self.weights[:, None] * over)
