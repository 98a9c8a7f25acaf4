"""The change of one measure, in numbers and in a sentence that claims no more than they do."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from plimsoll_predictor.core.durations import words_for_duration
from plimsoll_predictor.runtimes.what_if.contrast import Effect
from plimsoll_predictor.runtimes.what_if.measures import OUTLIER_TIMES, Measure

_NAMES: Final = {
    Measure.P50: "the median runtime",
    Measure.P95: "the runtime that 95 of 100 runs stay within",
    Measure.SPREAD: "the spread (75% over 25% quantile)",
    Measure.OUTLIERS: f"runs longer than {OUTLIER_TIMES:g}× the usual",
}


class Evidence(StrEnum):
    """Whose runs an interval is made of: the task's own, or those of other tasks."""

    OWN = "own"
    BOTH = "own-and-others"
    OTHERS = "others"
    """Each other task is compared with itself."""
    NONE = "none"


_WHOSE: Final = {
    Evidence.BOTH: "with {} other tasks",
    Evidence.OTHERS: "by {} other tasks alone",
}


class Direction(StrEnum):
    """Which way a measure would go, as far as the data shows."""

    LESS = "less"
    MORE = "more"
    CANNOT_TELL = "cannot-tell"
    """The interval holds no change."""
    TOO_FEW = "too-few"
    """There is no interval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureChange:
    """One measure under other conditions. The figures are None if there are too few runs.

    now: its level otherwise: seconds (p50, p95), a ratio (spread), a share (outliers). Also None if
        only other tasks have enough runs.
    change, low, high: the change and its 95% interval, as shares of ``now``; for outliers, as a
        difference of shares.
    tasks: how many other tasks are behind it.
    """

    measure: Measure
    evidence: Evidence
    now: float | None = None
    change: float | None = None
    low: float | None = None
    high: float | None = None
    tasks: int = 0

    @property
    def direction(self) -> Direction:
        """The direction that the interval shows."""
        if self.low is None or self.high is None:
            return Direction.TOO_FEW
        if self.low <= 0 <= self.high:
            return Direction.CANNOT_TELL
        return Direction.LESS if self.high < 0 else Direction.MORE

    @property
    def then(self) -> float | None:
        """The measure under the other conditions, in the unit of ``now``."""
        if self.now is None or self.change is None:
            return None
        if self.measure is Measure.OUTLIERS:
            return min(1.0, max(0.0, self.now + self.change))
        return self.now * (1 + self.change)

    @property
    def words(self) -> str:
        """One sentence."""
        name = _NAMES[self.measure]
        if self.low is None or self.high is None or self.change is None:
            return f"{name}: too few runs to tell"
        interval = f"[{self._signed(self.low)}, {self._signed(self.high)}]"
        unit = " of 100 runs" if self.measure is Measure.OUTLIERS else ""
        whose = f" ({_WHOSE[self.evidence].format(self.tasks)})" if self.tasks else ""
        if self.direction is Direction.CANNOT_TELL:
            return (
                f"{name}: the data cannot tell: the interval {interval}{unit} includes no "
                f"change{whose}"
            )
        sentence = f"{name}: {self._signed(self.change)}{unit} {interval}"
        if self.now is not None and self.then is not None:
            sentence += f", {self._in_words(self.then)} instead of {self._in_words(self.now)}"
        return sentence + whose

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "measure": str(self.measure),
            "evidence": str(self.evidence),
            "verdict": str(self.direction),
            "now": self.now,
            "then": self.then,
            "change": self.change,
            "low": self.low,
            "high": self.high,
            "other_tasks": self.tasks,
            "words": self.words,
        }

    def _signed(self, change: float) -> str:
        if self.measure is Measure.OUTLIERS:
            return f"{_nonzero(100 * change, 1):+.1f}"
        # People read a factor more easily than a thousand percent.
        if change >= _MOST_PERCENT:
            return f"×{1 + change:,.0f}"
        places = 1 if abs(change) < _FINE_PERCENT else 0
        return f"{_nonzero(100 * change, places):+.{places}f}%"

    def _in_words(self, value: float) -> str:
        if self.measure is Measure.OUTLIERS:
            return f"{100 * value:.1f}"
        return f"{value:.2f}" if self.measure is Measure.SPREAD else words_for_duration(value)


_MOST_PERCENT: Final = 9.0
_FINE_PERCENT: Final = 0.095


def change_of(effect: Effect, evidence: Evidence, tasks: int) -> MeasureChange:
    """Convert an effect for people: differences of logarithms become ratios."""
    reach = effect.half_width
    ends = [effect.difference, effect.difference - reach, effect.difference + reach]
    now = effect.otherwise
    if effect.measure is not Measure.OUTLIERS:
        now = None if now is None else math.exp(now)
        ends = [math.expm1(min(end, _LARGEST)) for end in ends]
    change, low, high = ends
    return MeasureChange(
        measure=effect.measure,
        evidence=evidence,
        now=now,
        change=change,
        low=low,
        high=high,
        tasks=tasks,
    )


_LARGEST: Final = 50.0
"""An interval ends at a factor of e^50, so that its end stays a number."""


def _nonzero(value: float, places: int) -> float:
    """Return a value that rounds to zero as zero, so that nobody reads -0."""
    return round(value, places) + 0.0
