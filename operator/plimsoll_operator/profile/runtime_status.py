"""Makes the part of a TaskProfile's status about runtimes.

All figures have two digits: a forecast moves a little with each run, and each change of the status
costs a patch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from statistics import median
from typing import Any, Final

from plimsoll_predictor.core.durations import clock_words, two_digits, words_for_duration
from plimsoll_predictor.runtimes.forecasting.forecast import Forecast
from plimsoll_predictor.runtimes.forecasting.grid import SMALLEST_S
from plimsoll_predictor.runtimes.shapes.variation_summary import summarise

TWICE: Final = 2.0
SHOWN_RUNS: Final = 200
"""The shape and trend of this many newest runs are shown, wherever they are."""
RECENT_RUNS: Final = 20
"""How many of the last runs are compared with the earlier ones."""
LEAST_EARLIER: Final = 10
TREND_FROM: Final = 1.2
"""A trend needs this ratio of the two medians, or its inverse."""
TREND_RANKS: Final = 0.75
"""A trend needs this share of pairs in which the later run is longer (or shorter)."""
MOST_WORDS: Final = 512


class Trend(StrEnum):
    """The direction in which a task's runtimes change."""

    UNKNOWN = "unknown"
    STEADY = "steady"
    RISING = "rising"
    FALLING = "falling"


@dataclass(frozen=True, slots=True)
class RuntimeFacts:
    """The runtimes of a task.

    forecast: of a run submitted now; None while no run is known.
    recent_s: runtimes of the newest runs, oldest first, a few hundred at most.
    """

    forecast: Forecast | None = None
    recent_s: Sequence[float] = field(default_factory=tuple)


def runtime_status(facts: RuntimeFacts) -> dict[str, Any] | None:
    """Return the status' field ``runtime``; None while no run is known."""
    forecast = facts.forecast
    if forecast is None:
        return None
    p50_s, p95_s = (two_digits(float(time_s)) for time_s in forecast.quantiles_s((0.5, 0.95)))
    longer_share = forecast.longer_than_usual(TWICE)
    recent_s = [max(time_s, SMALLEST_S) for time_s in facts.recent_s]
    return {
        "text": range_words(p50_s, p95_s),
        "p50": clock_words(p50_s),
        "p50Seconds": p50_s,
        "p95": clock_words(p95_s),
        "p95Seconds": p95_s,
        "longerThanTwice": None if longer_share is None else round(longer_share, 2),
        "forecastRuns": forecast.known_runs,
        "shape": summarise(recent_s).words[:MOST_WORDS] if recent_s else None,
        **_trend_fields(recent_s),
    }


def range_words(p50_s: float, p95_s: float) -> str:
    """Return the usual run and a long one, for a narrow column.

    >>> range_words(40, 120), range_words(40, 40)
    ('40s-2m', '40s')
    """
    usual, long = (clock_words(time_s).replace(" ", "") for time_s in (p50_s, p95_s))
    return usual if usual == long else f"{usual}-{long}"


def trend_of(runtimes_s: Sequence[float]) -> Trend:
    """Say whether the last runs take longer or shorter than the earlier ones.

    Two conditions must hold: TREND_FROM of the medians, and TREND_RANKS of the pairs of runs.

    runtimes_s: oldest first.
    """
    earlier, last = runtimes_s[:-RECENT_RUNS], runtimes_s[-RECENT_RUNS:]
    if len(earlier) < LEAST_EARLIER:
        return Trend.UNKNOWN
    times, longer = median(last) / median(earlier), _longer(last, earlier)
    if times >= TREND_FROM and longer >= TREND_RANKS:
        return Trend.RISING
    if times <= 1 / TREND_FROM and longer <= 1 - TREND_RANKS:
        return Trend.FALLING
    return Trend.STEADY


def _longer(last: Sequence[float], earlier: Sequence[float]) -> float:
    """Return the share of pairs in which the later run is longer; a tie counts half."""
    wins = sum((a > b) + 0.5 * (a == b) for a in last for b in earlier)
    return wins / (len(last) * len(earlier))


def _trend_fields(runtimes_s: Sequence[float]) -> Mapping[str, str | None]:
    trend = trend_of(runtimes_s)
    if trend is Trend.UNKNOWN:
        return {"trend": None, "trendWords": None}
    last, before = runtimes_s[-RECENT_RUNS:], runtimes_s[:-RECENT_RUNS]
    usual, usually = (words_for_duration(median(times_s)) for times_s in (last, before))
    words = f"{trend}: the last {len(last)} runs usually took {usual}, the earlier ones {usually}"
    if trend is Trend.STEADY and not 1 / TREND_FROM < median(last) / median(before) < TREND_FROM:
        words += ", but single runs differ as much"
    return {"trend": trend.value, "trendWords": words}
