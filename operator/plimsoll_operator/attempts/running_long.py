"""Finds attempts that have run longer than 99 of 100 like them, and says so.

A run's deadline comes from the forecast at its submission, so that neither later runs of its
siblings nor its own lateness move it.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from plimsoll_predictor.core.durations import clock_words
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.runtimes.forecasting.forecast import Forecast

LONG_SHARE: Final = 0.99
"""A run is running long once this share of the forecast runs would have ended."""
LEAST_RUNS_TO_WARN: Final = 5
"""The fewest known runs of a task before its forecast says that a run takes unusually long."""
_COMPACTED_FROM: Final = 1_000


@dataclass(frozen=True, slots=True)
class RunForecast:
    """The forecast of one unfinished run, made when it was submitted.

    started_s: Unix seconds; None while it waits.
    announced_s: when it was announced as running long; None before.
    """

    task: TaskId
    forecast: Forecast
    submitted_s: float
    started_s: float | None = None
    announced_s: float | None = None

    @property
    def long_after_s(self) -> float:
        """Return the seconds from its start after which it is running long."""
        return self.forecast.quantile_s(LONG_SHARE)

    @property
    def deadline_s(self) -> float | None:
        """Return the time from which it is running long, Unix seconds.

        None while it waits, while too few runs of its task are known, and if more than 1 in 100
        may last longer than forecasts can tell.
        """
        forecast = self.forecast
        if self.started_s is None or forecast.known_runs < LEAST_RUNS_TO_WARN:
            return None
        if forecast.known_share < LONG_SHARE:
            return None
        return self.started_s + self.long_after_s


class Deadlines:
    """Runs by their deadlines; each step costs O(log n)."""

    def __init__(self) -> None:
        self._of: dict[str, float] = {}
        self._heap: list[tuple[float, str]] = []

    def __len__(self) -> int:
        return len(self._of)

    def put(self, uid: str, deadline_s: float) -> None:
        """Set the deadline of an attempt's run, in place of the one it had."""
        self._of[uid] = deadline_s
        heapq.heappush(self._heap, (deadline_s, uid))
        if len(self._heap) > max(_COMPACTED_FROM, 2 * len(self._of)):
            self._heap = [(at_s, other) for other, at_s in self._of.items()]
            heapq.heapify(self._heap)

    def drop(self, uid: str) -> None:
        """Forget the deadline of a run that ended, if it has one."""
        self._of.pop(uid, None)

    def next_s(self) -> float | None:
        """Return the first deadline, Unix seconds; None if there is none."""
        while self._heap and self._of.get(self._heap[0][1]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def due(self, now_s: float) -> list[str]:
        """Take out the runs that have passed their deadlines, in the order of their deadlines."""
        late: list[str] = []
        while (next_s := self.next_s()) is not None and next_s <= now_s:
            late.append(heapq.heappop(self._heap)[1])
            del self._of[late[-1]]
        return late


def running_long_words(run: RunForecast, now_s: float) -> str:
    """Say how long a run that started has run, how long others run, and when it may end."""
    started_s = run.started_s if run.started_s is not None else now_s
    elapsed_s = max(0.0, now_s - started_s)
    left = run.forecast.given_elapsed(elapsed_s)
    even_s, surely_s = (started_s + float(left_s) for left_s in left.quantiles_s((0.5, 0.95)))
    return (
        f"running for {clock_words(elapsed_s)}; 99 of 100 runs of {run.task} end within"
        f" {clock_words(run.long_after_s)}; expected to end by {_moment(even_s)}, 1 in 2,"
        f" by {_moment(surely_s)}, 19 in 20"
    )


def _moment(at_s: float) -> str:
    """Word a time as a date and a time of day.

    >>> _moment(1_700_000_000.0), _moment(1e15)
    ('2023-11-14 22:13 UTC', 'an unknown time')
    """
    try:
        return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (OverflowError, ValueError):
        return "an unknown time"
