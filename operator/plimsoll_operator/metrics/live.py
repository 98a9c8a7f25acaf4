"""The controller's figures that are read from their owners at the moment of the scrape."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """The owners of the figures.

    leaking: how many tasks cannot be lifted any more.
    spent_budgets: how many tasks have spent their error budget.
    training_waits_s: how long the training that waits longest has waited.
    held_ratios: memory-time that sizes held lately over what the requests would have, by namespace;
        "" for all together.
    models_trained_s: when each serving model was trained, Unix seconds.
    feed_readers: admission's open questions.
    retries: how many ended, by result. events: how many Events were tried, by result.
    feed_untold: changes that were not sent to admission, by kind.
    """

    tasks: Callable[[], int]
    store_healthy: Callable[[], bool]
    queued_writes: Callable[[], int]
    leaking: Callable[[], int]
    spent_budgets: Callable[[], int]
    held_ratios: Callable[[], Mapping[str, float]]
    models_trained_s: Callable[[], Collection[float]]
    trainings_waiting: Callable[[], int]
    trainings_running: Callable[[], int]
    training_waits_s: Callable[[], float]
    feed_readers: Callable[[], int]
    retries: Callable[[], Mapping[str, int]]
    events: Callable[[], Mapping[str, int]]
    feed_untold: Callable[[], Mapping[str, int]]


class LiveMetrics(Collector):
    """A controller's figures as they are now."""

    def __init__(self, live: Live) -> None:
        self._live = live

    def collect(self) -> Iterable[Metric]:
        """All series, read one by one; none is kept between two scrapes."""
        live = self._live
        trained_s = live.models_trained_s()
        for name, words, figure in (
            ("plimsoll_tasks", "Tasks known.", live.tasks()),
            ("plimsoll_store_healthy", "1 while the store can be written.", live.store_healthy()),
            (
                "plimsoll_store_queued_writes",
                "Writes accepted and not yet committed.",
                live.queued_writes(),
            ),
            (
                "plimsoll_leaking_tasks",
                "Tasks that are OOM-killed at the most they may get.",
                live.leaking(),
            ),
            (
                "plimsoll_tasks_error_budget_spent",
                "Tasks that have spent their error budget and get their request.",
                live.spent_budgets(),
            ),
            ("plimsoll_models", "Tasks with a trained model.", len(trained_s)),
            ("plimsoll_trainings_waiting", "Trainings not begun yet.", live.trainings_waiting()),
            ("plimsoll_trainings_running", "Trainings under way.", live.trainings_running()),
            (
                "plimsoll_training_longest_wait_seconds",
                "How long the training that waits longest for its turn has waited.",
                live.training_waits_s(),
            ),
            (
                "plimsoll_feed_readers",
                "Admission replicas that wait for news at this moment.",
                live.feed_readers(),
            ),
        ):
            yield GaugeMetricFamily(name, words, float(figure))
        yield from _trained(trained_s)
        yield _held(live.held_ratios())
        yield _by_result("plimsoll_retries", "Retries made by Plimsoll, by result.", live.retries())
        yield _by_result("plimsoll_events", "Events, by what became of them.", live.events())
        yield _counted(
            "plimsoll_feed_untold",
            "Changes that were not published to admission: too large, or no room was left.",
            "kind",
            live.feed_untold(),
        )


def _trained(trained_s: Collection[float]) -> Iterator[Metric]:
    family = GaugeMetricFamily(
        "plimsoll_model_trained_timestamp_seconds",
        "When the oldest and the newest model in use were trained.",
        labels=["model"],
    )
    if trained_s:
        family.add_metric(["oldest"], min(trained_s))
        family.add_metric(["newest"], max(trained_s))
    yield family


def _held(ratios: Mapping[str, float]) -> Metric:
    family = GaugeMetricFamily(
        "plimsoll_memory_held_ratio",
        "Memory-time that sizes held lately over what the requests would have.",
        labels=["task_namespace"],
    )
    for namespace, ratio in ratios.items():
        family.add_metric([namespace], ratio)
    return family


def _by_result(name: str, words: str, counts: Mapping[str, int]) -> Metric:
    return _counted(name, words, "result", counts)


def _counted(name: str, words: str, label: str, counts: Mapping[str, int]) -> Metric:
    family = CounterMetricFamily(name, words, labels=[label])
    for value, count in sorted(counts.items()):
        family.add_metric([value], float(count))
    return family
