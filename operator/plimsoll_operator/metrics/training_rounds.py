"""Metrics of rounds of trainings."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge


class RoundMetrics:
    """Rounds that ended, and how long the newest took."""

    RESULTS = ("done", "failed", "gone", "unstarted", "stalled", "refused")

    def __init__(self, registry: CollectorRegistry) -> None:
        self._rounds = Counter(
            "plimsoll_training_rounds",
            "Rounds of trainings, by how their Job ended; refused: it could not be made.",
            ["result"],
            registry=registry,
        )
        self._last_seconds = Gauge(
            "plimsoll_training_last_round_seconds",
            "How long the newest round of trainings took; 0 before the first.",
            registry=registry,
        )
        for result in self.RESULTS:
            self._rounds.labels(result)

    def ended(self, result: str, seconds: float) -> None:
        """Count a round that had a Job."""
        self._rounds.labels(result).inc()
        self._last_seconds.set(seconds)

    def refused(self) -> None:
        """Count a round that could not be had, so that the controller trains by itself."""
        self._rounds.labels("refused").inc()
