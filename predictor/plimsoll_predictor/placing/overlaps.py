"""How much a run was slowed by neighbours that were there for a part of its time.

A neighbour slows a run while it is there: what adds up over the time of a run is its pace, not the
logarithm of its slowdown. Beside one that halves its pace for two thirds of its time, a run takes
1.5 times as long, not 2 ** (2 / 3) = 1.59 times. So a regression on shares of time would take
neighbours that are there for parts of a run for better than they are. Here the pace is linear in
the shares, and its logarithm is taken near the current beliefs.

Neighbours that take turns on one place are never there at once: with E neighbours at a time, and E
up to one, the pace is ``1 - Σ e (1 - exp(-θ))``. From two on, each kind comes and goes on its own.
In between, it is a mixture of both.
"""

from __future__ import annotations

import numpy as np

from plimsoll_predictor.placing.encounter import MOST_LOG_SLOWDOWN
from plimsoll_predictor.placing.matrix import Array


def linear_in_theta(beside: Array, theta: Array) -> tuple[Array, float]:
    """Return w and c: near theta, a run's logarithm of slowdown is ``c + w @ theta``.

    beside: how many of each kind were there on average, weighted by time. theta: what one of them
    is believed to do if it is there all the time. Both have an entry per kind.
    """
    together = float(beside.sum())
    alternate = min(1.0, max(0.0, 2.0 - together))
    slope, value = np.zeros_like(beside), 0.0
    if alternate > 0.0:
        slope, value = _one_after_the_other(beside, theta, max(1.0, together))
    if alternate < 1.0:
        slope_apart, value_apart = _each_for_itself(beside, theta)
        slope = alternate * slope + (1.0 - alternate) * slope_apart
        value = alternate * value + (1.0 - alternate) * value_apart
    return slope, value - float(slope @ theta)


def most_log_slowdown(beside: Array) -> float:
    """Return the most that such neighbours explain: a run's ln if each slows it twentyfold."""
    most = np.full(len(beside), MOST_LOG_SLOWDOWN)
    slope, offset = linear_in_theta(beside, most)
    return offset + float(slope @ most)


def _one_after_the_other(beside: Array, theta: Array, places: float) -> tuple[Array, float]:
    kept = np.exp(-theta)
    pace = 1.0 - float(beside @ (1.0 - kept)) / places
    return beside * kept / pace, -places * float(np.log(pace))


def _each_for_itself(beside: Array, theta: Array) -> tuple[Array, float]:
    always = np.floor(beside)
    partly = beside - always
    kept = np.exp(-theta)
    paces = 1.0 - partly * (1.0 - kept)
    slope = always + partly * kept / paces
    return slope, float(always @ theta) - float(np.log(paces).sum())
