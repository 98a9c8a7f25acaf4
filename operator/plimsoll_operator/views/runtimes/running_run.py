"""When one run is expected to end, and whether it is late. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from plimsoll_operator.attempts.running_long import LEAST_RUNS_TO_WARN, LONG_SHARE
from plimsoll_operator.wording.forecast_words import quantiles_dict
from plimsoll_predictor.runtimes.forecasting.forecast import Forecast

LATE_SHARE: Final = 0.95


class Punctuality(StrEnum):
    """How long a run has taken, compared with its forecast."""

    WAITING = "waiting"
    ENDED = "ended"
    UNKNOWN = "unknown"
    """Too few runs of its task are known to call any of them late."""
    IN_TIME = "in time"
    LATE = "late"
    """Longer than 95 of 100 like it."""
    RUNNING_LONG = "running long"
    """Longer than 99 of 100 like it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RunningRun:
    """One attempt, as of ``now_s``.

    forecast: of its runtime, made when it was submitted or, if there was none, now.
    started_s: None while it waits. finished_s: None while it has not ended.
    ended_share: once it has ended, the share of its forecast below its runtime, as stored then;
        None if that is not known. Its forecast itself is kept no longer.
    """

    name: str
    forecast: Forecast
    now_s: float
    started_s: float | None
    finished_s: float | None = None
    ended_share: float | None = None

    @property
    def elapsed_s(self) -> float:
        """Seconds that it has run; 0 while it waits, or if clocks disagree."""
        until_s = self.now_s if self.finished_s is None else self.finished_s
        return 0.0 if self.started_s is None else max(0.0, until_s - self.started_s)

    @property
    def left(self) -> Forecast:
        """The forecast of its runtime, given that it has run this long."""
        return self.forecast.given_elapsed(self.elapsed_s)

    @property
    def share_below(self) -> float | None:
        """The share of its forecast below the time that it has run."""
        if self.finished_s is not None:
            return self.ended_share
        return self.forecast.share_below(self.elapsed_s)

    @property
    def punctuality(self) -> Punctuality:
        """Whether it is late."""
        if self.finished_s is not None:
            return Punctuality.ENDED
        if self.started_s is None:
            return Punctuality.WAITING
        if self.forecast.known_runs < LEAST_RUNS_TO_WARN:
            return Punctuality.UNKNOWN
        below = self.forecast.share_below(self.elapsed_s)
        if below >= LONG_SHARE:
            return Punctuality.RUNNING_LONG
        return Punctuality.LATE if below >= LATE_SHARE else Punctuality.IN_TIME

    def ends_by_s(self, share: float) -> float | None:
        """Unix seconds by which it has ended with this probability.

        None while it waits, and once it has ended.
        """
        if self.started_s is None or self.finished_s is not None:
            return None
        return self.started_s + self.left.quantile_s(share)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        ended = self.finished_s is not None
        return {
            "name": self.name,
            "started_s": self.started_s,
            "elapsed_s": round(self.elapsed_s, 3),
            "share_below_elapsed": self.share_below,
            "punctuality": self.punctuality.value,
            "known_runs": None if ended else self.forecast.known_runs,
            "runtime_given_elapsed": None if ended else quantiles_dict(self.left),
            "ends_by_p50_s": self.ends_by_s(0.5),
            "ends_by_p95_s": self.ends_by_s(0.95),
        }
