"""Plimsoll's own: by regret under a backlog, by prices while there is room, and fair to kinds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from plimsoll_predictor.placing.fairness import Fairness
from plimsoll_predictor.placing.matrix import Array
from plimsoll_predictor.placing.policies.policy import Choice, Outlook, Residents, Waiting
from plimsoll_predictor.placing.prices import OF_A_RESIDENT, cost_of_pairs, shadow_prices
from plimsoll_predictor.placing.queueing import AGE
from plimsoll_predictor.placing.soft_pairing import fair_regret


@dataclass(slots=True)
class GettingAlong:
    """Starts the job whose time on a node loses least against the best fair mix of pairs."""

    regret: Array = field(init=False, default_factory=lambda: np.zeros((0, 0)))
    costs: Array = field(init=False, default_factory=lambda: np.zeros((0, 0)))
    prices: Array | None = field(init=False, default=None)
    fairness: Fairness = field(init=False, default_factory=Fairness)

    def learn(self, outlook: Outlook) -> None:
        """Solve for regrets and prices."""
        slowdowns, shares, work = outlook.slowdowns, outlook.shares, outlook.work
        self.regret = fair_regret(slowdowns, shares, work)
        earlier = self.prices
        start = earlier if earlier is not None and len(earlier) == len(shares) else None
        self.prices = shadow_prices(slowdowns, shares, start)
        self.costs = cost_of_pairs(slowdowns) - OF_A_RESIDENT * self.prices[None, :]
        self.fairness.renew(slowdowns, shares, work)

    def order(self, window: Sequence[Waiting], nodes: Sequence[Residents]) -> Choice:
        """Fill empty nodes in the order of the queue, then go by regret, fairness and age."""
        for position, residents in enumerate(nodes):
            if not residents:
                return Choice(0, position)
        excess = self.fairness.excess()
        pair = self.regret + excess + excess.T
        return min(
            (Choice(job, node) for job in range(len(window)) for node in range(len(nodes))),
            key=lambda choice: self._score(pair, window[choice.job], nodes[choice.node]),
        )

    def node(self, kind: int, nodes: Sequence[Residents]) -> int:
        """An empty node, if any; else the node where both are slowed least, less its price."""
        costs = self.costs[kind]
        scores = [sum(float(costs[other]) for other in residents) for residents in nodes]
        empty = [position for position, residents in enumerate(nodes) if not residents]
        return empty[0] if empty else min(range(len(nodes)), key=scores.__getitem__)

    def ended(self, kind: int, beside: Residents, slowdown: float) -> None:
        """Weigh the kind by how it did."""
        del beside
        self.fairness.ended(kind, slowdown)

    @staticmethod
    def _score(pair: Array, job: Waiting, residents: Residents) -> float:
        return sum(float(pair[job.kind, other]) for other in residents) - AGE * job.overtaken
