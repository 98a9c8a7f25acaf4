"""Durations as people read them."""

from __future__ import annotations

from typing import Final

_UNITS: Final = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s"))
_WHOLE_FROM: Final = 10.0
"""From here on a fraction of the unit tells nothing; '1.5 h' does."""
_NEXT_UNIT_AT: Final = 2.0
"""'90 s' is read more easily than '1.5 min', '2 min' more easily than '120 s'."""


def words_for_duration(duration_s: float) -> str:
    """A duration to two digits or so, in the largest unit of which there are two or more.

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
