"""Draws what chunks take: a chunk's longest item, and beside it the rest.

Items that differ much are seldom, and then a chunk takes as long as its longest item: a lognormal
with the chunk's own variance has it too short. Numpy alone, so the normal law is a table.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from plimsoll_predictor.splitting.costs import Costs

Array = NDArray[np.float64]

_Z: Final[Array] = np.linspace(-9.0, 9.0, 3601)
_BELOW: Final[Array] = np.array([math.erfc(-z / math.sqrt(2)) / 2 for z in _Z])
_SELDOM: Final[Array] = np.array([-math.log(math.erfc(z / math.sqrt(2)) / 2) for z in _Z])
"""Minus the logarithm of the share above z: exact where shares above are tiny."""


def drawn_s(items: Array, costs: Costs, draws: int, seed: int) -> Array:
    """Draw seconds of chunks with so many items each: (draws, len(items)). Items are lognormal."""
    draw = np.random.default_rng(seed)
    shape = (draws, len(items))
    sigma = math.sqrt(math.log1p((costs.spread_s / costs.item_s) ** 2))
    middle = math.log(costs.item_s) - sigma * sigma / 2
    above = -np.expm1(np.log1p(-draw.random(shape)) / items)
    z = np.interp(-np.log(np.maximum(above, 1e-18)), _SELDOM, _Z)
    longest = np.exp(middle + sigma * z)
    rest = _rest(items - 1, z, sigma, costs.item_s)
    normal = draw.standard_normal(shape)
    return np.asarray(costs.chunk_s + longest + _lognormal(*rest, normal))


def _rest(items: Array, z: Array, sigma: float, item_s: float) -> tuple[Array, Array]:
    """Return mean and variance of the other items' sum: none is longer than the longest."""
    below = np.maximum(np.interp(z, _Z, _BELOW), 1e-18)
    mean = item_s * np.interp(z - sigma, _Z, _BELOW) / below
    square = item_s**2 * math.exp(sigma * sigma) * np.interp(z - 2 * sigma, _Z, _BELOW) / below
    return items * mean, items * np.maximum(0.0, square - mean * mean)


def _lognormal(mean: Array, variance: Array, normal: Array) -> Array:
    mean = np.maximum(mean, 1e-12)
    log_variance = np.log1p(variance / mean**2)
    return np.asarray(np.exp(np.log(mean) - log_variance / 2 + np.sqrt(log_variance) * normal))
