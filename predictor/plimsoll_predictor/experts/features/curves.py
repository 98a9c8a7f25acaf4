"""Fits the curve from features to a size, from a task's fourth run on.

Lines, straight in the values or in their logarithms, over the best feature or two, steps, kinds,
products, and a line for each kind compete. Each is judged by what its bids would have cost the runs
it was fitted to, every run predicted without itself (leave-one-out); ``residuals`` has the room.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import itemgetter
from typing import Final, TypeGuard

import numpy as np

from plimsoll_predictor.experts.features.interactions import lines_by_kind, members_of, products
from plimsoll_predictor.experts.features.residuals import (
    LEAST_ROOM,
    Needs,
    Room,
    Vector,
    left_out,
    mean_of,
    room_over,
)
from plimsoll_predictor.experts.features.run_table import RunTable
from plimsoll_predictor.knowledge.curve import Curve, Kinds, Steps, Straight

LEAST_RUNS: Final = 3
GROWING_SHARE: Final = 0.8
"""Share of a need that grows with a feature: the rest is a program's own and does not grow."""
FEW_RUNS_ROOM: Final = 1.4
TELLING: Final = 1.1
"""Runs whose values differ by less do not tell whether a need grows with them."""
LEAST_GROWTH: Final = 0.3
"""A need that grows by a smaller power of a feature does not follow it."""
LEAST_RUNS_OF_TWO: Final = 6
LEAST_RUNS_OF_STEPS: Final = 8
WORTH: Final = 0.7
"""A curve must waste less than this share of what the largest need would."""
CLEAR: Final = 0.3
"""One that wastes less than this share serves a young task at once. Room by Student's quantile is
so wide after three or four runs that noise hardly ever passes for a curve."""
WORTH_A_FEATURE: Final = 0.85
"""A curve over a second feature, or of steps, must waste less than this share of what the best
curve before it wastes."""
CLOSE: Final = 0.04
"""With a waste of this share of the need, nothing better is looked for."""
MOST_STEPS: Final = 8


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
    needs = Needs(sizes)
    largest_waste = mean_of(sizes.max() * LEAST_ROOM - sizes) / needs.mean
    best = _best(table, needs)
    most = table.without_odd()
    if most is not None and (best is None or best.waste >= WORTH * largest_waste):
        among = _among(most, needs)
        if among is not None and (best is None or among.waste < WORTH_A_FEATURE * best.waste):
            best = among
    if best is None or best.waste >= WORTH * largest_waste:
        return None
    return replace(best, clear=best.waste < CLEAR * largest_waste)


def _best(table: RunTable, needs: Needs) -> Fitted | None:
    """The curve that wastes least, over features that every run tells."""
    numbers = {name: table.numbers(name) for name in table.names}
    known = {name: values for name, values in numbers.items() if _varies(values)}
    candidates = [*_lines(known, needs), *_kinds(table, needs)]
    best = min(candidates, key=_waste, default=None)
    if best is None or best.waste > CLOSE:
        more = [
            *_two_features(known, needs, best),
            *_steps(known, needs),
            *_together(table, known, needs),
        ]
        for each in more:
            if best is None or each.waste < WORTH_A_FEATURE * best.waste:
                best = each
    return best


def _among(most: RunTable, needs: Needs) -> Fitted | None:
    """The best curve among most of the runs. needs: of all; the others get the largest."""
    sizes = np.array([row.need_bytes for row in most.rows])
    if sizes.size < LEAST_RUNS or sizes.min() == sizes.max():
        return None
    some = Needs(sizes)
    best = _best(most, some)
    if best is None:
        return None
    others = needs.size - some.size
    total_bytes, some_bytes = needs.mean * needs.size, some.mean * some.size
    spare_bytes = others * float(needs.values.max()) * LEAST_ROOM - (total_bytes - some_bytes)
    return replace(best, waste=(best.waste * some_bytes + spare_bytes) / total_bytes)


def in_proportion(table: RunTable) -> Straight | None:
    """A size in proportion to the only feature, while too few runs are known for a line.

    It is followed upward only: a run whose input is three times the largest one known is likely to
    need more, and a run with a smaller input may need as much. It is not followed if two runs
    contradict it, as where the number is a learning rate or a seed.
    """
    numbers = {name: table.numbers(name) for name in table.names}
    known = {name: values for name, values in numbers.items() if values is not None}
    if len(known) != 1:
        return None
    ((name, values),) = known.items()
    largest = float(values.max())
    if largest <= 0:
        return None
    needs_bytes = np.array([row.need_bytes for row in table.rows])
    if not _may_grow_with(values, needs_bytes):
        return None
    slope = GROWING_SHARE * float(needs_bytes.max()) / largest
    return Straight((name,), (slope,), 0.0, factor=FEW_RUNS_ROOM) if math.isfinite(slope) else None


def _may_grow_with(values: Vector, needs_bytes: Vector) -> bool:
    """Whether few runs leave it possible that a need grows with a feature's values."""
    least, most = int(values.argmin()), int(values.argmax())
    if values[least] <= 0 or values[most] <= TELLING * values[least]:
        return True
    grew, widened = (math.log(each[most]) - math.log(each[least]) for each in (needs_bytes, values))
    return grew >= LEAST_GROWTH * widened


def _waste(each: Fitted) -> float:
    return each.waste


def _varies(values: Vector | None) -> TypeGuard[Vector]:
    return values is not None and bool(values.min() != values.max())


def _lines(numbers: Mapping[str, Vector], needs: Needs) -> Iterator[Fitted]:
    """A line over each feature: of values, of values weighted by size, and of logarithms."""
    for name, values in numbers.items():
        yield from _straight((name,), _design(values), needs)


def _two_features(
    numbers: Mapping[str, Vector], needs: Needs, best: Fitted | None
) -> Iterator[Fitted]:
    first = best.curve if best is not None else None
    if not isinstance(first, Straight) or needs.size < LEAST_RUNS_OF_TWO:
        return
    (feature,) = first.features
    for name, others in numbers.items():
        if name != feature:
            yield from _straight((feature, name), _design(numbers[feature], others), needs)


def _together(table: RunTable, numbers: Mapping[str, Vector], needs: Needs) -> Iterator[Fitted]:
    """The best curve over two features that interact, if there is one."""
    if needs.size < LEAST_RUNS_OF_TWO:
        return
    found: list[tuple[Curve, float]] = [
        *products(numbers, needs),
        *lines_by_kind(table, numbers, needs),
    ]
    if found:
        curve, waste = min(found, key=itemgetter(1))
        yield Fitted(curve, waste)


def _design(*features: Vector) -> Vector:
    """A column of ones, and one for each feature: (n, 1 + features)."""
    design = np.ones((features[0].size, 1 + len(features)))
    for place, values in enumerate(features, start=1):
        design[:, place] = values
    return design


def _straight(names: tuple[str, ...], design: Vector, needs: Needs) -> Iterator[Fitted]:
    """Lines over a design of ones and values, (n, 1 + features)."""
    n, width = design.shape
    freedom = n - width
    for weights in (np.ones(n), needs.mean / needs.values):
        line = left_out(design, needs.values, weights)
        if line is not None:
            coefficients, predicted = line
            room = room_over(needs, predicted, freedom)
            yield _of_line(names, coefficients, room, logs=False)
    if design[:, 1:].min() > 0:
        logs = design.copy()
        logs[:, 1:] = np.log(design[:, 1:])
        line = left_out(logs, needs.logs, np.ones(n))
        if line is not None:
            coefficients, predicted = line
            room = room_over(needs, np.exp(np.minimum(predicted, 43.0)), freedom, may_add=False)
            yield _of_line(names, coefficients, room, logs=True)


def _of_line(names: tuple[str, ...], coefficients: Vector, room: Room, *, logs: bool) -> Fitted:
    intercept, *slopes = (float(each) for each in coefficients)
    curve = Straight(names, tuple(slopes), intercept, logs, room.factor, room.room_bytes)
    return Fitted(curve, room.waste)


def _steps(numbers: Mapping[str, Vector], needs: Needs) -> Iterator[Fitted]:
    """Monotone steps over each feature, by pooling adjacent violators."""
    if needs.size < LEAST_RUNS_OF_STEPS:
        return
    for name, values in numbers.items():
        order = values.argsort(kind="stable")
        blocks = _pooled(values[order], needs.logs[order])
        if 1 < len(blocks) <= MOST_STEPS:
            found = _stepped(name, values[order], needs.of(order), blocks)
            if found is not None:
                yield found


def _stepped(
    name: str, values: Vector, needs: Needs, blocks: list[tuple[int, float]]
) -> Fitted | None:
    """Steps with their room. values: ascending. blocks: of runs, in that order.

    A single run does not show what its step needs: the step gets the size of the one above.
    """
    counts = np.array([count for count, _ in blocks])
    levels = np.array([mean for _, mean in blocks])
    told = np.repeat(counts > 1, counts)
    held = int((counts > 1).sum())
    if int(told.sum()) < held + 2:
        return None
    some = needs.of(np.flatnonzero(told))
    mean, count = np.repeat(levels, counts)[told], np.repeat(counts, counts)[told]
    predicted = np.exp((mean * count - some.logs) / (count - 1))
    room = room_over(some, predicted, some.size - held, may_add=False)
    for place in range(len(blocks) - 2, -1, -1):
        if counts[place] == 1:
            levels[place] = levels[place + 1]
    sizes_bytes = np.exp(levels) * room.factor
    alone = np.repeat(sizes_bytes, counts)[~told] - needs.values[~told]
    wasted_bytes = room.waste * some.mean * some.size + float(np.add.reduce(alone))
    # A value between two steps gets the upper one's size.
    edges = values[np.cumsum(counts)[:-1] - 1]
    steps = Steps(name, tuple(edges.tolist()), tuple(sizes_bytes.tolist()), room.factor)
    return Fitted(steps, wasted_bytes / (needs.mean * needs.size))


def _pooled(values: Vector, logs: Vector) -> list[tuple[int, float]]:
    """Blocks of runs in order of their value, with ascending means: (runs, mean) each."""
    blocks: list[tuple[int, float]] = []
    # Where a value differs from the one before, and the end.
    starts = [0, *(np.flatnonzero(values[1:] != values[:-1]) + 1).tolist(), values.size]
    ascending = logs.tolist()
    for start, end in pairwise(starts):
        count = end - start
        mean = ascending[start] if count == 1 else mean_of(logs[start:end])
        # Levels that hardly differ are one: each block costs a degree of freedom.
        while blocks and blocks[-1][1] > mean - 0.1:
            before, its_mean = blocks.pop()
            mean = (mean * count + its_mean * before) / (count + before)
            count += before
        blocks.append((count, mean))
    return blocks


def _kinds(table: RunTable, needs: Needs) -> Iterator[Fitted]:
    """A size for each word of a feature with enough runs; other words get the largest."""
    for name in table.names:
        words = table.words(name)
        kinds = members_of(words) if words is not None else {}
        if len(kinds) < 2 or len(kinds) > needs.size // 2:
            continue
        told = np.logical_or.reduce([*kinds.values()])
        some, others = needs.of(told), needs.values[~told]
        held = {kind: some.logs[runs[told]] for kind, runs in kinds.items()}
        lean = _lean([*held.values()])
        predicted, levels = np.empty_like(some.logs), {}
        for kind, runs in kinds.items():
            logs, total = held[kind], float(held[kind].sum())
            levels[kind] = _shrunken(total, logs.size, some.mean_log, lean)
            left = (total - logs + some.mean_log * lean) / (logs.size - 1 + lean)
            predicted[runs[told]] = left
        room = room_over(some, np.exp(predicted), some.size - len(kinds), may_add=False)
        sizes = {kind: math.exp(level) * room.factor for kind, level in levels.items()}
        spare_bytes = float(np.add.reduce(needs.values.max() * LEAST_ROOM - others))
        wasted_bytes = room.waste * some.mean * some.size + spare_bytes
        yield Fitted(Kinds(name, sizes, room.factor), wasted_bytes / (needs.mean * needs.size))


_LEAN: Final = 0.2
"""The most runs that the mean of all counts as."""


def _lean(held: list[Vector]) -> float:
    """How many runs of a kind the mean of all counts as: few if kinds differ more than runs.

    held: logarithms of each kind's needs, two runs or more. It is the variance within kinds over
    that between them (James and Stein).
    """
    runs = sum(logs.size for logs in held)
    within = sum(float(((logs - logs.mean()) ** 2).sum()) for logs in held) / (runs - len(held))
    between = float(np.var([logs.mean() for logs in held]))
    return min(_LEAN, within / between) if between > 0 else _LEAN


def _shrunken(total: float, count: int, mean: float, lean: float) -> float:
    return (total + mean * lean) / (count + lean)
