"""The leading controller's Prometheus metrics, and the route that shows them."""

from __future__ import annotations

from typing import Final

from aiohttp import web
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from plimsoll_operator.metrics.attempts import AttemptMetrics
from plimsoll_operator.metrics.live import Live, LiveMetrics
from plimsoll_operator.metrics.runs import RunMetrics
from plimsoll_operator.metrics.tasks import TaskMetrics

_TRAINING_SECONDS: Final = (1, 2, 5, 10, 20, 30, 60, 120, 240, 480)


class ControllerMetrics:
    """Counters that the controller's parts raise.

    tasks_shown: how many tasks have series of their own.
    """

    def __init__(self, tasks_shown: int = 0) -> None:
        self.registry = CollectorRegistry()
        by_task = TaskMetrics(tasks_shown)
        self.registry.register(by_task)
        self.attempts = AttemptMetrics(self.registry, by_task)
        self.lifts = Counter(
            "plimsoll_lifts", "Allocations raised after an OOM kill.", registry=self.registry
        )
        self.trainings = Counter(
            "plimsoll_trainings", "Trainings ended, by result.", ["result"], registry=self.registry
        )
        self.training_seconds = Histogram(
            "plimsoll_training_seconds",
            "How long trainings took, start of the process to its end.",
            buckets=_TRAINING_SECONDS,
            registry=self.registry,
        )
        self.late_binding = LateBindingMetrics(self.registry)
        self.runs = RunMetrics(self.registry, by_task)
        self.tracked_trainings = Counter(
            "plimsoll_tracked_trainings",
            "Tries to log a training to the tracking server, by result.",
            ["result"],
            registry=self.registry,
        )
        for result in ("succeeded", "failed"):
            self.trainings.labels(result)
        for result in ("logged", "refused", "failed"):
            self.tracked_trainings.labels(result)

    def watch(self, live: Live) -> None:
        """Show, from now on, what the controller's parts hold at the moment of a scrape."""
        self.registry.register(LiveMetrics(live))


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


def metrics_route(metrics: ControllerMetrics) -> web.RouteDef:
    """``/metrics`` of the controller that leads."""

    async def scrape(_: web.Request) -> web.Response:
        body = generate_latest(metrics.registry)
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE_LATEST})

    return web.get("/metrics", scrape)
