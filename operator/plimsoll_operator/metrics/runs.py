"""Metrics of runs' times: forecasts served, how well they were met, who runs long."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from prometheus_client import CollectorRegistry, Counter
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from plimsoll_operator.metrics.live import gauge
from plimsoll_operator.metrics.tasks import TaskMetrics
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.runtimes.forecasting.forecast import Forecast

P95: Final = 0.95
QUANTILES: Final = (0.5, 0.95, 0.99)


class RunMetrics:
    """Counters since the controller's start, and gauges of now."""

    def __init__(self, registry: CollectorRegistry, tasks: TaskMetrics) -> None:
        self._tasks = tasks
        self._now = _Running()
        registry.register(self._now)
        self.served = Counter(
            "plimsoll_run_forecasts",
            "Runs whose runtime was forecast when they were submitted.",
            registry=registry,
        )
        self._scored = Counter(
            "plimsoll_run_forecasts_scored",
            "Forecast runs that succeeded: their runtime could be held against the forecast.",
            registry=registry,
        )
        self._beyond = Counter(
            "plimsoll_run_beyond_p95",
            "Of those, the ones longer than their forecast's P95: 1 in 20 if it is right.",
            registry=registry,
        )

    def scored(self, share: float) -> None:
        """A run succeeded. share: of its forecast that lay below its runtime."""
        self._scored.inc()
        if share > P95:
            self._beyond.inc()

    def forecast(self, task: TaskId, forecast: Forecast) -> None:
        """What a run of the task that is submitted now would take; shown if the task is."""
        quantiles_s = forecast.quantiles_s(QUANTILES)
        self._tasks.forecast(
            task, {f"{q:g}": float(each) for q, each in zip(QUANTILES, quantiles_s, strict=True)}
        )

    def watch(self, running: Callable[[], int], long: Callable[[], int]) -> None:
        """Show, from now on, how many runs are under way and how many of them run long."""
        self._now.running, self._now.long = running, long


class _Running(Collector):
    def __init__(self) -> None:
        self.running: Callable[[], int] = int
        self.long: Callable[[], int] = int

    def collect(self) -> Iterable[Metric]:
        yield gauge(
            "plimsoll_run_running",
            "Runs under way that are held against a forecast.",
            self.running(),
        )
        yield gauge(
            "plimsoll_run_running_long",
            "Of those, the ones that have run longer than their forecast's P99.",
            self.long(),
        )
