"""Which Plimsoll a process runs, as a metric."""

from __future__ import annotations

import platform
from importlib.metadata import version

from prometheus_client import CollectorRegistry, Gauge, disable_created_metrics

# A second series beside every counter, for a date that nothing here reads.
disable_created_metrics()  # type: ignore[no-untyped-call]


def register_build_info(registry: CollectorRegistry, component: str) -> None:
    """Add ``plimsoll_build_info``. component: admission, controller or agent."""
    info = Gauge(
        "plimsoll_build_info",
        "Always 1; the labels say which Plimsoll runs, and on which Python.",
        ["component", "version", "python_version"],
        registry=registry,
    )
    info.labels(component, version("plimsoll"), platform.python_version()).set(1)
