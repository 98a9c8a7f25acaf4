"""The agent's Prometheus metrics, on a port of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, start_http_server
from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from plimsoll_operator.agent.settings import AgentSettings
from plimsoll_operator.attempts.peaks import PeakReport
from plimsoll_operator.metrics.build_info import register_build_info

_TICK_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


@dataclass(frozen=True, slots=True)
class Held:
    """What an agent holds: reports that wait, reports dropped, cgroups followed."""

    waiting: Callable[[], int]
    dropped: Callable[[], int]
    followed: Callable[[], int]


class _Dropped(Collector):
    def __init__(self, held: Held) -> None:
        self._held = held

    def collect(self) -> Iterable[Metric]:
        words = "Reports dropped because too many waited, or for too long."
        family = CounterMetricFamily("plimsoll_agent_reports_dropped", words)
        family.add_metric([], float(self._held.dropped()))
        yield family


class AgentMetrics:
    """Metrics of one agent, in a registry of their own. Raised by the sampling thread only."""

    def __init__(self, held: Held) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        register_build_info(self.registry, "agent")
        self.tick_seconds = Histogram(
            "plimsoll_agent_tick_seconds",
            "Time to read every pod's cgroups once.",
            buckets=_TICK_SECONDS,
            registry=self.registry,
        )
        self.last_tick = Gauge(
            "plimsoll_agent_last_tick_timestamp_seconds",
            "When the cgroups were last read.",
            registry=self.registry,
        )
        self.reports = Counter(
            "plimsoll_agent_reports",
            "Reports made: a maximum rose, or a cgroup ended.",
            ["final"],
            registry=self.registry,
        )
        for final in ("false", "true"):
            self.reports.labels(final)
        self._gauge("cgroups", "Cgroups followed.", held.followed)
        self._gauge("reports_waiting", "Reports that the controller has not taken.", held.waiting)
        self.registry.register(_Dropped(held))

    def ticked(self, took_s: float, at_s: float) -> None:
        """All cgroups were read. at_s: Unix seconds."""
        self.tick_seconds.observe(took_s)
        self.last_tick.set(at_s)

    def reported(self, reports: Sequence[PeakReport]) -> None:
        """Reports were made."""
        for report in reports:
            self.reports.labels("true" if report.final else "false").inc()

    def _gauge(self, name: str, words: str, read: Callable[[], int]) -> None:
        gauge = Gauge(f"plimsoll_agent_{name}", words, registry=self.registry)
        gauge.set_function(lambda: float(read()))


@contextmanager
def shown(metrics: AgentMetrics, settings: AgentSettings) -> Iterator[int | None]:
    """Serve ``/metrics`` in a thread for as long as the context is open; gives the port.

    None, and nothing is served, without ``metrics_listen_port``.

    Raises:
        OSError: if the port is in use.

    """
    if settings.metrics_listen_port is None:
        yield None
        return
    server, thread = start_http_server(
        settings.metrics_listen_port, settings.metrics_listen_host, metrics.registry
    )
    try:
        yield int(server.server_port)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
