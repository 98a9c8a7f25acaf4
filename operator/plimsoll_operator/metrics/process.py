"""What a process shows about itself at /metrics, and what each controller shows, leading or not."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from importlib.metadata import version

from prometheus_client import CollectorRegistry, Gauge, PlatformCollector, ProcessCollector


def process_registry(component: str) -> CollectorRegistry:
    """Make a registry of the process's memory and CPU, and of the Plimsoll that it runs.

    component: admission, controller, extender or agent.
    """
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    info = Gauge(
        "plimsoll_build_info",
        "Always 1; the labels say which Plimsoll runs, and on which Python.",
        ["component", "version", "python_version"],
        registry=registry,
    )
    info.labels(component, version("plimsoll"), platform.python_version()).set(1)
    return registry


class ProcessMetrics:
    """Gauges of a controller's process; a leader also shows its own figures."""

    def __init__(self) -> None:
        self.registry = process_registry("controller")
        PlatformCollector(registry=self.registry)
        self.leader = Gauge(
            "plimsoll_leader",
            "1 in the controller that leads, 0 in others.",
            registry=self.registry,
        )
        self._right = Gauge(
            "plimsoll_kept",
            "1 while the leader can keep a thing right (certificate, token, label, opted-in"
            " namespaces); 0 if not.",
            ["what"],
            registry=self.registry,
        )
        self.certificate_expires = Gauge(
            "plimsoll_certificate_expires_timestamp_seconds",
            "When the certificate of admission that the leader keeps ends; 0 if it keeps none.",
            registry=self.registry,
        )

    def keeps(self, things: Iterable[str], troubled: Iterable[str]) -> None:
        """Show which things the leader keeps right, and which of them it cannot keep right."""
        for name in things:
            self._right.labels(name).set(float(name not in troubled))
