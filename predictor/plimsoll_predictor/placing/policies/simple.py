"""What clusters do without learning, and the obvious first thing with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from plimsoll_predictor.placing.matrix import Array
from plimsoll_predictor.placing.policies.policy import Choice, Outlook, Residents, Waiting
from plimsoll_predictor.placing.prices import cost_of_pairs


@dataclass(slots=True)
class LeastLoaded:
    """First in, first out, on the node with the fewest tasks: a scheduler that spreads."""

    def learn(self, outlook: Outlook) -> None:
        """Learn nothing."""

    def order(self, window: Sequence[Waiting], nodes: Sequence[Residents]) -> Choice:
        """Take the first."""
        return Choice(0, self.node(window[0].kind, nodes))

    def node(self, kind: int, nodes: Sequence[Residents]) -> int:
        """Return a node with the fewest tasks."""
        del kind
        return min(range(len(nodes)), key=lambda position: len(nodes[position]))

    def ended(self, kind: int, beside: Residents, slowdown: float) -> None:
        """Learn nothing."""


@dataclass(slots=True)
class Greedy:
    """The pair that is slowed least right now, whatever it leaves to others."""

    costs: Array = field(init=False, default_factory=lambda: np.zeros((0, 0)))

    def learn(self, outlook: Outlook) -> None:
        """Take over slowdowns."""
        self.costs = cost_of_pairs(outlook.slowdowns)

    def order(self, window: Sequence[Waiting], nodes: Sequence[Residents]) -> Choice:
        """Return the cheapest of all."""
        return min(
            (Choice(job, node) for job in range(len(window)) for node in range(len(nodes))),
            key=lambda choice: self._cost(window[choice.job].kind, nodes[choice.node]),
        )

    def node(self, kind: int, nodes: Sequence[Residents]) -> int:
        """Return the cheapest."""
        return min(range(len(nodes)), key=lambda position: self._cost(kind, nodes[position]))

    def ended(self, kind: int, beside: Residents, slowdown: float) -> None:
        """Learn nothing."""

    def _cost(self, kind: int, residents: Residents) -> float:
        return sum(float(self.costs[kind, other]) for other in residents)
