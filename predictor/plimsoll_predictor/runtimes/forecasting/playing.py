"""Plays past runs again in order of time, to learn from them all at once."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Final

from plimsoll_predictor.runtimes.forecasting.forecaster import Forecaster
from plimsoll_predictor.runtimes.runs.log_run import LogRun

_START: Final = 0
_FINISH: Final = 1


def finish_or_learn(forecaster: Forecaster, name: str, run: LogRun) -> None:
    """Learn a run that ends as the controller does: also one that was taken for endless."""
    if forecaster.finish(name, run.runtime_s, run.finished_s) is None:
        forecaster.learn(run.task, run.owner, run.runtime_s, run.finished_s, run.asked)


def play(runs: Sequence[LogRun], forecaster: Forecaster) -> None:
    """Submit, start and finish runs, which are in the order of their submission.

    A run is known if it has finished by the time another is submitted; at the end all are known.
    """
    events: list[tuple[float, int, int]] = []

    def until(now_s: float) -> None:
        while events and events[0][0] <= now_s:
            at_s, kind, number = heappop(events)
            run = runs[number]
            if kind == _START:
                forecaster.start(str(number), at_s)
                heappush(events, (run.finished_s, _FINISH, number))
            else:
                finish_or_learn(forecaster, str(number), run)

    for number, run in enumerate(runs):
        until(run.submitted_s)
        forecaster.submit(str(number), run.task, run.owner, run.submitted_s, run.asked)
        heappush(events, (run.started_s, _START, number))
    until(float("inf"))
