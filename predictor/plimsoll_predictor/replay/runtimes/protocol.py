"""A log replayed in order of time: what a method would have said of each run.

A run is known once it has finished by the submission of another. The last half of the submissions
is the test; a method goes on learning through it.
"""

from __future__ import annotations

import time
from bisect import insort
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import log
from typing import Final

import numpy as np
import numpy.typing as npt

from plimsoll_predictor.replay.runtimes.method import SHARES, Foretold, Method
from plimsoll_predictor.replay.runtimes.scoring import TIMES, Scored
from plimsoll_predictor.runtimes.runs.log_run import SHORTEST_S, LogRun, RuntimeLog

_START, _FINISH = 0, 1
PROGRESS_EVERY: Final = 2000
TESTED: Final = 0.5
"""The share of the submissions, the last ones, that is the test."""


class MethodBroken(RuntimeError):
    """A method answered what no method may; the words name it and the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """A log through a method.

    us_per_forecast: microseconds from a tested run's submission to its quantiles; the median, as
    other processes on the machine make some wait.
    us_per_run: the same, with the median of what the method does as a run starts and finishes.
    """

    scored: Scored
    us_per_forecast: float
    us_per_run: float


def replay_log(
    log: RuntimeLog, method: Method, progress: Callable[[int], None] | None = None
) -> Replayed:
    """Forecast every run of a log as it is submitted.

    progress: told the number of runs submitted so far, every so often.

    Raises:
        MethodBroken: if a forecast is not made of numbers, or its quantiles fall.
    """
    replaying = _Replaying(log, method)
    for number in range(len(log.runs)):
        replaying.submit(number)
        if progress is not None and number % PROGRESS_EVERY == 0:
            progress(number)
    return replaying.replayed()


def first_tested(runs: int) -> int:
    """The place of the first run that is tested, of so many in a log."""
    return min(runs - int(runs * TESTED), runs - 1)


def _median_us(took_ns: npt.NDArray[np.int64]) -> float:
    """The median of what has been done; 0 stands for what has not."""
    done = took_ns[took_ns > 0]
    return float(np.median(done)) / 1000 if done.size else 0.0


@dataclass(slots=True)
class _Usual:
    """The runtimes of a task's known runs, sorted."""

    runtimes_s: list[float] = field(default_factory=list)

    def median_s(self) -> float | None:
        count = len(self.runtimes_s)
        if not count:
            return None
        middle = count // 2
        if count % 2:
            return self.runtimes_s[middle]
        return (self.runtimes_s[middle - 1] + self.runtimes_s[middle]) / 2


class _Replaying:
    def __init__(self, log: RuntimeLog, method: Method) -> None:
        self._runs, self._name, self._method = log.runs, log.name, method
        count = len(log.runs)
        self._first = first_tested(count)
        tested = count - self._first
        self._events: list[tuple[float, int, int]] = []
        self._usual: dict[str, _Usual] = {}
        self._numbers: dict[str, int] = {}
        self._quantiles_ln = np.empty((tested, len(SHARES)))
        self._runtimes_ln = np.empty(tested)
        self._tasks = np.empty(tested, dtype=np.int64)
        self._known = np.empty(tested, dtype=np.int64)
        self._probabilities = np.full((tested, len(TIMES)), np.nan)
        self._happened = np.zeros((tested, len(TIMES)), dtype=np.bool_)
        self._forecasts_ns = np.zeros(tested, dtype=np.int64)
        self._others_ns = np.zeros((2, count), dtype=np.int64)

    def submit(self, number: int) -> None:
        run = self._runs[number]
        self._until(run.submitted_s)
        before_ns = time.perf_counter_ns()
        foretold = self._method.submit(number, run)
        if number >= self._first:
            quantiles_ln = foretold.quantiles_ln()
            took_ns = time.perf_counter_ns() - before_ns
            self._forecasts_ns[number - self._first] = took_ns
            self._quantiles_ln[number - self._first] = quantiles_ln
            self._test(number, run, foretold)
        heappush(self._events, (run.started_s, _START, number))

    def replayed(self) -> Replayed:
        scored = Scored(
            quantiles_ln=self._quantiles_ln,
            runtimes_ln=self._runtimes_ln,
            tasks=self._tasks,
            known=self._known,
            probabilities=self._probabilities,
            happened=self._happened,
        )
        self._check()
        forecast_us = float(np.median(self._forecasts_ns)) / 1000
        other_us = sum(_median_us(ended) for ended in self._others_ns)
        return Replayed(
            scored=scored, us_per_forecast=forecast_us, us_per_run=forecast_us + other_us
        )

    def _until(self, now_s: float) -> None:
        events = self._events
        while events and events[0][0] <= now_s:
            _, kind, number = heappop(events)
            run = self._runs[number]
            before_ns = time.perf_counter_ns()
            if kind == _START:
                self._method.start(number, run)
                heappush(events, (run.finished_s, _FINISH, number))
            else:
                self._method.finish(number, run)
            self._others_ns[kind, number] = time.perf_counter_ns() - before_ns
            if kind == _FINISH:
                usual = self._usual.setdefault(run.task, _Usual())
                insort(usual.runtimes_s, max(run.runtime_s, SHORTEST_S))

    def _test(self, number: int, run: LogRun, foretold: Foretold) -> None:
        place = number - self._first
        runtime_s = max(run.runtime_s, SHORTEST_S)
        usual = self._usual.get(run.task)
        median_s = None if usual is None else usual.median_s()
        self._runtimes_ln[place] = log(runtime_s)
        self._tasks[place] = self._numbers.setdefault(run.task, len(self._numbers))
        self._known[place] = 0 if usual is None else len(usual.runtimes_s)
        if median_s is None:
            return
        for at, times in enumerate(TIMES):
            self._probabilities[place, at] = foretold.longer_than(times * median_s)
            self._happened[place, at] = runtime_s > times * median_s

    def _check(self) -> None:
        with np.errstate(invalid="ignore"):
            falls = np.diff(self._quantiles_ln, axis=1) < -1e-9
        said = self._probabilities[self._known > 0]
        bad = np.logical_or(~np.isfinite(self._quantiles_ln).all(axis=1), falls.any(axis=1))
        bad[self._known > 0] |= ~((said >= 0) & (said <= 1)).all(axis=1)
        if bad.any():
            run = self._runs[self._first + int(np.argmax(bad))]
            raise MethodBroken(
                f"{self._name}, line {run.line}: the forecast of a run of {run.task[:80]!r} is no"
                " distribution: its quantiles must be numbers that do not fall, its probabilities"
                " from 0 to 1"
            )
