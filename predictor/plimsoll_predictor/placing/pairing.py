"""What running two kinds beside each other wastes, against the best mix of pairs there is.

The best mix is a linear program over the time that pairs of kinds spend together on a node of two:
each kind's work is done, at the pace that its neighbours leave it, and the mean slowdown of jobs is
least. Its dual prices say what a unit of each kind's work is worth; the *regret* of a pair is what
a unit of time together costs over what the work done in it is worth. It is zero for the
pairs of the best mix and positive for others, whichever come first; so a choice by regret does not
spend good partners early, as a choice by slowdown does. A *fair* mix is the best mix in which no
kind is slowed by more than is allowed. It is a bound for any order: if jobs are few and partners
have to wait, ``soft_pairing`` says what is lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from plimsoll_predictor.placing.matrix import Array, shares_of_jobs

LEAST_SHARE: Final = 1e-3
"""A kind that has not run lately is planned for as if it had this share of jobs."""


@dataclass(frozen=True, slots=True)
class Pairing:
    """The best mix of pairs. Arrays have a row and a column per kind.

    mean_slowdown: of a job in the best mix; no order of many jobs on nodes of two places has less.
    regret: of a unit of time together, in slowdowns of a job of mean work.
    """

    mean_slowdown: float
    regret: Array


def best_pairing(
    slowdowns: Array, shares: Array, work: Array, most: Array | None = None
) -> Pairing:
    """Find the best mix of pairs.

    slowdowns: of the row's kind beside the column's. shares: of jobs. work: a job's runtime alone,
    in any unit. most: the largest mean slowdowns that kinds may have; None: any. Slowdowns
    by chance always allow a mix, because they come from one.
    Raises RuntimeError if the solver finds none.
    """
    from scipy.optimize import linprog  # takes 0.2 s, which a start without a mix saves

    size = len(shares)
    jobs = shares_of_jobs(shares, LEAST_SHARE)
    first, second = np.triu_indices(size)
    pairs = np.arange(len(first))
    pace, time = np.zeros((2, size, len(pairs)))
    np.add.at(pace, (first, pairs), 1 / slowdowns[first, second])
    np.add.at(pace, (second, pairs), 1 / slowdowns[second, first])
    np.add.at(time, (first, pairs), 1.0)
    np.add.at(time, (second, pairs), 1.0)
    bounds: dict[str, Any] = {}
    if most is not None:
        bounds = {"A_ub": time, "b_ub": jobs * work * most}
    cost = 1 / work[first] + 1 / work[second]
    found = linprog(cost, A_eq=pace, b_eq=jobs * work, method="highs", **bounds)
    if found.status != 0:
        message = f"no best mix of {size} kinds: {found.message}"
        raise RuntimeError(message)
    worth = np.asarray(found.eqlin.marginals)[:, None] / slowdowns
    # What an hour of a kind's jobs costs: more where its hours are bounded.
    of_an_hour = 1 / work - (np.asarray(found.ineqlin.marginals) if bounds else 0.0)
    costs = of_an_hour[:, None] + of_an_hour[None, :]
    mean_work = float(jobs @ work)
    return Pairing(float(cost @ np.asarray(found.x)), (costs - worth - worth.T) * mean_work)
