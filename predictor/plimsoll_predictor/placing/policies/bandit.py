"""Hugo's way: each kind has a gradient bandit over the kinds to start beside it.

Source: Thamsen et al., "Hugo: A Cluster Scheduler that Efficiently Learns to Select Complementary
Data-Parallel Jobs" (Euro-Par 2019 workshops, LNCS 11997): groups of jobs, preferences learned from
how well a job did beside the jobs that were there, and a draw among the next in the queue.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from plimsoll_predictor.placing.matrix import Array
from plimsoll_predictor.placing.policies.policy import Choice, Outlook, Residents, Waiting

LOOKS_AT: Final = 7
"""The draw is among so many of the queue's first jobs."""


@dataclass(slots=True)
class Bandit:
    """Preferences of kinds beside kinds, moved along the gradient of the reward.

    step: how far. The reward of a run is its pace, 1 ÷ slowdown, less what has been usual.
    """

    step: float
    seed: int = 0
    preferences: Array = field(init=False, default_factory=lambda: np.zeros((0, 0)))
    _usual: float = field(init=False, default=0.0)
    _runs: int = field(init=False, default=0)
    _draw: random.Random = field(init=False)

    def __post_init__(self) -> None:
        """Begin without preferences."""
        self._draw = random.Random(self.seed)

    def learn(self, outlook: Outlook) -> None:
        """Make room for kinds that are new; it learns from ends alone."""
        size = len(outlook.shares)
        grown = np.zeros((size, size))
        known = min(size, len(self.preferences))
        grown[:known, :known] = self.preferences[:known, :known]
        self.preferences = grown

    def order(self, window: Sequence[Waiting], nodes: Sequence[Residents]) -> Choice:
        """Draw among the first jobs, for the node with the fewest tasks."""
        node = min(range(len(nodes)), key=lambda position: len(nodes[position]))
        kinds = [job.kind for job in window[:LOOKS_AT]]
        chances = self._chances(kinds, nodes[node])
        return Choice(self._draw.choices(range(len(kinds)), chances)[0], node)

    def node(self, kind: int, nodes: Sequence[Residents]) -> int:
        """Draw among nodes."""
        wanted = np.array([self._preference(kind, residents) for residents in nodes])
        weights = np.exp(wanted - wanted.max())
        return self._draw.choices(range(len(nodes)), weights.tolist())[0]

    def ended(self, kind: int, beside: Residents, slowdown: float) -> None:
        """If the choice did better than usual, move it up and the others down."""
        reward = 1 / slowdown
        self._runs += 1
        for other in beside:
            column = self.preferences[:, other]
            chances = np.exp(column - column.max())
            gradient = -chances / chances.sum()
            gradient[kind] += 1.0
            self.preferences[:, other] = column + self.step * (reward - self._usual) * gradient
        self._usual += (reward - self._usual) / self._runs

    def _chances(self, kinds: Sequence[int], residents: Residents) -> list[float]:
        wanted = np.array([self._preference(kind, residents) for kind in kinds])
        return list(np.exp(wanted - wanted.max()))

    def _preference(self, kind: int, residents: Residents) -> float:
        return sum(float(self.preferences[kind, other]) for other in residents)
