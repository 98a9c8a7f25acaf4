"""The choice of a ceiling: not the likeliest bin's, but the one that costs least on average."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from plimsoll_predictor.core.units import gb_hours
from plimsoll_predictor.knowledge.ladder import lowest_step_bytes
from plimsoll_predictor.model.bins import Bins


@dataclass(frozen=True, slots=True)
class Choice:
    """A chosen ceiling and what it was judged on.

    probability: that the need lies at or below the ceiling.
    expected_cost_gb_h: expected waste, failures counted ``penalty`` times.
    """

    bin: int
    ceiling_bytes: int
    probability: float
    expected_cost_gb_h: float


def cheapest_ceiling(probabilities: NDArray[np.float64], bins: Bins, penalty: float) -> Choice:
    """The ceiling with the least expected cost.

    A run whose true bin is b, given ceiling c, costs in byte-seconds

        (c - need_b) runtime_b                        if b fits (c >= ceiling_b)
        penalty F runtime_b + (l - need_b) runtime_b  otherwise

    where need_b and runtime_b are the means of bin b. That is the room left unused, or else the
    cost of the lifts over the bins' ceilings: F is the sum of all allocations that fail on the way,
    charged ``penalty`` times, and l is the one that fits at last. If ceilings are equally cheap,
    the largest is chosen. (If only the first failure were charged, the smallest ceilings would be
    the cheapest to fail with, and more bins would make more choices fail.)

    probabilities: (n_bins,), of each true bin.

    Raises:
        ValueError: if the probabilities do not match the bins or are none.
    """
    if probabilities.shape != (len(bins),):
        raise ValueError(
            f"{probabilities.shape} probabilities for {len(bins)} bins; one per bin is needed"
        )
    shares: list[float] = probabilities.tolist()  # a few numbers add up faster in a list
    if not 0.999 < sum(shares) < 1.001:  # a sum that is not finite fails, too
        raise ValueError(f"probabilities {probabilities} do not add up to 1")
    expected: list[float] = (_costs(bins, penalty) @ probabilities).tolist()
    chosen = len(expected) - 1 - expected[::-1].index(min(expected))
    return Choice(
        bin=chosen,
        ceiling_bytes=bins.ceilings_bytes[chosen],
        probability=min(1.0, sum(shares[: chosen + 1])),
        expected_cost_gb_h=gb_hours(expected[chosen], 1.0),
    )


def cheapest_bins(
    probabilities: NDArray[np.float64], bins: Bins, penalty: float
) -> NDArray[np.int64]:
    """``cheapest_ceiling(...).bin`` of many rows at once, (n, n_bins) -> (n,)."""
    expected = probabilities @ _costs(bins, penalty).T
    chosen: NDArray[np.int64] = len(bins) - 1 - np.argmin(expected[:, ::-1], axis=1)
    return chosen


@lru_cache(maxsize=1024)  # depends on the model alone; admission asks for each pod
def _costs(bins: Bins, penalty: float) -> NDArray[np.float64]:
    """Byte-seconds for each ceiling (rows) and true bin (columns), (n_bins, n_bins)."""
    needs = np.array(bins.mean_need_bytes)
    runtimes = np.array(bins.mean_runtime_s)
    # A bin whose runtime nobody measured would cost nothing however often it fails.
    measured = runtimes[runtimes > 0]
    runtimes = np.where(runtimes > 0, runtimes, measured.mean() if measured.size else 1.0)
    failed, fitted = _climbs(bins.ceilings_bytes)
    costs: NDArray[np.float64] = penalty * failed + np.maximum(fitted - needs, 0.0)
    weighted: NDArray[np.float64] = costs * runtimes
    weighted.flags.writeable = False
    return weighted


def _climbs(
    ceilings_bytes: tuple[int, ...],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """For each first ceiling (rows) and true bin (columns): all that fails, and what fits at last.

    This is the gentle ladder of ``lifting`` as far as bins show it; the last ceiling is about the
    largest need.
    """
    n_bins = len(ceilings_bytes)
    failed = np.zeros((n_bins, n_bins))
    fitted = np.zeros((n_bins, n_bins))
    for first, given_bytes in enumerate(ceilings_bytes):
        allocation_bytes = float(given_bytes)
        lost_bytes = 0.0
        for true_bin, ceiling_bytes in enumerate(ceilings_bytes):
            while allocation_bytes < ceiling_bytes:
                lost_bytes += allocation_bytes
                allocation_bytes = lowest_step_bytes(
                    allocation_bytes, ceilings_bytes[-1], ceilings_bytes=ceilings_bytes
                )
            failed[first, true_bin] = lost_bytes
            fitted[first, true_bin] = allocation_bytes
    return failed, fitted
