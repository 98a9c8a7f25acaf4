"""A forecast's figures in words and as JSON."""

from __future__ import annotations

from typing import Final, Protocol

from plimsoll_predictor.core.durations import words_for_duration
from plimsoll_predictor.runtimes.forecasting.forecast import Forecast

TOLD_SHARES: Final = (0.5, 0.75, 0.9, 0.95, 0.99)
"""The quantiles that are shown."""
_LEAST: Final = 0.001
_FINE_BELOW: Final = 0.0995


def quantiles_dict(forecast: Forecast) -> dict[str, float]:
    """Seconds that a run stays within, by share: ``p50_s`` to ``p99_s``."""
    quantiles_s = forecast.quantiles_s(TOLD_SHARES)
    return {
        f"p{100 * share:.0f}_s": round(float(each), 3)
        for share, each in zip(TOLD_SHARES, quantiles_s, strict=True)
    }


class Foretold(Protocol):
    """A forecast of a run, or of a plan's end."""

    @property
    def known_share(self) -> float:
        """Return the share whose times forecasts can tell."""

    @property
    def beyond_s(self) -> float | None:
        """Return the least seconds of all others; None if that cannot be told, either."""

    def quantile_s(self, share: float) -> float:
        """Return seconds; the least possible where the share is above the one that is known."""


def words_for_quantile(share: float, foretold: Foretold) -> str:
    """A quantile in words: `within 5 min`, and where nobody knows `more than 16 d` or `unknown`."""
    if share > foretold.known_share:
        least_s = foretold.beyond_s
        return "unknown" if least_s is None else f"more than {words_for_duration(least_s)}"
    return f"within {words_for_duration(foretold.quantile_s(share))}"


def words_for_odds(share: float) -> str:
    """A quantile's share as people say it.

    >>> [words_for_odds(share) for share in TOLD_SHARES]
    ['1 in 2', '3 in 4', '9 in 10', '19 in 20', '99 in 100']
    """
    exact = (2, 4, 10, 20)
    parts = next((each for each in exact if abs(each * share - round(each * share)) < _LEAST), 100)
    return f"{round(share * parts)} in {parts}"


def words_for_chance(chance: float | None) -> str:
    """A probability in percent; one near 0 or 1 is not rounded to it.

    >>> [words_for_chance(each) for each in (None, 0.0, 0.0324, 0.41, 0.9999)]
    ['unknown', 'below 0.1%', '3.2%', '41%', 'above 99.9%']
    """
    if chance is None:
        return "unknown"
    if chance < _LEAST:
        return "below 0.1%"
    if chance > 1 - _LEAST:
        return "above 99.9%"
    digits = 1 if min(chance, 1 - chance) < _FINE_BELOW else 0
    return f"{100 * chance:.{digits}f}%"
