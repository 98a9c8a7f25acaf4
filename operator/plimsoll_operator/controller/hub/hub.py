"""The events of the controller, and the hub that carries them.

A part publishes what happened; the parts that act on it have subscribed. So a part knows nothing
of the parts that come after it. ``connecting`` has the table of subscriptions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from plimsoll_operator.attempts.running_long import RunForecast
from plimsoll_operator.attempts.watched_pod import WatchedPod
from plimsoll_operator.pods.spec import Pod
from plimsoll_operator.pods.status import AttemptStatus
from plimsoll_operator.training.queue import Trained
from plimsoll_operator.wording.event_words import Regarding
from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.core.record import Observation
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import Novelty

E = TypeVar("E")


@dataclass(frozen=True, slots=True)
class AttemptEnded:
    """An attempt ended, and its observation is committed.

    novelty: what the commit added to the store; nothing if the pod was seen before.
    """

    observation: Observation
    novelty: Novelty
    pod: Pod
    watched: WatchedPod
    status: AttemptStatus


@dataclass(frozen=True, slots=True)
class ObservationAmended:
    """A peak came after its attempt was observed, and the amended observation is committed."""

    observation: Observation
    novelty: Novelty


@dataclass(frozen=True, slots=True)
class PeaksReported:
    """Reports of these pods, once each, are in the peak book."""

    pod_uids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FinalPeakReported:
    """An agent's final report of a pod is in the peak book."""

    pod_uid: str


@dataclass(frozen=True, slots=True)
class TaskForgotten:
    """A task is not in the book any more."""

    task: TaskId


@dataclass(frozen=True, slots=True)
class TaskLearned:
    """More is known of a task; the feed gets it with the next publication.

    new_runs: how many more runs it counts that its experts have not learned yet.
    """

    task: TaskId
    new_runs: int = 0


@dataclass(frozen=True, slots=True)
class TaskChanged:
    """Something about a task changed that the feed gets at once."""

    task: TaskId


@dataclass(frozen=True, slots=True)
class TaskPublished:
    """A task's new knowledge is in the feed, and decides sizes from now on."""

    task: TaskId


@dataclass(frozen=True, slots=True)
class PolicyChanged:
    """A SizingPolicy changed. namespace: None for the cluster's."""

    namespace: str | None


@dataclass(frozen=True, slots=True)
class ProfileSpecChanged:
    """People changed the spec of a TaskProfile."""

    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class ProfileOutdated:
    """Something changed that a task's profile shows. task: None for every task."""

    task: TaskId | None


@dataclass(frozen=True, slots=True)
class TrainingDue:
    """Enough is new about a task to train it. why: the reason in words. killed: a kill is new."""

    task: TaskId
    policy: Policy
    why: str
    killed: bool = False


@dataclass(frozen=True, slots=True)
class TrainingEnded:
    """A training ended."""

    result: Trained


@dataclass(frozen=True, slots=True)
class LeasedJobEnded:
    """A Job whose pods leased its items ended. taught: by it and earlier ones, as it is stored."""

    task: TaskId
    taught: object


@dataclass(frozen=True, slots=True)
class RuntimeForecast:
    """A run's time was forecast when it was submitted."""


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A run with a forecast started, maybe before a restart of the controller."""

    attempt_uid: str
    forecast: RunForecast


@dataclass(frozen=True, slots=True)
class RunEnded:
    """A run ended.

    share: the part of its forecast below its runtime; forecast_s: the forecast's median. Each is
    None without a forecast, and if that knew too few runs of the task.
    """

    attempt_uid: str
    share: float | None
    forecast_s: float | None = None


@dataclass(frozen=True, slots=True)
class RanLong:
    """A run under way takes longer than nearly all runs like it. words: how much longer."""

    attempt_uid: str
    task: TaskId
    pod: Regarding
    words: str
    at_s: float


class Hub:
    """Calls each subscriber of an event's type, in the order in which they subscribed.

    A publication is a call: it returns when all have heard, nothing is queued, and an error of a
    subscriber reaches the publisher, which then has not done its step.
    """

    def __init__(self) -> None:
        self._subscribers: defaultdict[type, list[Callable[[Any], object]]] = defaultdict(list)

    def subscribe(self, kind: type[E], *handlers: Callable[[E], object]) -> None:
        """Have ``handlers`` called with each event of exactly this type."""
        self._subscribers[kind].extend(handlers)

    def publish(self, event: object) -> None:
        """Tell all subscribers what happened."""
        for handler in self._subscribers[type(event)]:
            handler(event)
