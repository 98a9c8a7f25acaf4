"""Draws the times of chunks: a chunk's longest item plus the rest.

If items differ much, a chunk takes about as long as its longest item; a lognormal with the chunk's
variance makes it too short. Only numpy is used, so the normal law is a table.
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
"""Minus the logarithm of the share above z: exact if the share is tiny."""


def drawn_s(items: Array, costs: Costs, draws: int, seed: int) -> Array:
    """Draw seconds of chunks with so many items each: (draws, len(items)). Items are lognormal.

    The longest item of a draw is as long however the items are cut into chunks. So cuts of a job
    drawn with one seed differ by the cuts themselves, not by which chunk got that item.
    """
    draw = np.random.default_rng(seed)
    shape = (draws, len(items))
    sigma = math.sqrt(math.log1p((costs.spread_s / costs.item_s) ** 2))
    middle = math.log(costs.item_s) - sigma * sigma / 2
    above = -np.expm1(-_seldom(items, draw, draws))
    z = np.interp(-np.log(np.maximum(above, 1e-18)), _SELDOM, _Z)
    longest = np.exp(middle + sigma * z)
    rest = _rest(items - 1, z, sigma, costs.item_s)
    normal = draw.standard_normal(shape)
    return np.asarray(costs.chunk_s + longest + _lognormal(*rest, normal))


def _seldom(items: Array, draw: np.random.Generator, draws: int) -> Array:
    """Draw how seldom a chunk's longest item is: minus the logarithm of the share below it.

    In a chunk of n items it is exponential with rate n. The least of all chunks is drawn first, by
    itself: how far the others are above it does not depend on it (exponentials have no memory).
    """
    longest_of_all = -np.log1p(-_evenly(draw, (draws, 1))) / items.sum()
    seldom = -np.log1p(-_evenly(draw, (draws, len(items)))) / items
    return np.asarray(seldom - seldom.min(axis=1, keepdims=True) + longest_of_all)


def _evenly(draw: np.random.Generator, shape: tuple[int, int]) -> Array:
    """Draw numbers from 0 to 1, one from each of as many equal parts of that range."""
    parts = draw.permutation(shape[0] * shape[1]).reshape(shape)
    return np.asarray((parts + draw.random(shape)) / parts.size)


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
