"""What a TaskProfile's status says of its runs' times.

All figures have two digits: a forecast moves a little with each run, and a status that trembles
is patched for nothing.
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
from plimsoll_predictor.runtimes.shapes.summary import summarise

TWICE: Final = 2.0
RECENT_RUNS: Final = 20
"""The last runs, held against those before them."""
LEAST_EARLIER: Final = 10
TREND_FROM: Final = 1.2
"""The last runs' median is so many times the earlier ones', or that much smaller."""
TREND_RANKS: Final = 0.75
"""So often a run of the last is longer (or shorter) than an earlier one: more than chance."""
MOST_WORDS: Final = 512


class Trend(StrEnum):
    """Where a task's runtimes go."""

    UNKNOWN = "unknown"
    STEADY = "steady"
    RISING = "rising"
    FALLING = "falling"


@dataclass(frozen=True, slots=True)
class RuntimeFacts:
    """What the status is made of.

    forecast: of a run submitted now; None while no run is known.
    recent_s: runtimes of the newest runs, oldest first, some hundreds at most.
    """

    forecast: Forecast | None = None
    recent_s: Sequence[float] = field(default_factory=tuple)


def runtime_status(facts: RuntimeFacts) -> dict[str, Any] | None:
    """The status' field ``runtime``; None while nothing is known."""
    forecast = facts.forecast
    if forecast is None:
        return None
    p50_s, p95_s = (two_digits(float(each)) for each in forecast.quantiles_s((0.5, 0.95)))
    recent_s = [max(each, SMALLEST_S) for each in facts.recent_s]
    return {
        "text": range_words(p50_s, p95_s),
        "p50": clock_words(p50_s),
        "p50Seconds": p50_s,
        "p95": clock_words(p95_s),
        "p95Seconds": p95_s,
        "longerThanTwice": _share(forecast.longer_than_usual(TWICE)),
        "forecastRuns": forecast.known_runs,
        "shape": summarise(recent_s).words[:MOST_WORDS] if recent_s else None,
        **_trend_fields(recent_s),
    }


def range_words(p50_s: float, p95_s: float) -> str:
    """The column: the usual run and a long one.

    >>> range_words(40, 120), range_words(40, 40)
    ('40s-2m', '40s')
    """
    usual, long = (clock_words(each).replace(" ", "") for each in (p50_s, p95_s))
    return usual if usual == long else f"{usual}-{long}"


def trend_of(runtimes_s: Sequence[float]) -> Trend:
    """Whether the last runs take longer or shorter than those before.

    Both must hold: their medians differ by a fifth, and runs do so one by one, by ranks.
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
    """How often a run of the last is longer than one of the earlier; half of the time if alike."""
    wins = sum((a > b) + 0.5 * (a == b) for a in last for b in earlier)
    return wins / (len(last) * len(earlier))


def _trend_fields(runtimes_s: Sequence[float]) -> Mapping[str, str | None]:
    trend = trend_of(runtimes_s)
    if trend is Trend.UNKNOWN:
        return {"trend": None, "trendWords": None}
    last, before = runtimes_s[-RECENT_RUNS:], runtimes_s[:-RECENT_RUNS]
    usual, usually = (words_for_duration(median(each)) for each in (last, before))
    words = f"{trend}: the last {len(last)} runs usually took {usual}, the earlier ones {usually}"
    return {"trend": trend.value, "trendWords": words}


def _share(share: float | None) -> float | None:
    return None if share is None else round(share, 2)
