"""What a forecast must beat: what anybody would do with the runs that are known.

Own history: the task's newest 2,000 known runs, each as likely. Last 20: its newest 20. Requested
time: what was asked for, times how much of it all runs took so far. A task without a known run gets
those of all tasks; a run that asked for nothing, those of all runs that asked for nothing.
"""

from __future__ import annotations

from math import log
from typing import Final

from plimsoll_predictor.replay.runtimes.past_runs import Drawn, PastRuns
from plimsoll_predictor.runtimes.runs.log_run import SHORTEST_S, LogRun

NEWEST: Final = 20
HISTORY: Final = 2000
"""Runs that anybody would keep of a task. It matters where one has a hundred thousand: on RICC the
newest 2,000 forecast a fifth better than all, and the better rival is the one to beat."""
NOTHING_KNOWN: Final = tuple(log(SHORTEST_S * 10**power) for power in range(6))
"""Before any run is known: from a second to a day, each power of ten as likely."""


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
        """Its task's runs, or everybody's."""
        known = self._tasks.get(run.task, self._all)
        return Drawn(known.sorted_ln or NOTHING_KNOWN)

    def start(self, _number: int, _run: LogRun) -> None:
        """Nothing is learned from it."""

    def finish(self, _number: int, run: LogRun) -> None:
        """One more run is known."""
        at_ln = runtime_ln(run)
        self._all.add(at_ln)
        self._tasks.setdefault(run.task, PastRuns(self._newest)).add(at_ln)

    def bytes_per_task(self) -> float | None:
        """As many as it keeps runs: not told."""
        return None


class RequestedTime:
    """The requested time, times how much of theirs all runs took."""

    def __init__(self) -> None:
        self._ratios = PastRuns()
        self._unasked = PastRuns()

    def submit(self, _number: int, run: LogRun) -> Drawn:
        """What it asked for, as requests were used so far; else all runs that asked for nothing."""
        asked_ln = _asked_ln(run)
        if asked_ln is None:
            return Drawn(self._unasked.sorted_ln or NOTHING_KNOWN)
        if not self._ratios.sorted_ln:
            return Drawn(NOTHING_KNOWN)
        return Drawn(self._ratios.sorted_ln, asked_ln)

    def start(self, _number: int, _run: LogRun) -> None:
        """Nothing is learned from it."""

    def finish(self, _number: int, run: LogRun) -> None:
        """How much of its request it took is known."""
        asked_ln = _asked_ln(run)
        if asked_ln is None:
            self._unasked.add(runtime_ln(run))
        else:
            self._ratios.add(runtime_ln(run) - asked_ln)

    def bytes_per_task(self) -> float | None:
        """It keeps nothing of a task."""
        return None


def _asked_ln(run: LogRun) -> float | None:
    return log(max(run.requested_s, SHORTEST_S)) if run.requested_s else None
