"""The laws that draw synthetic needs. Pure: a generator in, runs' needs out.

Each need is a level that its law knows, times chance. An oracle knows each run's level and the law
of chance, but never the draw.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from plimsoll_predictor.core.record import FeatureValue
from plimsoll_predictor.core.units import MIB

Vector = NDArray[np.float64]
Chance = Callable[[np.random.Generator, int], Vector]
"""Draws of need ÷ level: (n,), above zero."""
Level = Callable[[np.random.Generator, int], "Levels"]

ROWS: Final = "rows"
MEDIAN_ROWS: Final = 225_000.0
ROWS_SIGMA: Final = 0.6
"""The deviation of the logarithm; three runs in a hundred have three times as many rows as the
median run."""
MOST_ROWS: Final = 900_000.0
BASE_BYTES: Final = 60.0 * MIB
CATEGORIES_MIB: Final[Mapping[str, float]] = {
    "daily": 90.0,
    "weekly": 180.0,
    "monthly": 420.0,
    "yearly": 760.0,
}
BYTES_A_ROW: Final[Mapping[str, float]] = {
    "daily": 300.0,
    "weekly": 600.0,
    "monthly": 1200.0,
    "yearly": 2000.0,
}
STEPS_MIB: Final = ((120_000.0, 100.0), (350_000.0, 260.0), (math.inf, 640.0))
"""Up to so many rows, so many MiB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Levels:
    """Runs before chance. level_bytes: (n,). features: one mapping per run, known before it."""

    level_bytes: Vector
    features: tuple[Mapping[str, FeatureValue], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Law:
    """How a task's needs arise.

    shown: the share of its allocation that an attempt fills whatever it needs, like a runtime whose
        heap is a share of its limit; 0 for tasks whose peak is their need.
    by_need: whether large runs take longer: a run takes the task's runtime × need ÷ level.
    """

    level: Level
    chance: Chance
    shown: float = 0.0
    by_need: bool = field(default=False)


def exact(_random: np.random.Generator, runs: int) -> Vector:
    """No chance: the level is the need."""
    return np.ones(runs)


def lognormal(sigma: float) -> Chance:
    """Chance with a median of 1; sigma: of its logarithm."""
    return lambda random, runs: np.asarray(random.lognormal(0.0, sigma, runs))


def normal(sigma: float) -> Chance:
    """Chance with a mean of 1, at least a tenth."""
    return lambda random, runs: np.maximum(0.1, random.normal(1.0, sigma, runs))


def pareto(shape: float) -> Chance:
    """Chance of 1 and more with a tail of this shape; its variance is infinite up to 2."""
    return lambda random, runs: np.asarray(1.0 + random.pareto(shape, runs))


def _rows(random: np.random.Generator, runs: int) -> Vector:
    drawn = MEDIAN_ROWS * random.lognormal(0.0, ROWS_SIGMA, runs)
    return np.asarray(np.round(np.minimum(drawn, MOST_ROWS)), dtype=np.float64)


def _with_rows(bytes_of: Callable[[Vector], Vector]) -> Level:
    def level(random: np.random.Generator, runs: int) -> Levels:
        rows = _rows(random, runs)
        return Levels(
            level_bytes=bytes_of(rows),
            features=tuple({ROWS: float(each)} for each in rows),
        )

    return level


linear: Final = _with_rows(lambda rows: BASE_BYTES + rows / 1000 * MIB)
"""60 MiB and a MiB for each thousand rows."""
power: Final = _with_rows(lambda rows: 285.0 * MIB * (rows / MEDIAN_ROWS) ** 0.7)
"""A straight line in logarithms."""
steps: Final = _with_rows(
    lambda rows: (
        np.array([next(mib for most, mib in STEPS_MIB if each <= most) for each in rows]) * MIB
    )
)
"""One of three sizes, by the rows."""


def two_features(random: np.random.Generator, runs: int) -> Levels:
    """A line in two features."""
    rows, columns = _rows(random, runs), np.round(random.lognormal(math.log(30.0), 0.5, runs))
    return Levels(
        level_bytes=BASE_BYTES + (rows / 1500 + columns * 3) * MIB,
        features=tuple(
            {ROWS: float(one), "columns": float(other)}
            for one, other in zip(rows, columns, strict=True)
        ),
    )


def product(random: np.random.Generator, runs: int) -> Levels:
    """60 MiB and a MiB for each 40,000 cells of a table of rows and columns."""
    rows, columns = _rows(random, runs), np.round(random.lognormal(math.log(30.0), 0.5, runs))
    return Levels(
        level_bytes=BASE_BYTES + rows * columns / 40_000 * MIB,
        features=tuple(
            {ROWS: float(one), "columns": float(other)}
            for one, other in zip(rows, columns, strict=True)
        ),
    )


def line_by_kind(random: np.random.Generator, runs: int) -> Levels:
    """60 MiB, and a number of bytes per row that depends on the kind."""
    rows = _rows(random, runs)
    kinds = random.choice(list(BYTES_A_ROW), runs, p=[0.4, 0.3, 0.2, 0.1])
    bytes_a_row = np.array([BYTES_A_ROW[str(kind)] for kind in kinds])
    return Levels(
        level_bytes=BASE_BYTES + rows * bytes_a_row,
        features=tuple(
            {ROWS: float(one), "cycle": str(kind)} for one, kind in zip(rows, kinds, strict=True)
        ),
    )


def among_others(random: np.random.Generator, runs: int) -> Levels:
    """The line in rows, among four features without influence."""
    drawn = linear(random, runs)
    others = random.lognormal(8.0, 1.0, (runs, 3))
    shards = random.integers(0, 5, runs)
    return Levels(
        level_bytes=drawn.level_bytes,
        features=tuple(
            {
                **own,
                **{f"other-{place}": float(value) for place, value in enumerate(row)},
                "shard": f"s{shard}",
            }
            for own, row, shard in zip(drawn.features, others, shards, strict=True)
        ),
    )


def categories(random: np.random.Generator, runs: int) -> Levels:
    """One of four sizes, by a word; the small ones are frequent."""
    words = list(CATEGORIES_MIB)
    drawn = random.choice(words, runs, p=[0.4, 0.3, 0.2, 0.1])
    return Levels(
        level_bytes=np.array([CATEGORIES_MIB[str(word)] for word in drawn]) * MIB,
        features=tuple({"cycle": str(word)} for word in drawn),
    )


def steady(mib: float) -> Level:
    """One level, no feature."""
    return lambda _random, runs: Levels(
        level_bytes=np.full(runs, mib * MIB), features=tuple({} for _ in range(runs))
    )


def uninfluenced(mib: float) -> Level:
    """One level, with rows and a word that do not influence it."""

    def level(random: np.random.Generator, runs: int) -> Levels:
        rows = _rows(random, runs)
        words = random.choice(list(CATEGORIES_MIB), runs)
        return Levels(
            level_bytes=np.full(runs, mib * MIB),
            features=tuple(
                {ROWS: float(each), "cycle": str(word)}
                for each, word in zip(rows, words, strict=True)
            ),
        )

    return level


def shifted(mib: float, times: float) -> Level:
    """One level, multiplied by ``times`` from the middle on."""

    def level(_random: np.random.Generator, runs: int) -> Levels:
        after = np.arange(runs) >= runs // 2
        return Levels(
            level_bytes=mib * MIB * np.where(after, times, 1.0),
            features=tuple({} for _ in range(runs)),
        )

    return level
