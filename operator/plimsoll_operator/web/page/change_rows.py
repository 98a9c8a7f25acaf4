"""Makes the lines of a what-if's answer, one for each measure. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from plimsoll_operator.wording.forecast_words import words_for_chance
from plimsoll_predictor.core.durations import words_for_duration
from plimsoll_predictor.runtimes.what_if.change import Direction, MeasureChange
from plimsoll_predictor.runtimes.what_if.measures import OUTLIER_TIMES, Measure

_NAMES: Final = {
    Measure.P50: "1 in 2 within",
    Measure.P95: "19 in 20 within",
    Measure.SPREAD: "75% over 25% quantile",
    Measure.OUTLIERS: f"over {OUTLIER_TIMES:g}× the usual",
}
_VERDICTS: Final = {
    Direction.LESS: "less",
    Direction.MORE: "more",
    Direction.CANNOT_TELL: "cannot tell",
    Direction.TOO_FEW: "too few runs",
}
_UNKNOWN: Final = "-"
_MOST_PERCENT: Final = 900


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRow:
    """One measure in words. change: with its 95% interval. certain: whether the data show it."""

    name: str
    now: str
    then: str
    change: str
    verdict: str
    certain: bool


def row_of(change: MeasureChange) -> ChangeRow:
    """A change's line, with '-' for unknown figures."""
    return ChangeRow(
        name=_NAMES[change.measure],
        now=_value(change.measure, change.now),
        then=_value(change.measure, change.then),
        change=_interval(change),
        verdict=_VERDICTS[change.direction],
        certain=change.direction in {Direction.LESS, Direction.MORE},
    )


def _value(measure: Measure, value: float | None) -> str:
    if value is None:
        return _UNKNOWN
    if measure is Measure.OUTLIERS:
        return words_for_chance(value)
    return f"{value:.2f}" if measure is Measure.SPREAD else words_for_duration(value)


def _interval(change: MeasureChange) -> str:
    if change.change is None or change.low is None or change.high is None:
        return _UNKNOWN
    middle, low, high = map(_percent, (change.change, change.low, change.high))
    unit = " points" if change.measure is Measure.OUTLIERS else ""
    return f"{middle}{unit} [{low}, {high}]"


def _percent(share: float) -> str:
    percent = 100 * share
    if percent >= _MOST_PERCENT:
        return f"×{1 + share:,.0f}"
    # Adding zero turns -0 into 0.
    return f"{round(percent) + 0:+d}%"
