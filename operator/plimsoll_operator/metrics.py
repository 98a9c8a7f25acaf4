"""The controller's Prometheus metrics, read from what it holds at the moment of the scrape."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from aiohttp import web
from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from plimsoll_predictor.record import Outcome


class ControllerMetrics:
    """Counters that the controller's parts raise."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.attempts = Counter(
            "plimsoll_attempts",
            "Attempts seen to end, by outcome.",
            ["outcome"],
            registry=self.registry,
        )
        self.lifts = Counter(
            "plimsoll_lifts", "Allocations raised after an OOM kill.", registry=self.registry
        )
        self.trainings = Counter(
            "plimsoll_trainings", "Trainings ended, by result.", ["result"], registry=self.registry
        )
        self.late_binding = LateBindingMetrics(self.registry)
        self.tracked_trainings = Counter(
            "plimsoll_tracked_trainings",
            "Tries to log a training to the tracking server, by result.",
            ["result"],
            registry=self.registry,
        )
        self.tasks = Gauge("plimsoll_tasks", "Tasks known.", registry=self.registry)
        for outcome in Outcome:
            self.attempts.labels(outcome.value)
        for result in ("logged", "refused", "failed"):
            self.tracked_trainings.labels(result)


class LateBindingMetrics:
    """Waiting pods that were decided again."""

    RESULTS = ("resized", "bound", "refused", "gone", "failed")

    def __init__(self, registry: CollectorRegistry) -> None:
        self.on = Gauge(
            "plimsoll_late_binding_on",
            "1 while waiting pods are resized; 0 if switched off, unsupported or not allowed.",
            registry=registry,
        )
        self.waiting = Gauge(
            "plimsoll_late_binding_waiting_pods", "Pods that wait for a node.", registry=registry
        )
        self.backlog = Gauge(
            "plimsoll_late_binding_backlog_pods",
            "Waiting pods that are about to be resized.",
            registry=registry,
        )
        self.resizes = Counter(
            "plimsoll_late_binding_resizes",
            "Resizes of waiting pods tried, by result.",
            ["result"],
            registry=registry,
        )
        self.freed = Counter(
            "plimsoll_late_binding_freed_bytes",
            "Bytes that waiting pods ask less than before.",
            registry=registry,
        )
        for result in self.RESULTS:
            self.resizes.labels(result)


class Trouble(Protocol):
    """What tells whether the store can be written."""

    @property
    def trouble(self) -> str | None:
        """Why nothing can be written; None if all is well."""

    @property
    def queued(self) -> int:
        """Writes not yet committed."""


class _StoreHealth(Collector):
    def __init__(self, writer: Trouble) -> None:
        self._writer = writer

    def collect(self) -> Iterable[Metric]:
        yield from self._figures()

    def _figures(self) -> Iterator[Metric]:
        yield _gauge(
            "plimsoll_store_healthy",
            "1 while the store can be written.",
            float(self._writer.trouble is None),
        )
        yield _gauge(
            "plimsoll_store_queued_writes",
            "Writes accepted and not yet committed.",
            float(self._writer.queued),
        )


def _gauge(name: str, words: str, value: float) -> Metric:
    family = GaugeMetricFamily(name, words)
    family.add_metric([], value)
    return family


def metrics_routes(
    metrics: ControllerMetrics, writer: Trouble, tasks: Callable[[], int]
) -> list[web.RouteDef]:
    """``/metrics``, ``/healthz`` and ``/readyz``; ready while the store can be written."""
    metrics.registry.register(_StoreHealth(writer))
    metrics.tasks.set_function(lambda: float(tasks()))

    async def scrape(_: web.Request) -> web.Response:
        return web.Response(body=generate_latest(metrics.registry), content_type="text/plain")

    async def alive(_: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def ready(_: web.Request) -> web.Response:
        if writer.trouble is not None:
            return web.Response(status=503, text=f"{writer.trouble}\n")
        return web.Response(text="ok\n")

    return [web.get("/metrics", scrape), web.get("/healthz", alive), web.get("/readyz", ready)]
