"""Metrics of rescues: alarms, what came of them, and how long raises take."""

from __future__ import annotations

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from plimsoll_predictor.rescue.deciding import Why

_SECONDS: Final = (0.01, 0.025, 0.05, 0.1, 0.2, 0.4, 0.8, 1.5, 3.0, 6.0)


class RescueMetrics:
    """Running pods that near their limit, whether they are given more or not."""

    ANSWERS = (
        "raised",
        "raised_by_agent",
        "given_up",
        "node_full",
        "not_allowed",
        "other_container",
        "unknown",
        *(why.value for why in Why),
    )
    RESULTS = (
        "asked",
        "granted",
        "refused",
        "failed",
        "deferred",
        "infeasible",
        "error",
        "unanswered",
        "given_back",
    )

    def __init__(self, registry: CollectorRegistry) -> None:
        self.on = Gauge(
            "plimsoll_rescue_on",
            "1 while running pods may be rescued; 0 if the API server cannot resize them.",
            registry=registry,
        )
        self.pods = Gauge(
            "plimsoll_rescue_pods", "Running pods that may be rescued.", registry=registry
        )
        self.added = Gauge(
            "plimsoll_rescue_added_bytes",
            "Memory that rescues have added to running pods.",
            registry=registry,
        )
        self.alarms = Counter(
            "plimsoll_rescue_alarms",
            "Alarms of agents, by what was decided.",
            ["answer"],
            registry=registry,
        )
        self.raises = Counter(
            "plimsoll_rescue_raises",
            "Raises, by what became of them.",
            ["result"],
            registry=registry,
        )
        self.patch_seconds = Histogram(
            "plimsoll_rescue_patch_seconds",
            "How long the API server took to take a raise.",
            buckets=_SECONDS,
            registry=registry,
        )
        self.granted_seconds = Histogram(
            "plimsoll_rescue_granted_seconds",
            "From the decision until the pod's status shows the new limit.",
            buckets=_SECONDS,
            registry=registry,
        )
        for answer in self.ANSWERS:
            self.alarms.labels(answer)
        for result in self.RESULTS:
            self.raises.labels(result)
