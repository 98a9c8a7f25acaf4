"""Durations as clocks and kubectl write them. Pure."""

from __future__ import annotations

import math
from typing import Final

_UNITS: Final = ((86400, "d"), (3600, "h"), (60, "m"), (1, "s"))
_SECOND_UNIT_BELOW: Final = 10
"""From ten of a unit on, the next smaller one tells nothing."""


def clock_words(duration_s: float) -> str:
    """A duration in its largest unit, and the next one while that tells something.

    >>> [clock_words(each) for each in (0, 0.4, 40, 60, 370, 754, 5400, 216000)]
    ['0s', '<1s', '40s', '1m', '6m 10s', '13m', '1h 30m', '2d 12h']
    """
    if 0 < duration_s < 1:
        return "<1s"
    for place, (size, unit) in enumerate(_UNITS):
        if round(duration_s) >= size:
            return _in_units(duration_s, place, size, unit)
    return "0s"


def two_digits(duration_s: float) -> float:
    """Seconds with two digits that count: what trembles less than that is not told.

    >>> two_digits(371.4), two_digits(0.0), two_digits(99.6), two_digits(3.14159)
    (370.0, 0.0, 100.0, 3.1)
    """
    if duration_s <= 0 or not math.isfinite(duration_s):
        return 0.0
    digits = 1 - math.floor(math.log10(duration_s))
    return round(duration_s, digits)


def _in_units(duration_s: float, place: int, size: int, unit: str) -> str:
    if size == 1 or duration_s >= _SECOND_UNIT_BELOW * size:
        return f"{round(duration_s / size)}{unit}"
    smaller, smaller_unit = _UNITS[place + 1]
    count = round(duration_s / smaller)
    whole, rest = divmod(count, size // smaller)
    return f"{whole}{unit} {rest}{smaller_unit}" if rest else f"{whole}{unit}"
