"""The controller's figures that are read where they are kept, at the moment of the scrape."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector


class StoreWriter(Protocol):
    """What tells whether the store can be written."""

    @property
    def trouble(self) -> str | None:
        """Why nothing can be written; None if all is well."""

    @property
    def queued(self) -> int:
        """Writes not yet committed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """Where the figures are.

    leaking: how many tasks are beyond lifting.
    models_trained_s: when each serving model was trained, Unix seconds.
    trainings_waiting, trainings_running: how many. feed_readers: admission's open questions.
    retries: how many ended, by result. events: how many Events, by what became of them.
    """

    leaking: Callable[[], int]
    models_trained_s: Callable[[], Collection[float]]
    trainings_waiting: Callable[[], int]
    trainings_running: Callable[[], int]
    feed_readers: Callable[[], int]
    retries: Callable[[], Mapping[str, int]]
    events: Callable[[], Mapping[str, int]]


class StoreHealth(Collector):
    """Whether the store can be written, and how much waits for that."""

    def __init__(self, writer: StoreWriter) -> None:
        self._writer = writer

    def collect(self) -> Iterable[Metric]:
        """The two series as they are now."""
        yield gauge(
            "plimsoll_store_healthy",
            "1 while the store can be written.",
            self._writer.trouble is None,
        )
        yield gauge(
            "plimsoll_store_queued_writes",
            "Writes accepted and not yet committed.",
            self._writer.queued,
        )


class LiveMetrics(Collector):
    """A controller's figures as they are now."""

    def __init__(self, live: Live) -> None:
        self._live = live

    def collect(self) -> Iterable[Metric]:
        """All series, read one by one: none is held between two scrapes."""
        live = self._live
        yield gauge(
            "plimsoll_leaking_tasks",
            "Tasks that are OOM-killed at the most they may get.",
            live.leaking(),
        )
        yield from self._models()
        yield gauge(
            "plimsoll_trainings_waiting", "Trainings not begun yet.", live.trainings_waiting()
        )
        yield gauge("plimsoll_trainings_running", "Trainings under way.", live.trainings_running())
        yield gauge(
            "plimsoll_feed_readers",
            "Admission replicas that wait for news at this moment.",
            live.feed_readers(),
        )
        yield _counter(
            "plimsoll_retries", "Retries made by Plimsoll, by result.", "result", live.retries()
        )
        yield _counter(
            "plimsoll_events", "Events, by what became of them.", "result", live.events()
        )

    def _models(self) -> Iterator[Metric]:
        trained_s = self._live.models_trained_s()
        yield gauge("plimsoll_models", "Tasks with a trained model.", len(trained_s))
        family = GaugeMetricFamily(
            "plimsoll_model_trained_timestamp_seconds",
            "When the oldest and the newest model in use were trained.",
            labels=["model"],
        )
        if trained_s:
            family.add_metric(["oldest"], min(trained_s))
            family.add_metric(["newest"], max(trained_s))
        yield family


def gauge(name: str, words: str, value: float) -> Metric:
    """One gauge without labels, as it is now."""
    family = GaugeMetricFamily(name, words)
    family.add_metric([], float(value))
    return family


def _counter(name: str, words: str, label: str, counts: Mapping[str, int]) -> Metric:
    family = CounterMetricFamily(name, words, labels=[label])
    for value, count in sorted(counts.items()):
        family.add_metric([value], float(count))
    return family
