"""What people are told about a kind: its best neighbours, and those that slow it most."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from plimsoll_predictor.placing.kinds import OTHERS
from plimsoll_predictor.placing.matrix import Matrix, Slowdown

NOTICED: Final = 1.1
"""A bad neighbour makes a kind take more than so many times as long."""
MOST_NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A neighbour. slowdown: of the kind in question, beside one of this ``kind``."""

    kind: str
    slowdown: Slowdown


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The neighbours that slow a kind least and most, the clearest of each first.

    No neighbour is in both. Both are empty while nothing about the kind can be told.
    """

    best: tuple[Neighbour, ...] = ()
    worst: tuple[Neighbour, ...] = ()


def neighbours_of(matrix: Matrix, kind: str, most: int = MOST_NAMED) -> Neighbours:
    """Name at most ``most`` best and worst neighbours; the kind itself can be one.

    Only known slowdowns are told. OTHERS is never named, and a kind that is not told apart from
    OTHERS has no neighbours. Cost: K steps of K kinds, and a sort.
    """
    if kind == OTHERS or kind not in matrix.kinds:
        return Neighbours()
    known = sorted(
        (
            beside
            for beside in (Neighbour(each, matrix.slowdown(kind, each)) for each in matrix.kinds)
            if beside.slowdown.known and beside.kind != OTHERS
        ),
        key=lambda beside: (beside.slowdown.times, beside.kind),
    )
    if not known:
        return Neighbours()
    good, bad = _bounds(known)
    best = [each for each in known if each.slowdown.times <= good]
    worst = [
        each for each in reversed(known) if each.slowdown.times > bad and each.slowdown.low > 1
    ]
    return Neighbours(tuple(best[:most]), tuple(worst[:most]))


def _bounds(known: Sequence[Neighbour]) -> tuple[float, float]:
    """Times up to which a neighbour is a good one, and times above which it is a bad one.

    A kind that everybody slows, some by a fifth and some to double, still has better neighbours:
    those near the least, and those beyond the middle. Where all slow it alike, it has none.
    """
    least, most = known[0].slowdown.times, known[-1].slowdown.times
    if most <= least * NOTICED:
        return NOTICED, NOTICED
    middle = max(NOTICED, math.sqrt(least * most))
    return min(middle, max(NOTICED, least * NOTICED)), middle
