"""What every controller shows at /metrics, whether it leads or stands by."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Gauge, PlatformCollector, ProcessCollector

from plimsoll_operator.metrics.build_info import register_build_info


class ProcessMetrics:
    """Gauges of the process; a leader's own figures stand beside them."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        register_build_info(self.registry, "controller")
        self.leader = Gauge(
            "plimsoll_leader",
            "1 in the controller that leads, 0 in others.",
            registry=self.registry,
        )
        self.kept = Gauge(
            "plimsoll_kept",
            "1 while the leader can keep a thing right (certificate, token, label); 0 if not.",
            ["what"],
            registry=self.registry,
        )
        self.certificate_expires = Gauge(
            "plimsoll_certificate_expires_timestamp_seconds",
            "When the certificate of admission that the leader keeps ends; 0 if it keeps none.",
            registry=self.registry,
        )

    def keeps(self, things: Iterable[str], troubled: Iterable[str]) -> None:
        """Show what is kept, and what of it cannot be."""
        for name in things:
            self.kept.labels(name).set(float(name not in troubled))
