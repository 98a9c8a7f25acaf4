"""The leading controller's Prometheus metrics, and the route that shows them."""

from __future__ import annotations

from typing import Final

from aiohttp import web
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from plimsoll_operator.metrics.attempts import AttemptMetrics
from plimsoll_operator.metrics.leases import LeaseMetrics
from plimsoll_operator.metrics.live import Live, LiveMetrics
from plimsoll_operator.metrics.ordering import OrderingMetrics
from plimsoll_operator.metrics.placing import PlacingMetrics
from plimsoll_operator.metrics.rescues import RescueMetrics
from plimsoll_operator.metrics.runs import RunMetrics
from plimsoll_operator.metrics.tasks import TaskMetrics
from plimsoll_operator.metrics.training_rounds import RoundMetrics
from plimsoll_predictor.lending.node_steps import Why

_RESTART_SECONDS: Final = (1, 2, 5, 10, 20, 30, 60, 120, 300, 600)
_TRAINING_SECONDS: Final = (1, 2, 5, 10, 20, 30, 60, 120, 240, 480)


class ControllerMetrics:
    """Counters that the controller's parts raise.

    tasks_shown: how many tasks have series of their own.
    """

    def __init__(self, tasks_shown: int = 0) -> None:
        self.registry = CollectorRegistry()
        by_task = self.by_task = TaskMetrics(tasks_shown)
        self.registry.register(by_task)
        self.attempts = AttemptMetrics(self.registry, by_task)
        self.lifts = Counter(
            "plimsoll_lifts", "Allocations raised after an OOM kill.", registry=self.registry
        )
        self.restart_seconds = Histogram(
            "plimsoll_restart_seconds",
            "From an OOM kill to the start of its run's next attempt; counted when that ended.",
            buckets=_RESTART_SECONDS,
            registry=self.registry,
        )
        self.live_bounds_raised = Counter(
            "plimsoll_live_bounds_raised",
            "Times that a running attempt went beyond all that its task was known to need.",
            registry=self.registry,
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
        self.training_rounds = RoundMetrics(self.registry)
        self.late_binding = LateBindingMetrics(self.registry)
        self.lending = LendingMetrics(self.registry)
        self.rescue = RescueMetrics(self.registry)
        self.runs = RunMetrics(self.registry, by_task)
        self.placing = PlacingMetrics(self.registry)
        self.ordering = OrderingMetrics(self.registry)
        self.leases = LeaseMetrics(self.registry)
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


class LendingMetrics:
    """Running pods that lend memory they ask for and do not use."""

    RESULTS = ("lent", "refused", "failed", "returned", "return_refused")

    def __init__(self, registry: CollectorRegistry) -> None:
        self.on = Gauge(
            "plimsoll_lending_on",
            "1 while running pods may lend; 0 if the API server cannot resize them.",
            registry=registry,
        )
        self.lent = Gauge(
            "plimsoll_lending_lent_bytes",
            "Memory that running pods lend now.",
            registry=registry,
        )
        self.lenders = Gauge(
            "plimsoll_lending_pods", "Running pods that lend now.", registry=registry
        )
        self.nodes = Gauge(
            "plimsoll_lending_nodes", "Nodes whose running pods lend now.", registry=registry
        )
        self.waiting = Gauge(
            "plimsoll_lending_waiting_pods",
            "Pods that wait until their node has room for what they have taken back.",
            registry=registry,
        )
        self.resizes = Counter(
            "plimsoll_lending_resizes",
            "Requests lowered to lend and raised to take back, by result.",
            ["result"],
            registry=registry,
        )
        self.taken_back = Counter(
            "plimsoll_lending_take_backs",
            "Pods that began to take back what they lent, by reason.",
            ["reason"],
            registry=registry,
        )
        for result in self.RESULTS:
            self.resizes.labels(result)
        for why in Why:
            self.taken_back.labels(why.value)


def metrics_route(metrics: ControllerMetrics) -> web.RouteDef:
    """``/metrics`` of the controller that leads."""

    async def scrape(_: web.Request) -> web.Response:
        body = generate_latest(metrics.registry)
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE_LATEST})

    return web.get("/metrics", scrape)
