"""The forecasts to beat: simple rules over the known runs.

Own history: the task's newest 2,000 known runs, all equally likely. Last 20: its newest 20.
Requested time: the request times the share of their requests that all runs used so far. A task
without a known run gets the runs of all tasks; a run without a request gets all runs without one.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import log
from typing import Final

import numpy as np

from plimsoll_predictor.replay.runtimes.method import SHARES, FloatArray
from plimsoll_predictor.runtimes.runs.log_run import SHORTEST_S, LogRun

NEWEST: Final = 20
HISTORY: Final = 2000
"""How many runs of a task are kept. On RICC, where a task has a hundred thousand, the newest 2,000
forecast a fifth better than all, and the better rival is the one to beat."""
NOTHING_KNOWN: Final = tuple(log(SHORTEST_S * 10**power) for power in range(6))
"""Before any run is known: from a second to a day, each power of ten equally likely."""
_UNSEEN: Final = 0.5
"""Anything beyond the known runs gets this share of one run, so that nothing is impossible."""


@dataclass(slots=True)
class PastRuns:
    """Logarithms of known runtimes in s, sorted. newest: how many are kept; None for all."""

    newest: int | None = None
    sorted_ln: list[float] = field(default_factory=list)
    _order: deque[float] = field(default_factory=deque)

    def add(self, runtime_ln: float) -> None:
        """Add a known run."""
        insort(self.sorted_ln, runtime_ln)
        if self.newest is None:
            return
        self._order.append(runtime_ln)
        if len(self._order) > self.newest:
            del self.sorted_ln[bisect_left(self.sorted_ln, self._order.popleft())]


@dataclass(frozen=True, slots=True)
class Drawn:
    """A forecast: one of these runs again, all equally likely.

    sorted_ln: at least one. add_ln: added to each: the logarithm of what they are ratios to.
    """

    sorted_ln: Sequence[float]
    add_ln: float = 0.0

    def quantiles_ln(self) -> FloatArray:
        """Interpolated between two runs."""
        last = len(self.sorted_ln) - 1
        places = SHARES * last
        below = places.astype(np.intp)
        low = np.array([self.sorted_ln[place] for place in below])
        high = np.array([self.sorted_ln[min(place + 1, last)] for place in below])
        quantiles_ln: FloatArray = low + (high - low) * (places - below) + self.add_ln
        return quantiles_ln

    def longer_than(self, seconds: float) -> float:
        """The share of the runs that were longer."""
        place = bisect_right(self.sorted_ln, float(np.log(seconds)) - self.add_ln)
        longer = len(self.sorted_ln) - place
        return (longer + _UNSEEN) / (len(self.sorted_ln) + 2 * _UNSEEN)


def runtime_ln(run: LogRun) -> float:
    """The logarithm of its runtime."""
    return log(max(run.runtime_s, SHORTEST_S))


class OwnHistory:
    """The task's known runs, or the newest of them."""

    def __init__(self, newest: int = HISTORY) -> None:
        self._newest = newest
        self._tasks: dict[str, PastRuns] = {}
        self._all = PastRuns()

    def submit(self, _number: int, run: LogRun) -> Drawn:
        """Forecast by its task's runs, or by everybody's."""
        known = self._tasks.get(run.task, self._all)
        return Drawn(known.sorted_ln or NOTHING_KNOWN)

    def start(self, _number: int, _run: LogRun) -> None:
        """Learn nothing."""

    def finish(self, _number: int, run: LogRun) -> None:
        """Add a known run."""
        at_ln = runtime_ln(run)
        self._all.add(at_ln)
        self._tasks.setdefault(run.task, PastRuns(self._newest)).add(at_ln)

    def bytes_per_task(self) -> float | None:
        """None: it keeps all runs of a task."""
        return None


class RequestedTime:
    """The requested time, times the share of their requests that all runs used."""

    def __init__(self) -> None:
        self._ratios = PastRuns()
        self._unasked = PastRuns()

    def submit(self, _number: int, run: LogRun) -> Drawn:
        """Forecast by its request and past use of requests; else by all runs without a request."""
        asked_ln = _asked_ln(run)
        if asked_ln is None:
            return Drawn(self._unasked.sorted_ln or NOTHING_KNOWN)
        if not self._ratios.sorted_ln:
            return Drawn(NOTHING_KNOWN)
        return Drawn(self._ratios.sorted_ln, asked_ln)

    def start(self, _number: int, _run: LogRun) -> None:
        """Learn nothing."""

    def finish(self, _number: int, run: LogRun) -> None:
        """Learn which share of its request it used."""
        asked_ln = _asked_ln(run)
        if asked_ln is None:
            self._unasked.add(runtime_ln(run))
        else:
            self._ratios.add(runtime_ln(run) - asked_ln)

    def bytes_per_task(self) -> float | None:
        """Nothing is kept per task."""
        return None


def _asked_ln(run: LogRun) -> float | None:
    return log(max(run.requested_s, SHORTEST_S)) if run.requested_s else None
