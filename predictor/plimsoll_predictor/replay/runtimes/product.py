"""The product's own forecaster, replayed like any method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from plimsoll_predictor.replay.runtimes.method import SHARES, FloatArray
from plimsoll_predictor.runtimes.features.fitting import FIT_SETTINGS, FitSettings, fit, is_due
from plimsoll_predictor.runtimes.forecasting.examples import FinishedRows
from plimsoll_predictor.runtimes.forecasting.forecast import Forecast
from plimsoll_predictor.runtimes.forecasting.forecaster import Forecaster
from plimsoll_predictor.runtimes.forecasting.playing import finish_or_learn
from plimsoll_predictor.runtimes.runs.log_run import LogRun

SEED: Final = 23


@dataclass(frozen=True, slots=True)
class ProductForecast:
    """The forecaster's forecast of a run."""

    forecast: Forecast

    def quantiles_ln(self) -> FloatArray:
        """The forecast's quantiles."""
        quantiles_ln: FloatArray = np.log(self.forecast.quantiles_s(SHARES))
        return quantiles_ln

    def longer_than(self, seconds: float) -> float:
        """The forecast's probability."""
        return self.forecast.longer_than(seconds)


class Product:
    """One forecaster with the settings that everyone gets, and its trainer.

    The feature expert is fitted to finished runs, as often as the trainer does it. fit_settings:
    None for the past alone, as before any fit.
    """

    def __init__(self, fit_settings: FitSettings | None = FIT_SETTINGS) -> None:
        self._fit_settings = fit_settings
        self._finished = None if fit_settings is None else FinishedRows(fit_settings.newest_runs)
        self._forecaster = Forecaster(finished=self._finished)
        self._fitted_at = 0
        self._tasks: set[str] = set()

    def submit(self, number: int, run: LogRun) -> ProductForecast:
        """Do what admission does with a pod."""
        self._tasks.add(run.task)
        return ProductForecast(
            self._forecaster.submit(str(number), run.task, run.owner, run.submitted_s, run.asked)
        )

    def start(self, number: int, run: LogRun) -> None:
        """Do what the controller does when a pod starts."""
        self._forecaster.start(str(number), run.started_s)

    def finish(self, number: int, run: LogRun) -> None:
        """Do what the controller does when a pod ends."""
        finish_or_learn(self._forecaster, str(number), run)
        self._fit(run.finished_s)

    def bytes_per_task(self) -> float | None:
        """The mean over tasks of the bytes saved for each."""
        states = [self._forecaster.state.task(task) for task in sorted(self._tasks)]
        sizes = [len(state) for state in states if state is not None]
        return float(np.mean(sizes)) if sizes else None

    def _fit(self, now_s: float) -> None:
        finished, settings = self._finished, self._fit_settings
        if finished is None or settings is None or not is_due(finished.known, self._fitted_at):
            return
        self._fitted_at = finished.known
        self._forecaster.expert = fit(finished.examples(), now_s, seed=SEED, settings=settings)
