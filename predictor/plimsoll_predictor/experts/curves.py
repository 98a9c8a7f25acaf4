"""Fits the curve from features to a size, from a task's fourth run on.

Lines, straight in the values or in their logarithms, over the best feature or two, steps, and kinds
compete. Each is judged by what its bids would have cost the runs it was fitted to, every run
predicted without itself (leave-one-out). The room above the prediction is that of split conformal
prediction, which exceeds the largest of n residuals with a chance of 1/(n+1) (Vovk, Gammerman and
Shafer, 2005), or Student's where that is wider: few residuals do not show their tail.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from statistics import NormalDist
from typing import Final, TypeGuard

import numpy as np
from numpy.typing import NDArray

from plimsoll_predictor.experts.run_table import RunTable
from plimsoll_predictor.knowledge.curve import Curve, Kinds, Steps, Straight

LEAST_RUNS: Final = 3
GROWING_SHARE: Final = 0.8
"""Of a need in proportion to a feature: part of it is a program's own and does not grow."""
FEW_RUNS_ROOM: Final = 1.4
LEAST_RUNS_OF_TWO: Final = 6
LEAST_RUNS_OF_STEPS: Final = 8
CHANCE: Final = 0.015
"""That a run exceeds the room above its curve."""
WORTH: Final = 0.7
"""A curve must waste less than this share of what the largest need would."""
CLEAR: Final = 0.3
"""One that wastes less than this share serves a young task at once. Room by Student's quantile is
so wide after three or four runs that noise hardly ever passes for a curve."""
WORTH_A_FEATURE: Final = 0.85
"""A second feature, or steps, must waste less than this share of what the first line does."""
CLOSE: Final = 0.04
"""Nothing better is looked for than a waste of this share of the need."""
LEAST_ROOM: Final = 1.01
"""What is measured wobbles by a hundredth, however straight the line."""
MOST_STEPS: Final = 8

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Fitted:
    """A curve with its relative waste: bytes spare over bytes needed, each run left out in turn.

    clear: whether it wastes so little beside the largest need that few runs are enough to see it.
    """

    curve: Curve
    waste: float
    clear: bool = False


def fitted(table: RunTable) -> Fitted | None:
    """The best curve; None if none is worth following."""
    sizes = np.array([row.need_bytes for row in table.rows])
    if sizes.size < LEAST_RUNS or sizes.min() == sizes.max():
        return None
    needs = _Needs(sizes)
    largest_waste = mean_of(sizes.max() * LEAST_ROOM - sizes) / needs.mean
    numbers = {name: table.numbers(name) for name in table.names}
    known = {name: values for name, values in numbers.items() if _varies(values)}
    candidates = [*_lines(known, needs), *_kinds(table, needs)]
    best = min(candidates, key=_waste, default=None)
    if best is None or best.waste > CLOSE:
        more = [*_two_features(known, needs, best), *_steps(known, needs)]
        for each in more:
            if best is None or each.waste < WORTH_A_FEATURE * best.waste:
                best = each
    if best is None or best.waste >= WORTH * largest_waste:
        return None
    return replace(best, clear=best.waste < CLEAR * largest_waste)


def in_proportion(table: RunTable) -> Straight | None:
    """While too few runs are known for a line: in proportion to the feature, where it is but one.

    It is followed upward only: a run whose input is three times the largest one known is likely to
    need more, and one of a smaller input may need as much.
    """
    numbers = {name: table.numbers(name) for name in table.names}
    known = {name: values for name, values in numbers.items() if values is not None}
    if len(known) != 1:
        return None
    ((name, values),) = known.items()
    largest = float(values.max())
    if largest <= 0:
        return None
    largest_bytes = max(row.need_bytes for row in table.rows)
    slope = GROWING_SHARE * largest_bytes / largest
    return Straight((name,), (slope,), 0.0, factor=FEW_RUNS_ROOM) if math.isfinite(slope) else None


def _waste(each: Fitted) -> float:
    return each.waste


class _Needs:
    """The needs of a task's runs, (n,), with what every candidate asks of them."""

    def __init__(self, values: Vector) -> None:
        self.values, self.logs = values, np.log(values)
        self.size = values.size
        self.least = values.min()
        self.mean, self.mean_log = mean_of(values), mean_of(self.logs)


def _varies(values: Vector | None) -> TypeGuard[Vector]:
    return values is not None and bool(values.min() != values.max())


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
class _Room:
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
        """Of normal residuals, the mean negative logarithm of their density, but for a constant."""
        return math.log(math.sqrt(self._squares / self._residuals.size) + 1e-300)

    def above(self, wide: float) -> float:
        """What a further residual hardly exceeds. wide: Student's quantile."""
        n = self._residuals.size
        exceeding = round(CHANCE * n)
        highest = np.sort(self._residuals)[-1 - exceeding] if exceeding else self._residuals.max()
        return float(max(self._mean + wide * math.sqrt(self._squares / (n - 1)), highest))


def _room(needs: _Needs, predicted: Vector, freedom: int, *, may_add: bool = True) -> _Room:
    """A factor or a constant over the predictions, (n,) each: what the runs are likelier by."""
    if freedom < 1:
        return _Room(math.inf, 0.0, math.inf)
    wide = student(CHANCE, freedom)
    within = np.maximum(predicted, needs.least / 4)
    ratios = _Spread(np.log(needs.values / within))
    residuals = _Spread(needs.values - predicted)
    # Large runs may err by as many bytes as small ones, or by as large a share of their need.
    if may_add and residuals.unlikely < ratios.unlikely + needs.mean_log:
        room_bytes = max(residuals.above(wide), 0.0)
        sizes = np.maximum(predicted * LEAST_ROOM + room_bytes, needs.least)
        return _Room(LEAST_ROOM, room_bytes, mean_of(sizes - needs.values) / needs.mean)
    factor = max(math.exp(min(ratios.above(wide), 20.0)), LEAST_ROOM)
    return _Room(factor, 0.0, mean_of(within * factor - needs.values) / needs.mean)


def _lines(numbers: Mapping[str, Vector], needs: _Needs) -> Iterator[Fitted]:
    """A line over each feature: of values, of values weighted by size, and of logarithms."""
    for name, values in numbers.items():
        yield from _straight((name,), _design(values), needs)


def _two_features(
    numbers: Mapping[str, Vector], needs: _Needs, best: Fitted | None
) -> Iterator[Fitted]:
    first = best.curve if best is not None else None
    if not isinstance(first, Straight) or needs.size < LEAST_RUNS_OF_TWO:
        return
    (feature,) = first.features
    for name, others in numbers.items():
        if name != feature:
            yield from _straight((feature, name), _design(numbers[feature], others), needs)


def _design(*features: Vector) -> Vector:
    """A column of ones, and one for each feature: (n, 1 + features)."""
    design = np.ones((features[0].size, 1 + len(features)))
    for place, values in enumerate(features, start=1):
        design[:, place] = values
    return design


def _straight(names: tuple[str, ...], design: Vector, needs: _Needs) -> Iterator[Fitted]:
    """Lines over a design of ones and values, (n, 1 + features)."""
    n, width = design.shape
    freedom = n - width
    for weights in (np.ones(n), needs.mean / needs.values):
        line = _left_out(design, needs.values, weights)
        if line is not None:
            coefficients, predicted = line
            room = _room(needs, predicted, freedom)
            yield _of_line(names, coefficients, room, logs=False)
    if design[:, 1:].min() > 0:
        logs = design.copy()
        logs[:, 1:] = np.log(design[:, 1:])
        line = _left_out(logs, needs.logs, np.ones(n))
        if line is not None:
            coefficients, predicted = line
            room = _room(needs, np.exp(np.minimum(predicted, 43.0)), freedom, may_add=False)
            yield _of_line(names, coefficients, room, logs=True)


def _of_line(names: tuple[str, ...], coefficients: Vector, room: _Room, *, logs: bool) -> Fitted:
    intercept, *slopes = (float(each) for each in coefficients)
    curve = Straight(names, tuple(slopes), intercept, logs, room.factor, room.room_bytes)
    return Fitted(curve, room.waste)


def _left_out(design: Vector, targets: Vector, weights: Vector) -> tuple[Vector, Vector] | None:
    """Least squares: coefficients, and each target as predicted by the others' line, (n,).

    None where the features say the same.
    """
    weighted = design * weights[:, None]
    scale = np.abs(weighted).max(axis=0)
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
    # The hat matrix tells the residual without the run itself, with no refit (Allen's PRESS).
    left_out = residuals / np.maximum(1 - leverage, 1e-3)
    return solution / scale, targets - left_out


def _singular(gram: Vector, inverse: Vector) -> bool:
    """Whether features say the same but for the last digits."""
    # No condition is above this product of norms, which is much cheaper to find.
    if np.vdot(gram, gram) * np.vdot(inverse, inverse) < 1e20:
        return False
    return bool(np.linalg.cond(gram) > 1e12)


def _steps(numbers: Mapping[str, Vector], needs: _Needs) -> Iterator[Fitted]:
    """Monotone steps over each feature, by pooling adjacent violators."""
    if needs.size < LEAST_RUNS_OF_STEPS:
        return
    logs = needs.logs
    for name, values in numbers.items():
        order = values.argsort(kind="stable")
        blocks = _pooled(values[order], logs[order])
        if not 1 < len(blocks) <= MOST_STEPS:
            continue
        predicted, edges, levels, place = np.empty_like(logs), [], [], 0
        for count, mean in blocks:
            members = order[place : place + count]
            # A block of one run has nobody else to predict it.
            others = (mean * count - logs[members]) / (count - 1) if count > 1 else logs.min()
            predicted[members] = others
            levels.append(mean)
            place += count
            if place < order.size:
                edges.append(float((values[order[place - 1]] + values[order[place]]) / 2))
        room = _room(needs, np.exp(predicted), needs.size - len(blocks), may_add=False)
        sizes_bytes = tuple(math.exp(level) * room.factor for level in levels)
        yield Fitted(Steps(name, tuple(edges), sizes_bytes, room.factor), room.waste)


def _pooled(values: Vector, logs: Vector) -> list[tuple[int, float]]:
    """Blocks of runs in order of their value, with ascending means: (runs, mean) each."""
    blocks: list[tuple[int, float]] = []
    # Where a value differs from the one before, and the end.
    starts = [0, *(np.flatnonzero(values[1:] != values[:-1]) + 1).tolist(), values.size]
    ascending = logs.tolist()
    for start, end in pairwise(starts):
        count = end - start
        mean = ascending[start] if count == 1 else mean_of(logs[start:end])
        # Levels that hardly differ are one: each block pays a freedom.
        while blocks and blocks[-1][1] > mean - 0.1:
            before, its_mean = blocks.pop()
            mean = (mean * count + its_mean * before) / (count + before)
            count += before
        blocks.append((count, mean))
    return blocks


def _kinds(table: RunTable, needs: _Needs) -> Iterator[Fitted]:
    """A size for each word of a feature; rare words lean on the mean of all."""
    logs, mean_log = needs.logs, needs.mean_log
    for name in table.names:
        words = table.words(name)
        if words is None:
            continue
        kinds = sorted(set(words))
        if not 1 < len(kinds) <= needs.size // 2:
            continue
        predicted, levels = np.empty_like(logs), {}
        for kind in kinds:
            members = np.array([place for place, word in enumerate(words) if word == kind])
            total, count = float(logs[members].sum()), members.size
            levels[kind] = _shrunken(total, count, mean_log)
            predicted[members] = (total - logs[members] + mean_log * _LEAN) / (count - 1 + _LEAN)
        room = _room(needs, np.exp(predicted), needs.size - len(kinds), may_add=False)
        sizes = {kind: math.exp(level) * room.factor for kind, level in levels.items()}
        yield Fitted(Kinds(name, sizes, room.factor), room.waste)


_LEAN: Final = 0.2
"""How many runs the mean of all counts as."""


def _shrunken(total: float, count: int, mean: float) -> float:
    return (total + mean * _LEAN) / (count + _LEAN)
