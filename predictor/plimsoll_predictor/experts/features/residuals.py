"""How far runs lay from what the others predict for them, and the room that this needs. Pure.

The room above the prediction is that of split conformal prediction, which exceeds the largest of n
residuals with a chance of 1/(n+1) (Vovk, Gammerman and Shafer, 2005), or Student's where that is
wider: few residuals do not show their tail.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

CHANCE: Final = 0.015
"""The chance that a run exceeds the room above its curve."""
LEAST_ROOM: Final = 1.01
"""Measurements vary by a hundredth, however straight the line."""

Vector = NDArray[np.float64]


class Needs:
    """The needs of a task's runs, (n,), with the figures that every candidate uses."""

    def __init__(self, values: Vector) -> None:
        self.values, self.logs = values, np.log(values)
        self.size = values.size
        self.least = values.min()
        self.mean, self.mean_log = mean_of(values), mean_of(self.logs)

    def of(self, chosen: NDArray[np.bool_] | NDArray[np.intp]) -> Needs:
        """Those of some runs, or of all in another order."""
        return Needs(self.values[chosen])


def mean_of(values: Vector) -> float:
    """The mean, as ``values.mean()``, at a third of its time where values are few."""
    return float(np.add.reduce(values) / values.size)


@lru_cache(maxsize=1024)
def student(chance: float, freedom: float) -> float:
    """Student's quantile that is exceeded with that chance (Cornish and Fisher's expansion)."""
    z = NormalDist().inv_cdf(1 - chance)
    z3, z5, z7 = z**3, z**5, z**7
    return (
        z
        + (z3 + z) / (4 * freedom)
        + (5 * z5 + 16 * z3 + 3 * z) / (96 * freedom**2)
        + (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * freedom**3)
    )


@dataclass(frozen=True, slots=True)
class Room:
    """The room over predictions that leave each run out, and the waste it makes."""

    factor: float
    room_bytes: float
    waste: float


class _Spread:
    """How residuals, (n,), lie around their mean."""

    def __init__(self, residuals: Vector) -> None:
        self._residuals, self._mean = residuals, mean_of(residuals)
        apart = residuals - self._mean
        self._squares = float(np.add.reduce(apart * apart))

    @property
    def unlikely(self) -> float:
        """The mean negative logarithm of normal residuals' density, without its constant."""
        return math.log(math.sqrt(self._squares / self._residuals.size) + 1e-300)

    def above(self, wide: float) -> float:
        """A bound that a further residual hardly exceeds. wide: Student's quantile."""
        n = self._residuals.size
        exceeding = round(CHANCE * n)
        highest = np.sort(self._residuals)[-1 - exceeding] if exceeding else self._residuals.max()
        return float(max(self._mean + wide * math.sqrt(self._squares / (n - 1)), highest))


def room_over(needs: Needs, predicted: Vector, freedom: int, *, may_add: bool = True) -> Room:
    """A factor or a constant over the predictions, (n,) each: the one that fits the runs better."""
    if freedom < 1:
        return Room(math.inf, 0.0, math.inf)
    wide = student(CHANCE, freedom)
    within = np.maximum(predicted, needs.least / 4)
    ratios = _Spread(np.log(needs.values / within))
    residuals = _Spread(needs.values - predicted)
    # Large runs may err by as many bytes as small ones, or by as large a share of their need.
    if may_add and residuals.unlikely < ratios.unlikely + needs.mean_log:
        room_bytes = max(residuals.above(wide), 0.0)
        sizes = np.maximum(predicted * LEAST_ROOM + room_bytes, needs.least)
        return Room(LEAST_ROOM, room_bytes, mean_of(sizes - needs.values) / needs.mean)
    factor = max(math.exp(min(ratios.above(wide), 20.0)), LEAST_ROOM)
    return Room(factor, 0.0, mean_of(within * factor - needs.values) / needs.mean)


def left_out(design: Vector, targets: Vector, weights: Vector) -> tuple[Vector, Vector] | None:
    """Least squares: coefficients, and each target as predicted by the others' line, (n,).

    None if the features are collinear, or one has only zeros.
    """
    weighted = design * weights[:, None]
    scale = np.abs(weighted).max(axis=0)
    if not scale.all():
        return None
    weighted = weighted / scale
    gram = weighted.T @ weighted
    try:
        inverse = np.linalg.inv(gram)
    except np.linalg.LinAlgError:
        return None
    if not np.isfinite(inverse).all() or _singular(gram, inverse):
        return None
    solution = inverse @ (weighted.T @ (targets * weights))
    leverage = np.einsum("ij,jk,ik->i", weighted, inverse, weighted)
    residuals = targets - (design / scale) @ solution
    # The hat matrix gives the residual without the run itself, with no refit (Allen's PRESS).
    apart = residuals / np.maximum(1 - leverage, 1e-3)
    return solution / scale, targets - apart


def _singular(gram: Vector, inverse: Vector) -> bool:
    """Whether features are collinear except for the last digits."""
    # No condition number is above this product of norms, which is much cheaper to find.
    if np.vdot(gram, gram) * np.vdot(inverse, inverse) < 1e20:
        return False
    return bool(np.linalg.cond(gram) > 1e12)
