"""The best sizes if a task's law is known, charged as the replay charges.

The oracle knows each run's level and the law of chance, but never the draw. It gives a multiple of
the level, and multiplies by a step after a failure; both are the cheapest on a large sample.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Final

import numpy as np
from numpy.typing import NDArray

from plimsoll_predictor.replay.sizes.rows import Submitted, TraceRow

Vector = NDArray[np.float64]
SAMPLE: Final = 10_000
_QUANTILES: Final = np.concatenate([np.linspace(0.02, 0.98, 49), 1 - np.geomspace(0.015, 1e-4, 16)])
_STEPS: Final = (1.25, 1.5, 2.0, 3.0, 4.0)
_MOST_ATTEMPTS: Final = 60
_A_HAIR: Final = 1.0 + 1e-9
"""A level times a multiple must hold what it was made for, despite rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ladder:
    """First a multiple of the level, then each attempt times the step."""

    multiple: float
    step: float


def cheapest_ladder(chance: Vector, runtimes: Vector, most: float) -> Ladder:
    """The ladder that wastes least on a sample of need ÷ level.

    chance, runtimes: (n,), of the same runs. most: the request, in levels; a ladder that reaches it
    gives the request, and goes above it only if it did not suffice.
    """
    multiples = np.minimum(np.quantile(chance, _QUANTILES) * _A_HAIR, most)
    multiples = np.unique(np.append(multiples, most) if np.isfinite(most) else multiples)
    ladders = [Ladder(multiple=float(m), step=step) for m in multiples for step in _STEPS]
    return min(ladders, key=lambda each: _waste(each, chance, runtimes, most))


def _waste(ladder: Ladder, chance: Vector, runtimes: Vector, most: float) -> float:
    given, waste = ladder.multiple, 0.0
    short = np.ones(chance.size, dtype=bool)
    for _ in range(_MOST_ATTEMPTS):
        fails = short & (chance > given)
        ends = short & ~fails
        waste += float(((given - chance[ends]) * runtimes[ends]).sum())
        waste += float((given * runtimes[fails]).sum())
        short = fails
        if not fails.any():
            break
        given = _next(given, ladder.step, most)
    return waste


def _next(given: float, step: float, most: float) -> float:
    return min(given * step, most) if given < most else given * step


class OracleSizer:
    """Gives the oracle's sizes; learns nothing.

    first_bytes: line -> bytes. step: line -> the factor after a failed attempt.
    """

    def __init__(self, first_bytes: Mapping[int, int], step: Mapping[int, float]) -> None:
        self._first_bytes, self._step = first_bytes, step

    def decide(self, asked: Submitted, _now_s: float, /) -> int:
        """The multiple of the run's level, never above the request."""
        return self._first_bytes[asked.line]

    def lift(self, asked: Submitted, failed_bytes: int, _attempt: int, _now_s: float, /) -> int:
        """A step up, but the request before anything above it."""
        most = float(asked.preset_bytes or failed_bytes)
        return max(failed_bytes + 1, ceil(_next(failed_bytes, self._step[asked.line], most)))

    def failed(
        self, asked: Submitted, allocation_bytes: int, attempt: int, now_s: float, /
    ) -> None:
        """Learn nothing."""

    def completed(self, row: TraceRow, allocation_bytes: int, now_s: float, /) -> None:
        """Learn nothing."""
