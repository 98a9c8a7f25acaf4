"""When a running attempt has run longer than 99 of 100 like it, and how to say so.

The deadline is a run's own: what was forecast of it when it was submitted, so that neither what
its siblings did since nor its own lateness moves it.
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
"""Of the runs forecast, so many end before one is told to be running long."""
LEAST_KNOWN_RUNS: Final = 5
"""Of the task, for its forecast to be held against a run of it."""
_COMPACTED_FROM: Final = 1_000


@dataclass(frozen=True, slots=True)
class RunForecast:
    """What was forecast of one run in flight when it was submitted.

    started_s: Unix seconds; None while it waits. told_s: when it was told to be running long.
    """

    task: TaskId
    forecast: Forecast
    submitted_s: float
    started_s: float | None = None
    told_s: float | None = None

    @property
    def long_after_s(self) -> float:
        """Seconds from its start after which it is running long."""
        return self.forecast.quantile_s(LONG_SHARE)

    @property
    def deadline_s(self) -> float | None:
        """When it will be running long, Unix seconds.

        None while it waits, and of a task of which too few runs are known to say.
        """
        if self.started_s is None or self.forecast.known_runs < LEAST_KNOWN_RUNS:
            return None
        return self.started_s + self.long_after_s


class Deadlines:
    """Runs by their deadlines; each step costs the logarithm of how many there are."""

    def __init__(self) -> None:
        self._of: dict[str, float] = {}
        self._heap: list[tuple[float, str]] = []

    def __len__(self) -> int:
        return len(self._of)

    def put(self, run: str, deadline_s: float) -> None:
        """Set a run's deadline, in place of the one it had."""
        self._of[run] = deadline_s
        heapq.heappush(self._heap, (deadline_s, run))
        if len(self._heap) > max(_COMPACTED_FROM, 2 * len(self._of)):
            self._heap = [(at_s, each) for each, at_s in self._of.items()]
            heapq.heapify(self._heap)

    def drop(self, run: str) -> None:
        """The run ended; nothing if it has no deadline."""
        self._of.pop(run, None)

    def next_s(self) -> float | None:
        """The first deadline, Unix seconds; None if there is none."""
        self._skip()
        return self._heap[0][0] if self._heap else None

    def due(self, now_s: float) -> list[str]:
        """Runs that have passed theirs, the first first; they have none any more."""
        found: list[str] = []
        while (next_s := self.next_s()) is not None and next_s <= now_s:
            _, run = heapq.heappop(self._heap)
            del self._of[run]
            found.append(run)
        return found

    def _skip(self) -> None:
        while self._heap and self._of.get(self._heap[0][1]) != self._heap[0][0]:
            heapq.heappop(self._heap)


def running_long_words(run: RunForecast, now_s: float) -> str:
    """How long it runs, how long others do, and when it is expected to end.

    run: one that started.
    """
    started_s = run.started_s if run.started_s is not None else now_s
    elapsed_s = max(0.0, now_s - started_s)
    left = run.forecast.given_elapsed(elapsed_s)
    even_s, surely_s = (started_s + float(each) for each in left.quantiles_s((0.5, 0.95)))
    return (
        f"running for {clock_words(elapsed_s)}; 99 of 100 runs of {run.task} end within"
        f" {clock_words(run.long_after_s)}; expected to end by {_moment(even_s)}, 1 in 2,"
        f" by {_moment(surely_s)}, 19 in 20"
    )


def _moment(at_s: float) -> str:
    """A time of day.

    >>> _moment(1_700_000_000.0), _moment(1e15)
    ('2023-11-14 22:13 UTC', 'no time that can be told')
    """
    try:
        return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (OverflowError, ValueError):
        return "no time that can be told"
