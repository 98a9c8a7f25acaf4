"""Forecasts runs' runtimes from what ran before, and learns from each that finishes."""

from __future__ import annotations

import math
from dataclasses import replace

from plimsoll_predictor.runtimes.features.asked import NOTHING_ASKED, AskedRun
from plimsoll_predictor.runtimes.features.feature_expert import FeatureExpert
from plimsoll_predictor.runtimes.forecasting.examples import FinishedRows
from plimsoll_predictor.runtimes.forecasting.forecast import Forecast
from plimsoll_predictor.runtimes.forecasting.forecaster_state import ForecasterState, checked_name
from plimsoll_predictor.runtimes.forecasting.grid import checked_runtime
from plimsoll_predictor.runtimes.forecasting.memory import Memory
from plimsoll_predictor.runtimes.forecasting.mixture import Mixture
from plimsoll_predictor.runtimes.forecasting.settings import SETTINGS, Settings
from plimsoll_predictor.runtimes.forecasting.submitted_run import SubmittedRun


class Forecaster:
    """Forecasts from what it learned about tasks, their owners and all runs.

    It is deterministic: the same calls give the same ``state``, byte for byte, whether or not it
    was saved and restored between them. Times are Unix seconds, runtimes seconds.

    finished: keeps the examples for the feature expert; None if nobody fits one.
    """

    def __init__(self, settings: Settings = SETTINGS, finished: FinishedRows | None = None) -> None:
        self._mixture = Mixture(settings)
        self._memory = Memory(settings)
        self._finished = finished
        self.expert: FeatureExpert | None = None
        """Knows the effect of features; without it forecasts use the past alone."""
        self.state = ForecasterState(settings, self._memory, self._mixture.shared)
        """Everything learned, as bytes to save and restore, part by part."""

    def forecast(
        self, task: str, owner: str, at_s: float, asked: AskedRun | None = None
    ) -> Forecast:
        """The runtime of a run of the task submitted now. Changes nothing.

        asked: None for a run that asks for the same as the task's last one, with its features; how
            busy the cluster will be, nobody knows.
        """
        if asked is None:
            past = self._memory.tasks.get(task)
            asked = NOTHING_ASKED if past is None else past.asked
        return self._submitted(task, owner, at_s, asked).forecast()

    def submit(
        self, run: str, task: str, owner: str, at_s: float, asked: AskedRun = NOTHING_ASKED
    ) -> Forecast:
        """The same; also keeps each expert's forecast until the run ends."""
        checked_name(task), checked_name(owner), _checked_time(at_s)
        if run in self._memory.runs:
            self.drop(run)
        submitted = self._submitted(task, owner, at_s, asked)
        self._memory.open_run(run, submitted)
        self._memory.unsaved.runs.add(run)
        self._memory.end_endless_runs(at_s)
        return submitted.forecast()

    def open_runs(self) -> tuple[str, ...]:
        """The runs that were submitted and have not ended, the first submitted first."""
        return tuple(self._memory.runs)

    def start(self, run: str, at_s: float) -> None:
        """The run started; one that was never submitted is ignored."""
        submitted = self._memory.runs.get(run)
        if submitted is not None:
            submitted.started_s = _checked_time(at_s)
            self._memory.tasks[submitted.task].started(run, at_s)
            self._memory.unsaved.runs.add(run)

    def finish(self, run: str, runtime_s: float, at_s: float) -> float | None:
        """Learn from a run that succeeded, and score its forecast.

        Returns the share of its forecast below its runtime, near 0 or 1 for an anomaly; None for
        a run that was never submitted, which teaches nothing (``learn`` does). A ValueError for
        an impossible runtime ends the run too.
        """
        submitted = self._memory.end_run(run)
        if submitted is None:
            return None
        runtime_s, at_s = checked_runtime(runtime_s), _checked_time(at_s)
        share = submitted.forecast().share_below(runtime_s)
        if self._finished is not None and submitted.row is not None:
            share_before = submitted.share_below(math.log(runtime_s))
            self._finished.add(submitted.task, submitted.row, share_before)
        past = self._memory.task(submitted.task)
        owner_past = self._memory.owner_to_teach(submitted.owner)
        self._mixture.score(submitted, past, owner_past, runtime_s)
        past.asked = replace(submitted.asked, busy=None, queued=None)
        self._mixture.learn(past, owner_past, runtime_s, at_s, submitted.alone)
        past.lines.learn(submitted.asked.features, math.log(runtime_s), past.runs)
        self._memory.unsaved.tasks.add(submitted.task)
        return share

    def drop(self, run: str) -> None:
        """The run ended without a runtime: killed, failed, or forgotten."""
        self._memory.end_run(run)

    def learn(
        self, task: str, owner: str, runtime_s: float, at_s: float, asked: AskedRun = NOTHING_ASKED
    ) -> None:
        """Learn the runtime of a run that was never submitted. ValueError if it is impossible."""
        checked_name(task), checked_name(owner)
        runtime_s, at_s = checked_runtime(runtime_s), _checked_time(at_s)
        past = self._memory.task(task)
        past.asked = replace(asked, busy=None, queued=None)
        owner_past = self._memory.owner_to_teach(owner)
        self._mixture.learn(past, owner_past, runtime_s, at_s, alone=1.0)
        past.lines.learn(asked.features, math.log(runtime_s), past.runs)
        self._memory.unsaved.tasks.add(task)

    def feature_weight(self, task: str, owner: str, at_s: float) -> float | None:
        """The weight of features in the task's forecasts, 0 to 1; None without a feature expert."""
        featured = self._submitted(task, owner, at_s).featured
        return None if featured is None else featured.weight

    def forget_past(self, task: str) -> None:
        """Forget what the task's runs taught it; its open runs stay, and so do their forecasts."""
        self._memory.forget_past(task)

    def forget(self, task: str) -> None:
        """Forget the task and its open runs; what it taught others stays."""
        self._memory.forget_task(task)

    def _submitted(
        self, task: str, owner: str, at_s: float, asked: AskedRun = NOTHING_ASKED
    ) -> SubmittedRun:
        memory, mixture = self._memory, self._mixture
        pasts = memory.tasks.get(task), memory.owners.get(owner)
        submitted = mixture.submitted((task, owner), pasts, at_s)
        submitted.asked = asked
        if self.expert is None and self._finished is None:
            return submitted
        row = mixture.feature_row(submitted, pasts)
        if self._finished is not None:
            submitted.row = row
        if self.expert is not None:
            submitted.featured = mixture.featured(submitted, pasts[0], self.expert.masses(row))
        return submitted


def _checked_time(at_s: float) -> float:
    if not math.isfinite(at_s):
        raise ValueError(f"{at_s!r} is no time; give Unix seconds")
    return at_s
