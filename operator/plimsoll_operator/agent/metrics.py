"""The agent's Prometheus metrics, on a port of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from prometheus_client import Counter, Gauge, Histogram, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from plimsoll_operator.agent.alarm_sender import AlarmSender
from plimsoll_operator.agent.near_limit import NearLimit
from plimsoll_operator.agent.outbox import Outbox
from plimsoll_operator.agent.sampler import Sampler
from plimsoll_operator.agent.settings import AgentSettings
from plimsoll_operator.attempts.peaks import PeakReport
from plimsoll_operator.metrics.process import process_registry

_TICK_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


class AgentMetrics(Collector):
    """Metrics of one agent, in a registry of their own. Raised by the sampling thread only."""

    def __init__(
        self, outbox: Outbox, sampler: Sampler, near_limit: NearLimit, alarms: AlarmSender
    ) -> None:
        self._outbox = outbox
        self._sampler = sampler
        self._near_limit = near_limit
        self._alarms = alarms
        self.registry = process_registry("agent")
        self.registry.register(self)
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

    def collect(self) -> Iterator[Metric]:
        """Figures that outbox and sampler hold, as they are now."""
        yield GaugeMetricFamily(
            "plimsoll_agent_cgroups", "Cgroups followed.", self._sampler.followed
        )
        words = "Reports that the controller has not taken."
        yield GaugeMetricFamily("plimsoll_agent_reports_waiting", words, len(self._outbox))
        words = "Reports dropped: too many waited, or for too long, or the controller refused them."
        yield CounterMetricFamily("plimsoll_agent_reports_dropped", words, self._outbox.dropped)
        yield from self._rescues()

    def _rescues(self) -> Iterator[Metric]:
        near = self._near_limit
        words = "Containers that are followed because they may be rescued."
        yield GaugeMetricFamily("plimsoll_agent_rescuable_containers", words, near.followed)
        looks = CounterMetricFamily(
            "plimsoll_agent_looks",
            "Looks at containers near their limit; full where their memory had moved.",
            labels=["reading"],
        )
        looks.add_metric(["full"], near.readings)
        looks.add_metric(["usage"], near.looks - near.readings)
        yield looks
        alarms = CounterMetricFamily(
            "plimsoll_agent_alarms", "Alarms to the controller, by result.", labels=["result"]
        )
        alarms.add_metric(["sent"], self._alarms.sent)
        alarms.add_metric(["failed"], self._alarms.failed)
        yield alarms
        words = "Raises that the agent asked the API server for by itself, by result."
        raises = CounterMetricFamily("plimsoll_agent_raises", words, labels=["result"])
        own = self._alarms.own
        for result, count in (own.results if own else {}).items():
            raises.add_metric([result], count)
        yield raises
        words = "Raises that the controller has granted to the agent, and that it has not made."
        yield GaugeMetricFamily("plimsoll_agent_grants", words, len(own.granted) if own else 0)

    def ticked(self, took_s: float, at_s: float) -> None:
        """Note a reading of all cgroups. at_s: Unix seconds."""
        self.tick_seconds.observe(took_s)
        self.last_tick.set(at_s)

    def reported(self, reports: Sequence[PeakReport]) -> None:
        """Count reports that were made."""
        for report in reports:
            self.reports.labels("true" if report.final else "false").inc()


@contextmanager
def shown(metrics: AgentMetrics, settings: AgentSettings) -> Iterator[int | None]:
    """Serve ``/metrics`` in a thread while the context is open, and give the port.

    Without ``metrics_listen_port`` nothing is served, and the port is None.

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
