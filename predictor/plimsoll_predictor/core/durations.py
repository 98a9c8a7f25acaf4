"""Durations in words, long ones for sentences and short ones for columns. Pure."""

from __future__ import annotations

import math
from typing import Final

_UNITS: Final = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))
_WHOLE_FROM: Final = 10.0
"""From here on no fraction of the unit is shown; below it, as in '1.5 h', one is."""
_NEXT_UNIT_AT: Final = 2.0
"""'90 s' is read more easily than '1.5 min', '2 min' more easily than '120 s'."""
_SECOND_UNIT_BELOW: Final = 10
"""From ten of a unit on, a column does not show the next smaller unit."""


def words_for_duration(duration_s: float) -> str:
    """A duration to about two digits, in the largest unit that gives two or more.

    >>> [words_for_duration(seconds) for seconds in (0.04, 1.25, 40, 90, 360, 5400, 3e5)]
    ['0.04 s', '1.2 s', '40 s', '90 s', '6 min', '90 min', '3.5 d']
    """
    size, unit = next(
        ((size, unit) for size, unit in _UNITS if abs(duration_s) >= _NEXT_UNIT_AT * size),
        _UNITS[-1],
    )
    amount = duration_s / size
    if abs(amount) >= _WHOLE_FROM:
        return f"{amount:,.0f} {unit}"
    if abs(amount) >= 1:
        return f"{amount:.1f}".removesuffix(".0") + f" {unit}"
    return f"{amount:.2g} {unit}"


def clock_words(duration_s: float) -> str:
    """A duration as kubectl writes it: its largest unit, and the next one while that tells much.

    '-' if it is not finite.

    >>> [clock_words(each) for each in (0, 0.4, 40, 60, 370, 754, 5400, 216000)]
    ['0s', '<1s', '40s', '1m', '6m 10s', '13m', '1h 30m', '2d 12h']
    """
    if not math.isfinite(duration_s):
        return "-"
    if 0 < duration_s < 1:
        return "<1s"
    for place, (size, _) in enumerate(_UNITS):
        if round(duration_s) >= size:
            return _in_short_units(duration_s, place)
    return "0s"


def two_digits(duration_s: float) -> float:
    """Seconds with two digits that count: smaller differences are not shown.

    >>> two_digits(371.4), two_digits(0.0), two_digits(99.6), two_digits(3.14159)
    (370.0, 0.0, 100.0, 3.1)
    """
    if duration_s <= 0 or not math.isfinite(duration_s):
        return 0.0
    digits = 1 - math.floor(math.log10(duration_s))
    return round(duration_s, digits)


def _in_short_units(duration_s: float, place: int) -> str:
    """place: of the largest unit. Each unit is written as its first letter."""
    size, unit = _UNITS[place]
    if size == 1 or duration_s >= _SECOND_UNIT_BELOW * size:
        return f"{round(duration_s / size)}{unit[0]}"
    smaller, smaller_unit = _UNITS[place + 1]
    count = round(duration_s / smaller)
    units, rest = divmod(count, size // smaller)
    return f"{units}{unit[0]} {rest}{smaller_unit[0]}" if rest else f"{units}{unit[0]}"
