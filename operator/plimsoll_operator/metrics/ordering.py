"""Metrics of the order in which pods start."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from plimsoll_operator.ordering.why import Why

_SECONDS = (1.0, 15.0, 60.0, 300.0, 600.0)


class OrderingMetrics:
    """Counters since the controller's start, and gauges of now."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._released = Counter(
            "plimsoll_order_released",
            "Pods that waited for their turn and were let go, by why.",
            ["reason"],
            registry=registry,
        )
        for why in Why:
            self._released.labels(why.value)
        self.failed = Counter(
            "plimsoll_order_failed",
            "Releases that the API server refused, or that somebody else came before.",
            registry=registry,
        )
        self.waited_s = Histogram(
            "plimsoll_order_waited_seconds",
            "How long pods waited for their turn.",
            buckets=_SECONDS,
            registry=registry,
        )
        self._held = Gauge(
            "plimsoll_order_held", "Pods that wait for their turn.", registry=registry
        )
        self._tasks = Gauge(
            "plimsoll_order_tasks", "Tasks whose new pods wait for their turn.", registry=registry
        )

    def released(self, why: Why, waited_s: float) -> None:
        """Count a pod that was released."""
        self._released.labels(why.value).inc()
        self.waited_s.observe(max(0.0, waited_s))

    def watch(self, held: Callable[[], int], tasks: Callable[[], int]) -> None:
        """Show, from now on, the figures at the moment of a scrape."""
        self._held.set_function(held)
        self._tasks.set_function(tasks)
