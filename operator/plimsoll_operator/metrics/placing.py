"""Metrics of placing: how much is known about slowdowns between tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge


class PlacingMetrics:
    """A counter since the controller's start, and gauges of now."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.learned = Counter(
            "plimsoll_placing_runs_learned",
            "Runs that taught what their neighbours on the node do to a task's runtime.",
            registry=registry,
        )
        self._starts = Counter(
            "plimsoll_placing_starts",
            "Starts of pods whose policy places, by how their node compares with the best one.",
            ["placing", "node"],
            registry=registry,
        )
        self._lost = Counter(
            "plimsoll_placing_lost_slowdowns",
            "What their nodes cost more than the best: 1 is the time that one run takes alone.",
            ["placing"],
            registry=registry,
        )
        self._kinds = Gauge(
            "plimsoll_placing_tasks",
            "Tasks that placing tells apart; all others count as one.",
            registry=registry,
        )
        self._pairs = Gauge(
            "plimsoll_placing_known_pairs",
            "Pairs of these tasks whose slowdown is known.",
            registry=registry,
        )

    def show_starts(self, placings: Iterable[str], nodes: Iterable[str]) -> None:
        """Show zeros before the first start: else Prometheus does not see the first increase."""
        for placing in placings:
            self._lost.labels(placing)
            for node in nodes:
                self._starts.labels(placing, node)

    def started(self, placing: str, node: str, lost: float) -> None:
        """Count a pod that started. lost: its extra slowdowns, compared with the best node."""
        self._starts.labels(placing, node).inc()
        self._lost.labels(placing).inc(lost)

    def watch(self, kinds: Callable[[], int], pairs: Callable[[], int]) -> None:
        """Show, from now on, what is known at the moment of a scrape."""
        self._kinds.set_function(kinds)
        self._pairs.set_function(pairs)
