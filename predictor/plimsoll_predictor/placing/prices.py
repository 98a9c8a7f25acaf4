"""What it is worth to keep a kind's neighbourhood free for tasks that get along with it.

Shadow prices of an optimal transport with an entropy term: kinds that are good neighbours for all
are expensive, so a job takes such a place only if it gains enough by that.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from plimsoll_predictor.placing.costs import Costs
from plimsoll_predictor.placing.kinds import OTHERS
from plimsoll_predictor.placing.matrix import Z_90, Array, Matrix

SMOOTHING: Final = 0.1
"""Share of the mean cost: prices follow what is likely to be free, more than the one best match."""
ROUNDS: Final = 60
LEAST_SHARE: Final = 1e-9
OF_A_RESIDENT: Final = 0.5
"""Share of the price of a resident's neighbourhood that is charged: one of two places is taken."""
LEAST_TOLD_SHARE: Final = 0.01
"""The least share of a kind: the price of a kind that hardly ran says nothing. Unlabelled tasks
count as a kind, too, and are there whether they were counted as runs or not."""


def cost_of_pairs(slowdowns: Array) -> Array:
    """How much slower both of a pair are, together."""
    return slowdowns + slowdowns.T - 2.0


def shadow_prices(slowdowns: Array, shares: Array, start: Array | None = None) -> Array:
    """Return a price per kind, in slowdowns. shares: of runs. start: earlier prices."""
    costs = cost_of_pairs(slowdowns)
    smoothing = max(1e-6, SMOOTHING * float(costs.mean()))
    log_shares = np.log(np.maximum(shares, LEAST_SHARE))
    prices = np.zeros(len(shares)) if start is None else start
    for _ in range(ROUNDS):
        wanted = _log_sum_exp((prices[None, :] - costs) / smoothing)
        prices = 0.5 * (prices + smoothing * (log_shares - wanted))
    return np.asarray(prices)


def _log_sum_exp(exponents: Array) -> Array:
    """The value for each row. scipy's takes six times as long for some fifty columns."""
    most = exponents.max(axis=1)
    return np.asarray(most + np.log(np.exp(exponents - most[:, None]).sum(axis=1)))


def costs_on_nodes(matrix: Matrix, start: Array | None = None) -> tuple[Costs, Array]:
    """Return what a task costs beside each kind on a node, and the prices in that.

    start: earlier prices of as many kinds.
    """
    slowdowns = matrix.slowdowns
    shares = np.maximum(matrix.shares, LEAST_TOLD_SHARE)
    if start is not None and len(start) != len(shares):
        start = None
    prices = shadow_prices(slowdowns, shares / shares.sum(), start)
    costs = cost_of_pairs(slowdowns)
    rows = costs - OF_A_RESIDENT * prices[None, :]
    return Costs(matrix.kinds, rows, _known(matrix, costs).astype(float)), prices


def _known(matrix: Matrix, costs: Array) -> NDArray[np.bool_]:
    """Say for which pairs enough is known to choose among nodes on which something runs.

    Either both slowdowns are told. Or, however noisy runtimes are, the pair's cost clearly differs
    from that of the row's kind beside others: such nodes are better, or worse. OTHERS, which
    include unlabelled tasks, have no slowdown of their own.
    """
    told = matrix.told
    lost = matrix.slowdowns * matrix.least_deviation
    of_others = np.maximum(1.0 - matrix.shares, LEAST_SHARE)
    apart = (costs - (costs @ matrix.shares)[:, None]) / of_others
    differs = np.abs(apart) >= Z_90 * np.hypot(lost, lost.T)
    known = (told & told.T) | (differs & ~matrix.doubted & ~matrix.doubted.T)
    others = matrix.place(OTHERS)
    known[:, others] = told[:, others]
    return np.asarray(known)
