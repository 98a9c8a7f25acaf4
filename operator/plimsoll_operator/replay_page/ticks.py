"""Round values for the axes of a replay's plots, and their words. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_UNITS: Final = (("minutes", 60.0), ("hours", 3600.0), ("days", 86400.0))
_MOST: Final = 7
_FACTORS: Final = (
    (2.5, (1.0,)),
    (0.8, (1.0, 2.0, 5.0)),
    (0.4, (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0)),
    (-1.0, (1.0, 1.2, 1.5, 1.8, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0)),
)
"""Of each decade, by how many decades there are at least."""


@dataclass(frozen=True, slots=True)
class TimeAxis:
    """Ticks of a time axis from 0, in its unit."""

    unit: str
    unit_s: float
    ticks: Sequence[float]


def decade_ticks(low: float, high: float) -> list[float]:
    """Round numbers within low..high, low > 0, for a logarithmic axis: the closer, the more.

    >>> decade_ticks(3, 60), decade_ticks(1, 2000)
    ([5.0, 10.0, 20.0, 50.0], [1.0, 10.0, 100.0, 1000.0])
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    decades = math.log10(high / low)
    factors = next(factors for above, factors in _FACTORS if decades > above)
    ticks = (factor * 10.0**power for power in powers for factor in factors)
    return [tick for tick in ticks if low <= tick <= high]


def even_ticks(high: float) -> list[float]:
    """Round numbers from 0 up to high, evenly apart.

    >>> even_ticks(3500)
    [0, 500, 1000, 1500, 2000, 2500, 3000, 3500]
    """
    steps = (factor * 10**power for power in range(-9, 18) for factor in (1, 2, 5))
    step = next(step for step in steps if high / step <= _MOST)
    return [place * step for place in range(int(high / step) + 1)]


def time_axis(span_s: float) -> TimeAxis:
    """Ticks from 0 up to a span, in the largest unit of which there are at least three.

    >>> time_axis(6 * 3600.0)
    TimeAxis(unit='hours', unit_s=3600.0, ticks=[0, 1, 2, 3, 4, 5, 6])
    """
    unit, unit_s = _UNITS[0]
    for name, length_s in _UNITS:
        if span_s >= 3 * length_s:
            unit, unit_s = name, length_s
    return TimeAxis(unit, unit_s, even_ticks(span_s / unit_s))
