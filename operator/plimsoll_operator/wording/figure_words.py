"""Figures, sizes and times as people read them, wherever they are shown."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Final

from plimsoll_predictor.core.units import words_for_bytes

_DECIMALS: Final = ((0, 99.95), (1, 9.995), (2, 0.9995), (3, 0.09995), (4, 0.0))
"""The decimals, and the size from which they are shown."""


def words_for_gb_h(gb_h: float) -> str:
    """Memory-time, rounded as by ``number_words``.

    >>> words_for_gb_h(1234.5), words_for_gb_h(12.34), words_for_gb_h(0.01234), words_for_gb_h(0)
    ('1,234 GB·h', '12.3 GB·h', '0.0123 GB·h', '0 GB·h')
    """
    return f"{number_words(gb_h)} GB·h"


def number_words(value: float) -> str:
    """A number rounded to three significant digits, with 0 to 4 decimals; '-' if it is not finite.

    >>> number_words(0.5), number_words(-2), number_words(99.96), number_words(1e-9)
    ('0.5', '-2', '100', '0')
    >>> number_words(math.nan)
    '-'
    """
    if not math.isfinite(value):
        return "-"
    places = next(digits for digits, above in _DECIMALS if abs(value) >= above)
    return _trimmed(f"{value:,.{places}f}")


def words_for_share(part: float, whole: float) -> str:
    """``part`` of ``whole`` in whole percent; '-' if ``whole`` is not above 0.

    >>> words_for_share(1, 3), words_for_share(-1, 10), words_for_share(1, 0)
    ('33%', '-10%', '-')
    """
    return f"{100 * part / whole:.0f}%" if whole > 0 else "-"


def words_for_minute(at_s: float | None) -> str:
    """Unix seconds to the minute, UTC; '-' for None or for a time that is no date.

    >>> words_for_minute(0), words_for_minute(None), words_for_minute(1e300)
    ('1970-01-01 00:00', '-', '-')
    """
    if at_s is None:
        return "-"
    try:
        return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%d %H:%M")
    except (OverflowError, ValueError, OSError):
        return "-"


def words_for_size(size_bytes: float | None) -> str:
    """Bytes as people read them; '-' for none, or for what is not finite."""
    if size_bytes is None or not math.isfinite(size_bytes):
        return "-"
    return words_for_bytes(size_bytes)


def _trimmed(text: str) -> str:
    trimmed = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if trimmed in {"-0", ""} else trimmed
