"""Replays a log in order of time: the forecast that a method would have given for each run.

A run is known if it has finished by the time another is submitted. The last half of the submissions
is the test; a method goes on learning through it.
"""

from __future__ import annotations

import time
from bisect import insort
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush
from math import log
from typing import Final

import numpy as np
import numpy.typing as npt

from plimsoll_predictor.replay.runtimes.method import SHARES, Method, RuntimeForecast
from plimsoll_predictor.replay.runtimes.scoring import TIMES, Scored
from plimsoll_predictor.runtimes.runs.log_run import SHORTEST_S, LogRun, RuntimeLog

_START, _FINISH = 0, 1
PROGRESS_EVERY: Final = 2000
TESTED: Final = 0.5
"""The share of the submissions that is the test, the last ones."""


class MethodBroken(RuntimeError):
    """A method's answer is no distribution; the message names the log and the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """The result of a log with a method.

    us_per_forecast: microseconds from a tested run's submission to its quantiles; the median, since
    other processes on the machine delay some.
    us_per_run: the same, plus the medians of the method's work when a run starts and finishes.
    """

    scored: Scored
    us_per_forecast: float
    us_per_run: float


def replay_log(
    log: RuntimeLog, method: Method, progress: Callable[[int], None] | None = None
) -> Replayed:
    """Forecast every run of a log as it is submitted.

    progress: gets the number of runs submitted so far, every so often.

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
    """The place of the first run that is tested, in a log with so many runs."""
    return min(runs - int(runs * TESTED), runs - 1)


def _median_us(took_ns: npt.NDArray[np.int64]) -> float:
    """The median of the calls that were made; 0 ns marks the others."""
    done = took_ns[took_ns > 0]
    return float(np.median(done)) / 1000 if done.size else 0.0


class _Replaying:
    def __init__(self, log: RuntimeLog, method: Method) -> None:
        self._runs, self._name, self._method = log.runs, log.name, method
        count = len(log.runs)
        self._first = first_tested(count)
        tested = count - self._first
        self._events: list[tuple[float, int, int]] = []
        self._sorted_s: defaultdict[str, list[float]] = defaultdict(list)
        self._numbers: dict[str, int] = {}
        self._scored = Scored(
            quantiles_ln=np.empty((tested, len(SHARES))),
            runtimes_ln=np.empty(tested),
            tasks=np.empty(tested, dtype=np.int64),
            known=np.empty(tested, dtype=np.int64),
            probabilities=np.full((tested, len(TIMES)), np.nan),
            happened=np.zeros((tested, len(TIMES)), dtype=np.bool_),
        )
        self._forecasts_ns = np.zeros(tested, dtype=np.int64)
        self._others_ns = np.zeros((2, count), dtype=np.int64)

    def submit(self, number: int) -> None:
        run = self._runs[number]
        self._until(run.submitted_s)
        before_ns = time.perf_counter_ns()
        forecast = self._method.submit(number, run)
        if number >= self._first:
            quantiles_ln = forecast.quantiles_ln()
            took_ns = time.perf_counter_ns() - before_ns
            self._forecasts_ns[number - self._first] = took_ns
            self._scored.quantiles_ln[number - self._first] = quantiles_ln
            self._test(number, run, forecast)
        heappush(self._events, (run.started_s, _START, number))

    def replayed(self) -> Replayed:
        self._check()
        forecast_us = float(np.median(self._forecasts_ns)) / 1000
        other_us = sum(_median_us(took_ns) for took_ns in self._others_ns)
        return Replayed(
            scored=self._scored, us_per_forecast=forecast_us, us_per_run=forecast_us + other_us
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
                insort(self._sorted_s[run.task], max(run.runtime_s, SHORTEST_S))

    def _test(self, number: int, run: LogRun, forecast: RuntimeForecast) -> None:
        scored, place = self._scored, number - self._first
        runtime_s = max(run.runtime_s, SHORTEST_S)
        known_s = self._sorted_s.get(run.task, ())
        scored.runtimes_ln[place] = log(runtime_s)
        scored.tasks[place] = self._numbers.setdefault(run.task, len(self._numbers))
        scored.known[place] = len(known_s)
        if not known_s:
            return
        usual_s = (known_s[(len(known_s) - 1) // 2] + known_s[len(known_s) // 2]) / 2
        for at, times in enumerate(TIMES):
            scored.probabilities[place, at] = forecast.longer_than(times * usual_s)
            scored.happened[place, at] = runtime_s > times * usual_s

    def _check(self) -> None:
        quantiles_ln, known = self._scored.quantiles_ln, self._scored.known > 0
        with np.errstate(invalid="ignore"):
            falls = np.diff(quantiles_ln, axis=1) < -1e-9
        chances = self._scored.probabilities[known]
        bad = np.logical_or(~np.isfinite(quantiles_ln).all(axis=1), falls.any(axis=1))
        bad[known] |= ~((chances >= 0) & (chances <= 1)).all(axis=1)
        if bad.any():
            run = self._runs[self._first + int(np.argmax(bad))]
            raise MethodBroken(
                f"{self._name}, line {run.line}: the forecast of a run of {run.task[:80]!r} is no"
                " distribution: its quantiles must be numbers that do not fall, its probabilities"
                " from 0 to 1"
            )
