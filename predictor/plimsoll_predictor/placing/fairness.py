"""Keeps kinds from paying for others: who suffers more than at random gets a say in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from plimsoll_predictor.placing.matrix import Array

STEP: Final = 2.0
"""What a run's excess over its kind's slowdown at random adds to its kind's balance. Of 12 drawn
worlds it is the least step, of five tried, with which no kind of any was slower by 2%."""
MOST: Final = 10.0
LEAST: Final = -2.0
"""So much a kind that did better than at random has in hand, before it gets a say again. Without
any, single slow runs gave a say to kinds that did well, and all lost by it."""
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
    """Balances of kinds: above zero, and then their weight, while they do worse than at random.

    at_random: a kind's slowdown beside a neighbour as it comes.
    """

    at_random: Array
    balances: Array = field(init=False)

    def __post_init__(self) -> None:
        """Begin with nobody worse off."""
        self.balances = np.zeros(len(self.at_random))

    @property
    def weights(self) -> Array:
        """What each kind's excess counts."""
        return np.maximum(0.0, self.balances)

    def renew(self, at_random: Array) -> None:
        """Take over what is known now; balances stay, by places."""
        grown = np.zeros(len(at_random))
        grown[: len(self.balances)] = self.balances[: len(at_random)]
        self.at_random, self.balances = at_random, grown

    def ended(self, kind: int, slowdown: float) -> None:
        """Count a run that ended."""
        excess = slowdown / self.at_random[kind] - 1.0
        self.balances[kind] = min(MOST, max(LEAST, self.balances[kind] + STEP * excess))

    def excess(self, slowdowns: Array) -> Array:
        """Return what each pair costs the row's kind over what it has at random, weighted."""
        over = slowdowns / self.at_random[:, None] - 1.0
        return np.asarray(self.weights[:, None] * over)
