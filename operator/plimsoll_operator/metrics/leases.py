"""Metrics of Jobs whose pods lease their items."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge


class LeaseMetrics:
    """Counters since the controller's start, and gauges of now."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._leases = Counter(
            "plimsoll_leases",
            "Leases of items by what became of them: given, done, taken back, refused.",
            ["result"],
            registry=registry,
        )
        self._jobs = Gauge(
            "plimsoll_leased_jobs", "Jobs whose items are leased now.", registry=registry
        )
        self.show(("given", "done", "taken-back", "refused"))

    def show(self, results: Iterable[str]) -> None:
        """Show results from the beginning, although none has been counted."""
        for result in results:
            self._leases.labels(result)

    def count(self, result: str) -> None:
        """Count what became of a lease."""
        self._leases.labels(result).inc()

    def watch(self, jobs: Callable[[], int]) -> None:
        """Show, from now on, how many Jobs lease at the moment of a scrape."""
        self._jobs.set_function(jobs)
