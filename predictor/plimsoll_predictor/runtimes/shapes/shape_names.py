"""Names of shapes, kept from one fit to the next while the shape is the same.

A name is a word for the shape's look when it was first seen, and a number that is never given
twice: 'steady-1', 'two-moded-4'. Ranks cannot be names: they move when one shape joins.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from scipy.optimize import linear_sum_assignment

from plimsoll_predictor.runtimes.shapes.catalogue import Shape, ShapeCatalogue, ShapeStatistics
from plimsoll_predictor.runtimes.shapes.normalising import RANGES, FloatArray, Normalisation

SAME_WITHIN: Final = 0.25
"""A shape is still the same if at most this share of its mass lies elsewhere."""
STEADY_WITHIN: Final = {Normalisation.RATIO: 0.1, Normalisation.DELTA: 30.0}
WIDE_FROM: Final = {Normalisation.RATIO: 0.6, Normalisation.DELTA: 600.0}
"""Interquartile range, in multiples of the usual or in seconds."""
LONG_TAILED_FROM: Final = 4.0
"""The 95th's distance from the usual, in interquartile ranges; about 1.2 for a normal one."""
LEAST_MODE: Final = 0.12
"""Share of the mass that makes a mode."""
VALLEY: Final = 0.35
"""Between two modes the mass falls below this share of the lower one."""


def names_for(
    fitted: Sequence[tuple[FloatArray, ShapeStatistics]],
    normalisation: Normalisation,
    previous: ShapeCatalogue | None,
) -> tuple[list[str], int]:
    """Names of fitted shapes (pmf, statistics), and how many names were given so far."""
    names: list[str | None] = [None] * len(fitted)
    given = 0
    if previous is not None and previous.normalisation is normalisation:
        given = previous.names_given
        for old, new in matches(previous.shapes, [pmf for pmf, _ in fitted]):
            names[new] = previous.shapes[old].name
    all_names = []
    for name, (pmf, statistics) in zip(names, fitted, strict=True):
        if name is None:
            given += 1
            all_names.append(f"{word_for(pmf, statistics, normalisation)}-{given}")
        else:
            all_names.append(name)
    return all_names, given


def matches(old: Sequence[Shape], new: Sequence[FloatArray]) -> list[tuple[int, int]]:
    """Pairs (old, new) that are the same shape: the pairing with the least total distance."""
    if not old or not new:
        return []
    distances = np.array([[distance(shape.pmf, pmf) for pmf in new] for shape in old])
    # A pair too far apart is no pair, and must not draw others away from theirs.
    rows, columns = linear_sum_assignment(np.minimum(distances, SAME_WITHIN))
    return [
        (int(row), int(column))
        for row, column in zip(rows, columns, strict=True)
        if distances[row, column] < SAME_WITHIN
    ]


def distance(one: FloatArray, other: FloatArray) -> float:
    """Total variation: the share of the mass that lies elsewhere, 0 to 1."""
    return float(np.abs(one - other).sum() / 2)


def word_for(pmf: FloatArray, statistics: ShapeStatistics, normalisation: Normalisation) -> str:
    """A word for the shape's look.

    The words are those of ``variation_summary.Form``. The thresholds are this file's own, because
    here the runs are normalised.
    """
    modes = modes_in(pmf)
    if modes > 1:
        return "two-moded" if modes == 2 else "many-moded"
    spread = statistics.interquartile
    low, high = RANGES[normalisation]
    usual = 1.0 if normalisation is Normalisation.RATIO else 0.0
    bin_width = (high - low) / pmf.size
    if spread >= WIDE_FROM[normalisation]:
        return "wide"
    if statistics.p95 - usual >= LONG_TAILED_FROM * max(spread, bin_width):
        return "long-tailed"
    return "steady" if spread <= STEADY_WITHIN[normalisation] else "varied"


def modes_in(pmf: FloatArray) -> int:
    """How many modes: parts between valleys that each hold LEAST_MODE of the mass."""
    cuts = []
    last_peak = float(pmf[0])
    lowest, lowest_at = last_peak, 0
    for place, mass in enumerate(pmf):
        if mass < lowest:
            lowest, lowest_at = float(mass), place
        elif lowest < VALLEY * min(last_peak, float(mass)):
            cuts.append(lowest_at)
            last_peak, lowest, lowest_at = float(mass), float(mass), place
        if mass > last_peak:
            last_peak, lowest, lowest_at = float(mass), float(mass), place
    shares = [float(part.sum()) for part in np.split(pmf, cuts)]
    return max(1, sum(share >= LEAST_MODE for share in shares))
