"""The extender's Prometheus metrics. One object per process, or per test."""

from __future__ import annotations

from typing import Final

from prometheus_client import Counter, Gauge, Histogram, PlatformCollector

from plimsoll_operator.metrics.process import process_registry
from plimsoll_operator.sizing.node_scores import Graded

_FEED_ERRORS: Final = ("bad-entry", "unanswered")
_SECONDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.04, 0.05, 0.1, 0.5, 2.0)


class ExtenderMetrics:
    """Metrics of one extender, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = process_registry("extender")
        PlatformCollector(registry=self.registry)
        questions = Counter(
            "plimsoll_extender_questions",
            "Questions of a scheduler, by result; scores are equal unless it is given.",
            ["result"],
            registry=self.registry,
        )
        self.seconds = Histogram(
            "plimsoll_extender_seconds",
            "Time to answer one question, from its header read to its answer.",
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.feed_age_s = Gauge(
            "plimsoll_extender_feed_age_seconds",
            "Time since the controller was last heard; NaN before the first time.",
            registry=self.registry,
        )
        self.feed_errors = Counter(
            "plimsoll_extender_feed_errors",
            "Questions to the controller that failed, and feed entries that were not understood.",
            ["reason"],
            registry=self.registry,
        )
        # All series exist from the start: Prometheus would not see a new series' first increase.
        for reason in _FEED_ERRORS:
            self.feed_errors.labels(reason)
        self._questions = {graded: questions.labels(graded.value) for graded in Graded}

    def answered(self, graded: Graded, took_s: float) -> None:
        """One question was answered."""
        self._questions[graded].inc()
        self.seconds.observe(took_s)
