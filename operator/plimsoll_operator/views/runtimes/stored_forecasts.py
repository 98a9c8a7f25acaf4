"""Forecasts of tasks' runs, read from the store by processes that change nothing.

The controller stores the forecaster's state. A task whose state it has not stored yet is learned
from its newest runs as they are read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from plimsoll_operator.attempts.running_long import LEAST_RUNS_TO_WARN
from plimsoll_predictor.core.record import Outcome
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.runtimes.forecasting.forecast import Forecast
from plimsoll_predictor.runtimes.forecasting.forecaster import Forecaster
from plimsoll_predictor.store import Store
from plimsoll_predictor.store.learned.past_runtimes import PastRuntime

READ_RUNS: Final = 250
"""Newest attempts that are read; an unknown task is learned from them."""


@dataclass(frozen=True, slots=True, eq=False)
class StoredForecast:
    """The forecast of a task's next run, and where its past runs fell in their own forecasts.

    shares: attempt uid -> share of the forecast below the runtime: as stored when the run was
        submitted or, for a run without a forecast, by the runs before it.
    feature_weight: how much features count in it, 0 to 1; None if no expert knows them.
    alone: whether it was learned here, from the task's newest runs, as no controller has.
    """

    forecast: Forecast
    shares: Mapping[str, float]
    feature_weight: float | None
    alone: bool = False


def stored_forecast(
    store: Store, task: TaskId, at_s: float, past: Sequence[PastRuntime]
) -> StoredForecast:
    """Forecast the runtime of a run that is submitted at ``at_s``, Unix seconds.

    past: its newest attempts, oldest first. If no run of the task is known, the forecast is that of
    its owner or of all tasks, and its ``known_runs`` are 0.

    Raises:
        StoreError: if the store cannot be read now.
    """
    runs = succeeded(past)
    stored = {
        each.attempt_uid: each.forecast_share for each in runs if each.forecast_share is not None
    }
    forecaster = store.runtimes.forecaster_for(task)
    forecast = forecaster.forecast(str(task), task.namespace, at_s)
    alone = not forecast.known_runs
    if alone:
        learned = _learned(forecaster, task, runs)
        forecast = forecaster.forecast(str(task), task.namespace, at_s)
    else:
        learned = _learned(Forecaster(), task, runs) if len(stored) < len(runs) else {}
    weight = forecaster.feature_weight(str(task), task.namespace, at_s)
    return StoredForecast(forecast, {**learned, **stored}, weight, alone)


def stored_forecasts(
    store: Store, tasks: Sequence[TaskId], at_s: float
) -> Mapping[TaskId, Forecast]:
    """Forecasts of several tasks, without those that have no known run."""
    forecaster, forecasts = store.runtimes.forecaster_for(*tasks), {}
    for task in dict.fromkeys(tasks):
        forecast = forecaster.forecast(str(task), task.namespace, at_s)
        if not forecast.known_runs:
            forecast = _read_now(store, task, at_s) or forecast
        forecasts[task] = forecast
    return {task: forecast for task, forecast in forecasts.items() if forecast.known_runs}


def succeeded(past: Sequence[PastRuntime]) -> list[PastRuntime]:
    """The attempts that succeeded: a killed attempt's time is no runtime."""
    return [each for each in past if each.outcome is Outcome.SUCCEEDED]


def _read_now(store: Store, task: TaskId, at_s: float) -> Forecast | None:
    """By the newest runs of a task whose state is not stored yet; None if it has none."""
    runs = succeeded(store.runtimes.history(task, limit=READ_RUNS))
    if not runs:
        return None
    # Another forecaster: what this task teaches changes no other task's forecast.
    forecaster = store.runtimes.forecaster_for(task)
    for each in runs:
        forecaster.learn(str(task), task.namespace, each.ran_s, each.finished_s)
    return forecaster.forecast(str(task), task.namespace, at_s)


def _learned(forecaster: Forecaster, task: TaskId, runs: Sequence[PastRuntime]) -> dict[str, float]:
    """Forecast each run, then learn it. Return the shares of those forecast by enough runs."""
    name, shares = str(task), {}
    for each in runs:
        forecast = forecaster.forecast(name, task.namespace, each.started_s)
        if forecast.known_runs >= LEAST_RUNS_TO_WARN:
            shares[each.attempt_uid] = forecast.share_below(each.ran_s)
        forecaster.learn(name, task.namespace, each.ran_s, each.finished_s)
    return shares
