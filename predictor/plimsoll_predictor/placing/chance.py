"""Which kinds run together if each job starts as it comes: the baseline for an order."""

from __future__ import annotations

from typing import Final

import numpy as np

from plimsoll_predictor.placing.matrix import Array, shares_of_jobs

LEAST_SHARE: Final = 1e-6
"""The least share of jobs: a kind without jobs gets what it would meet."""


def times_by_chance(slowdowns: Array, shares: Array, work: Array) -> Array:
    """Return the time that each two kinds spend together per ended job: (K, K), symmetric.

    slowdowns: of the row's kind beside the column's. shares: of jobs. work: a job's runtime alone,
    in any unit, which is that of the times.

    On a node of two places, in a pair (i, j) one job ends at the rate 1 / (work_i s_ij), the other
    at 1 / (work_j s_ji), and the next job takes the place. Pairs that slow each other stay together
    for longer, so they are met more often than kinds alone would say: on gavel's V100, by up to 22%
    of a slowdown.
    It is exact if work is exponential; if all work is equal, simulated queues are within 1%.
    """
    jobs = shares_of_jobs(shares, LEAST_SHARE)
    rates = 1.0 / (work[:, None] * slowdowns)
    both = rates + rates.T
    started = jobs[:, None] * _beside(jobs, rates / both)[None, :]
    times = (started + started.T) / both
    return np.asarray(times / float((times * rates).sum()))


def _beside(jobs: Array, ends_first: Array) -> Array:
    """Return how often each kind is what a job that starts finds: (K,), its sum is 1.

    ends_first: the probability that the row's kind ends before the column's. A job that starts is
    next what another one finds, or what it found is. So this is the stationary state of a chain.
    """
    stays = np.diag(jobs @ ends_first)
    balance = stays + jobs[:, None] * ends_first.T - np.eye(len(jobs))
    # Its columns add up to zero, so that one row says nothing: there the sum is written.
    row = int(jobs.argmax())
    balance[row] = 1.0
    found = np.linalg.solve(balance, np.eye(len(jobs))[row])
    return np.asarray(np.maximum(found, 0.0))


def random_slowdowns(slowdowns: Array, shares: Array, work: Array) -> Array:
    """Return each kind's mean slowdown beside neighbours as they come."""
    times = times_by_chance(slowdowns, shares, work)
    return np.asarray(times.sum(axis=1) / (times / slowdowns).sum(axis=1))
