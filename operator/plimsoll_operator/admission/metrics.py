"""Admission's Prometheus metrics. One object per process, or per test."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, TypeVar

from prometheus_client import Counter, Gauge, Histogram, PlatformCollector

from plimsoll_operator.metrics.process import process_registry
from plimsoll_operator.ordering.holding import HoldOutcome
from plimsoll_operator.ordering.why import Why
from plimsoll_operator.pods.recognising import MAKERS, LeftAlone, Recognition
from plimsoll_operator.sizing.node_hint import HintOutcome
from plimsoll_operator.sizing.sized import Sized, Treatment
from plimsoll_operator.splitting.cut_job import CutOutcome
from plimsoll_operator.splitting.spark_driver import DriverOutcome
from plimsoll_predictor.core.decision import Reason

E = TypeVar("E", bound=StrEnum)

_FAILED_OPEN: Final = (
    "error",
    "foreign",
    "malformed",
    "no-knowledge",
    "not-a-creation",
    "oversized",
    "stale",
    "version",
)
_FEED_ERRORS: Final = ("bad-entry", "unanswered")
_SECONDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2.0)


class AdmissionMetrics:
    """Metrics of one admission server, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = process_registry("admission")
        PlatformCollector(registry=self.registry)
        self._pods = Counter(
            "plimsoll_admission_pods",
            "Pods answered, by what became of them and why.",
            ["outcome", "reason"],
            registry=self.registry,
        )
        self._pods_by: dict[tuple[Treatment, Reason | None], Counter] = {}
        self.failed_open = Counter(
            "plimsoll_admission_failed_open",
            "Requests let through unchanged because they could not be sized, by reason.",
            ["reason"],
            registry=self.registry,
        )
        self._recognised = Counter(
            "plimsoll_admission_recognised",
            "Pods without a label that were recognised, by who made them.",
            ["maker"],
            registry=self.registry,
        )
        self._left_alone = Counter(
            "plimsoll_admission_left_alone",
            "Pods without a label that were left alone, by maker if it is known, and why.",
            ["maker", "reason"],
            registry=self.registry,
        )
        self.seconds = Histogram(
            "plimsoll_admission_seconds",
            "Time to decide one pod, from its request's last byte, without a wait for its lift.",
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._waited = Counter(
            "plimsoll_admission_waited",
            "Later attempts that waited a moment for their lift, by whether it came.",
            ["result"],
            registry=self.registry,
        )
        self._hints = self._by_result(
            "plimsoll_placing_hints",
            "New pods whose policy has hints at nodes, by what became of that.",
            HintOutcome,
        )
        self._waits = self._by_result(
            "plimsoll_order_pods",
            "New pods whose policy has an order in which they start, by what became of that.",
            HoldOutcome,
        )
        self._waiting_jobs = self._by_result(
            "plimsoll_order_jobs",
            "New Jobs whose policy has them wait suspended, by what became of that.",
            HoldOutcome,
        )
        self._cuts = self._by_result(
            "plimsoll_split_jobs", "New Jobs over items, by what became of that.", CutOutcome
        )
        self._drivers = self._by_result(
            "plimsoll_spark_drivers",
            "New drivers of Spark whose policy may give them properties, by what became of that.",
            DriverOutcome,
        )
        self.let_go = Counter(
            "plimsoll_order_let_go",
            "Pods and Jobs that waited for their turn and that this replica let go, by why.",
            ["reason"],
            registry=self.registry,
        )
        self.ignored_features = Counter(
            "plimsoll_admission_ignored_features",
            "Features left out because a name, length or count was out of bounds.",
            registry=self.registry,
        )
        self.feed_age_s = Gauge(
            "plimsoll_admission_feed_age_seconds",
            "Time since the controller was last heard; NaN before the first time.",
            registry=self.registry,
        )
        self.lowering = Gauge(
            "plimsoll_admission_lowering",
            "Whether sizes may be lowered: 0 while no kill would be noticed, 1 otherwise.",
            registry=self.registry,
        )
        self.tasks = Gauge(
            "plimsoll_admission_tasks", "Tasks known to this replica.", registry=self.registry
        )
        self.feed_errors = Counter(
            "plimsoll_admission_feed_errors",
            "Questions to the controller that failed, and feed entries that were not understood.",
            ["reason"],
            registry=self.registry,
        )
        self.certificate_expires_s = Gauge(
            "plimsoll_admission_certificate_expires_timestamp_seconds",
            "When the certificate in use expires; NaN where its file does not say so.",
            registry=self.registry,
        )
        self.snapshot_errors = Counter(
            "plimsoll_admission_snapshot_errors",
            "Snapshots that could not be written or read.",
            registry=self.registry,
        )
        self.certificate_errors = Counter(
            "plimsoll_admission_certificate_errors",
            "Changed certificate files that could not be loaded; the old pair stays in use.",
            registry=self.registry,
        )
        self._begin_series()

    def _begin_series(self) -> None:
        """Create all series at the start: Prometheus would not see a new series' first increase."""
        for reason in _FAILED_OPEN:
            self.failed_open.labels(reason)
        for maker in MAKERS:
            self._recognised.labels(maker)
            self._left_alone.labels(maker, LeftAlone.GENERATED_NAME.value)
        for why in LeftAlone:
            if why is not LeftAlone.GENERATED_NAME:
                self._left_alone.labels("", why.value)
        for reason in _FEED_ERRORS:
            self.feed_errors.labels(reason)
        for result in ("lifted", "in-vain"):
            self._waited.labels(result)
        for reason in (Why.AWAY.value, Why.WAITED.value):
            self.let_go.labels(reason)

    def _by_result(self, name: str, text: str, results: type[E]) -> dict[E, Counter]:
        """Make a counter whose series are there from the start, one for each result."""
        counter = Counter(name, text, ["result"], registry=self.registry)
        return {result: counter.labels(result.value) for result in results}

    def waited(self, *, lifted: bool) -> None:
        """One later attempt was answered after its wait."""
        self._waited.labels("lifted" if lifted else "in-vain").inc()

    def hinted(self, outcome: HintOutcome) -> None:
        """A pod was answered whose policy has hints."""
        self._hints[outcome].inc()

    def held(self, outcome: HoldOutcome) -> None:
        """A pod was answered whose policy has an order."""
        self._waits[outcome].inc()

    def held_job(self, outcome: HoldOutcome) -> None:
        """A Job was answered whose policy has it wait as a whole."""
        self._waiting_jobs[outcome].inc()

    def cut(self, outcome: CutOutcome) -> None:
        """A Job over items was answered."""
        self._cuts[outcome].inc()

    def gave(self, outcome: DriverOutcome) -> None:
        """A driver of Spark was answered."""
        self._drivers[outcome].inc()

    def recognised(self, found: Recognition) -> None:
        """One pod without a label was looked at."""
        if found.why is None:
            self._recognised.labels(found.maker or "").inc()
        else:
            self._left_alone.labels(found.maker or "", found.why.value).inc()

    def answered(self, sized: Sized) -> None:
        """One pod was answered."""
        reason = sized.decision.reason if sized.decision is not None else None
        key = (sized.treatment, reason)
        counter = self._pods_by.get(key)
        if counter is None:
            # Looked up once: a lookup by label costs more than the increment.
            counter = self._pods.labels(sized.treatment.value, reason.value if reason else "")
            self._pods_by[key] = counter
        counter.inc()
        if sized.ignored_features:
            self.ignored_features.inc(sized.ignored_features)
