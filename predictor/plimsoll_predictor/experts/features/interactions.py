"""Curves over two features that interact, as a table's rows and columns do. Pure.

In: a task's runs. Out: curves, each with its waste: bytes spare over bytes needed, each run left
out in turn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations, islice
from typing import Final

import numpy as np
from numpy.typing import NDArray

from plimsoll_predictor.experts.features.residuals import (
    LEAST_ROOM,
    Needs,
    Room,
    Vector,
    left_out,
    room_over,
)
from plimsoll_predictor.experts.features.run_table import RunTable
from plimsoll_predictor.knowledge.curve import KindLines, Product

MOST_NUMBERS: Final = 4
"""The most numeric features; each pair, and each with a word, costs as much as a line."""
MOST_KINDS: Final = 8
LEAST_RUNS_OF_A_KIND: Final = 2
"""A kind with fewer runs has no line of its own: it is sized as if no curve were known."""
LEAST_FREEDOM: Final = 2
"""Runs beyond those that a line for each kind takes."""
MORE_ROOM: Final = 1.02
"""The best of so many fits looks better than it is: 2.5% of the demo's runs exceeded its room, and
1% with this factor more."""

Members = Mapping[str, NDArray[np.bool_]]
"""Which runs are of each kind, (n,)."""


def products(numbers: Mapping[str, Vector], needs: Needs) -> Iterator[tuple[Product, float]]:
    """A line over each product of two numbers, (n,) each, such as rows and columns."""
    for first, second in combinations(islice(numbers, MOST_NUMBERS), 2):
        design = np.column_stack([np.ones(needs.size), numbers[first] * numbers[second]])
        if not np.isfinite(design).all():
            continue
        for weights in (np.ones(needs.size), needs.mean / needs.values):
            found = left_out(design, needs.values, weights)
            if found is None:
                continue
            (intercept, slope), predicted = found[0].tolist(), found[1]
            room = _room(needs, predicted, needs.size - 2)
            curve = Product((first, second), slope, intercept, room.factor, room.room_bytes)
            yield curve, room.waste


def lines_by_kind(
    table: RunTable, numbers: Mapping[str, Vector], needs: Needs
) -> Iterator[tuple[KindLines, float]]:
    """A line over a number, (n,), for each word of another feature."""
    for kind_feature in table.names:
        words = table.words(kind_feature)
        kinds = members_of(words) if words is not None else {}
        if not 1 < len(kinds) <= MOST_KINDS:
            continue
        told = np.logical_or.reduce([*kinds.values()])
        some, others = needs.of(told), needs.values[~told]
        if some.size < len(kinds) + 1 + LEAST_FREEDOM:
            continue
        # Runs of rare kinds get the largest need.
        spare_bytes = float(np.add.reduce(needs.values.max() * LEAST_ROOM - others))
        members = {kind: runs[told] for kind, runs in kinds.items()}
        for name in islice(numbers, MOST_NUMBERS):
            for curve, waste in _by_kind((name, kind_feature), numbers[name][told], members, some):
                wasted_bytes = waste * some.mean * some.size + spare_bytes
                yield curve, wasted_bytes / (needs.mean * needs.size)


def members_of(words: list[str]) -> Members:
    """Which runs are of each kind, for kinds with enough runs."""
    of_runs = np.array(words)
    members = {kind: of_runs == kind for kind in sorted(set(words))}
    return {kind: runs for kind, runs in members.items() if runs.sum() >= LEAST_RUNS_OF_A_KIND}


def _by_kind(
    names: tuple[str, str], values: Vector, kinds: Members, needs: Needs
) -> Iterator[tuple[KindLines, float]]:
    """Lines with their room, and what they waste. Every run is of one of the kinds.

    Either the program's own memory is the same for all kinds, and the memory per row depends on the
    kind; or each kind takes its multiple of the same power.
    """
    number, kind_feature = names
    members = np.column_stack([runs.astype(np.float64) for runs in kinds.values()])
    freedom = needs.size - len(kinds) - 1
    # A kind without any rows has no slope.
    grow = [kind for kind, runs in kinds.items() if values[runs].any()]
    slopes = members[:, [kind in grow for kind in kinds]] * values[:, None]
    slopes = np.column_stack([np.ones(needs.size), slopes])
    for weights in (np.ones(needs.size), needs.mean / needs.values):
        found = left_out(slopes, needs.values, weights)
        if found is not None:
            (shared, *own), predicted = found[0].tolist(), found[1]
            lines = dict.fromkeys(kinds, (shared, 0.0))
            lines |= {kind: (shared, slope) for kind, slope in zip(grow, own, strict=True)}
            room = _room(needs, predicted, freedom)
            curve = KindLines(number, kind_feature, lines, False, room.factor, room.room_bytes)
            yield curve, room.waste
    if values.min() > 0:
        levels = np.column_stack([members, np.log(values)])
        found = left_out(levels, needs.logs, np.ones(needs.size))
        if found is not None:
            (*own, shared), predicted = found[0].tolist(), found[1]
            lines = {kind: (level, shared) for kind, level in zip(kinds, own, strict=True)}
            room = _room(needs, np.exp(np.minimum(predicted, 43.0)), freedom, may_add=False)
            yield KindLines(number, kind_feature, lines, True, room.factor), room.waste


def _room(needs: Needs, predicted: Vector, freedom: int, *, may_add: bool = True) -> Room:
    found = room_over(needs, predicted, freedom, may_add=may_add)
    more = MORE_ROOM - 1
    return Room(found.factor * MORE_ROOM, found.room_bytes, found.waste * MORE_ROOM + more)
