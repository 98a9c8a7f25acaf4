"""What two kinds beside each other waste, against the best mix that a short queue can have.

``pairing`` has the best mix of pairs, if the right partner is always there. Among the few jobs that
wait it often is not. So this mix differs from neighbours as they come only as far as a short queue
allows: the relative entropy between both has a cost. Then each pair has some time, and better pairs
have more; prices move little with the beliefs; and no kind is slowed much more than beside
neighbours as they come, including those that it gets because no better ones wait.

It minimises ``Σ x c + ε c x ln(x / chance) - m Σ chance ln(slack)`` over the time x of pairs, where
c is what an hour together costs, all work is done, and slack is what is left of each kind's bound.
Its dual is smooth, so Newton's method takes some ten or twenty steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from plimsoll_predictor.placing.chance import times_by_chance
from plimsoll_predictor.placing.matrix import Array, shares_of_jobs
from plimsoll_predictor.placing.pairing import LEAST_SHARE

MOST_EXCESS: Final = 0.005
"""A mix may slow a kind by this share more than neighbours as they come do."""
SOFTNESS: Final = 0.05
"""ε, a share of a pair's cost. With 0 it would be the best fair mix itself."""
FIRST_SOFTNESS: Final = 0.8
"""It is halved until it is SOFTNESS: each mix is a good start for the next."""
BARRIER: Final = 0.01
"""m, in slowdowns: what keeps kinds away from their bounds."""
LEAST_WORK: Final = 0.01
"""A share of a job's mean work: a kind with shorter jobs counts as if they were as long."""
FIRST_WEIGHT: Final = 0.1
"""The first weight of a kind's bound, in slowdowns."""

MOST_STEPS: Final = 30
MOST_HALVINGS: Final = 20
ROUGH, EXACT = 1e-2, 1e-8
"""How near the program's value must come on the way, and at its end; in slowdowns."""
TO_A_BOUND: Final = 0.95
LEAST_DESCENT: Final = 1e-4
RIDGE: Final = 1e-10
MOST_EXPONENT: Final = 300.0


def fair_regret(
    slowdowns: Array, shares: Array, work: Array, most_excess: float = MOST_EXCESS
) -> Array:
    """Return what a unit of time together costs over what it is worth: (K, K), symmetric.

    slowdowns: of the row's kind beside the column's. shares: of jobs. work: a job's runtime alone,
    in any unit. most_excess: of a kind, as MOST_EXCESS; above zero. The result is in slowdowns of a
    job of mean work, from zero for the pair that the mix favours most. Cost: some twenty systems of
    2 K unknowns. The same input gives the same answer.
    """
    program = _Program.of(slowdowns, shares, work, most_excess)
    size = len(shares)
    at = np.concatenate([program.by_chance / program.work, np.full(size, FIRST_WEIGHT)])
    at[size:] /= program.work
    softness = FIRST_SOFTNESS
    while softness > SOFTNESS:
        at = program.solved(at, softness, ROUGH)
        softness = max(SOFTNESS, softness / 2)
    at = program.solved(at, SOFTNESS, EXACT)
    regret = 2.0 * program.reduced_costs(at)
    # Pairs that are more often in the mix than by chance are below zero. On a node with three jobs
    # the sum counts, which must not fall with each job.
    return np.asarray(regret - regret.min())


@dataclass(frozen=True, slots=True)
class _Program:
    """Arrays have a row, or a row and a column, per kind. Mean work is 1.

    paces: work done per hour. chance: time together by chance. costs: half of what an hour costs.
    by_chance: slowdowns. needed: work. bounds: of a kind's time. barrier: of each bound. Prices of
    work and then weights of bounds are one vector, ``at``.
    """

    paces: Array
    chance: Array
    costs: Array
    work: Array
    by_chance: Array
    needed: Array
    bounds: Array
    barrier: Array

    @classmethod
    def of(cls, slowdowns: Array, shares: Array, work: Array, most_excess: float) -> _Program:
        jobs = shares_of_jobs(shares, LEAST_SHARE)
        work = np.maximum(work / float(jobs @ work), LEAST_WORK)
        work = work / float(jobs @ work)
        chance = times_by_chance(slowdowns, jobs, work)
        times = chance.sum(axis=1)
        paces = 1.0 / slowdowns
        needed = (chance * paces).sum(axis=1)
        return cls(
            paces=paces,
            chance=chance,
            costs=0.5 * (1.0 / work[:, None] + 1.0 / work[None, :]),
            work=work,
            by_chance=times / needed,
            needed=needed,
            bounds=times * (1.0 + most_excess),
            barrier=BARRIER * times / work,
        )

    def reduced_costs(self, at: Array) -> Array:
        prices, weights = at[: len(self.work)], at[len(self.work) :]
        worth = prices[:, None] * self.paces
        weighed = weights[:, None] + weights[None, :]
        return np.asarray(self.costs - 0.5 * (worth + worth.T) + 0.5 * weighed)

    def times(self, at: Array, softness: float) -> Array:
        exponents = -self.reduced_costs(at) / (softness * self.costs)
        return np.asarray(self.chance * np.exp(np.minimum(exponents, MOST_EXPONENT)))

    def value(self, at: Array, times: Array, softness: float) -> float:
        prices, weights = at[: len(self.work)], at[len(self.work) :]
        smooth = softness * float((self.costs * times).sum())
        bounded = float(weights @ self.bounds) - float(self.barrier @ np.log(weights))
        return smooth + bounded - float(prices @ self.needed)

    def solved(self, at: Array, softness: float, enough: float) -> Array:
        """Return the minimum's place, or the place MOST_STEPS from here; never a worse one."""
        times = self.times(at, softness)
        value = self.value(at, times, softness)
        for _ in range(MOST_STEPS):
            slope, step = self._step(at, times, softness)
            descent = -float(slope @ step)
            if not descent > enough:
                break
            length = self._longest(at, step)
            for _ in range(MOST_HALVINGS):
                there = at + length * step
                times_there = self.times(there, softness)
                value_there = self.value(there, times_there, softness)
                if value_there <= value - LEAST_DESCENT * length * descent:
                    break
                length /= 2
            else:
                break
            at, times, value = there, times_there, value_there
        return at

    def _longest(self, at: Array, step: Array) -> float:
        """Return the longest step that keeps weights above zero."""
        weights, change = at[len(self.work) :], step[len(self.work) :]
        falls = change < 0
        reach = np.min(-weights[falls] / change[falls], initial=np.inf)
        return min(1.0, TO_A_BOUND * float(reach))

    def _step(self, at: Array, times: Array, softness: float) -> tuple[Array, Array]:
        """Return the gradient, and Newton's step."""
        size = len(self.work)
        weights = at[size:]
        done, spent = (times * self.paces).sum(axis=1), times.sum(axis=1)
        slope = np.concatenate([done - self.needed, self.bounds - spent - self.barrier / weights])
        bends = 0.5 * times / (softness * self.costs)
        paced = bends * self.paces
        curve = np.block([[paced * self.paces.T, -paced], [-paced.T, bends]])
        first, second = np.arange(size), np.arange(size) + size
        curve[first, first] += (paced * self.paces).sum(axis=1)
        curve[first, second] -= paced.sum(axis=1)
        curve[second, first] -= paced.sum(axis=1)
        curve[second, second] += bends.sum(axis=1) + self.barrier / weights**2
        scale = 1.0 / np.sqrt(np.diagonal(curve))
        scaled = curve * scale[:, None] * scale[None, :] + RIDGE * np.eye(2 * size)
        return slope, -scale * np.linalg.solve(scaled, scale * slope)
