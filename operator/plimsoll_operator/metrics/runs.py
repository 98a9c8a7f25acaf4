"""Metrics of runs' times: forecasts served, how well they were met, and which runs run long."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge

from plimsoll_operator.metrics.tasks import TaskMetrics
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.runtimes.forecasting.forecast import Forecast

P95: Final = 0.95
QUANTILES: Final = (0.5, 0.95, 0.99)


class RunMetrics:
    """Counters since the controller's start, and gauges of now."""

    def __init__(self, registry: CollectorRegistry, tasks: TaskMetrics) -> None:
        self._tasks = tasks
        self.served = Counter(
            "plimsoll_run_forecasts",
            "Runs whose runtime was forecast when they were submitted.",
            registry=registry,
        )
        self._scored = Counter(
            "plimsoll_run_forecasts_scored",
            "Forecast runs that succeeded and whose forecast knew five runs of their task.",
            registry=registry,
        )
        self._beyond = Counter(
            "plimsoll_run_beyond_p95",
            "Of those, the ones longer than their forecast's P95: 1 in 20 if it is right.",
            registry=registry,
        )
        self._running = Gauge(
            "plimsoll_run_running",
            "Runs under way that are held against a forecast.",
            registry=registry,
        )
        self._running_long = Gauge(
            "plimsoll_run_running_long",
            "Of those, the ones that have run longer than their forecast's P99.",
            registry=registry,
        )

    def scored(self, share: float) -> None:
        """Count a run that succeeded. share: the part of its forecast below its runtime."""
        self._scored.inc()
        if share > P95:
            self._beyond.inc()

    def forecast(self, task: TaskId, forecast: Forecast) -> None:
        """Show what a run that is submitted now would take, if the task is shown."""
        quantiles_s = forecast.quantiles_s(QUANTILES).tolist()
        self._tasks.forecast(task, dict(zip(map(str, QUANTILES), quantiles_s, strict=True)))

    def watch(self, running: Callable[[], int], long: Callable[[], int]) -> None:
        """Show, from now on, how many runs are under way and how many of them run long."""
        self._running.set_function(running)
        self._running_long.set_function(long)
