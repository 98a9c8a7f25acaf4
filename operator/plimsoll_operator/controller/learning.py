"""From observations to knowledge: counted, trained on, and shown in the task's profile."""

from __future__ import annotations

from collections import Counter

import structlog

from plimsoll_operator.controller.book import TaskBook
from plimsoll_operator.controller.profiles import ProfileKeeper
from plimsoll_operator.profile_status import Measurement
from plimsoll_operator.training.queue import Trained, TrainingQueue
from plimsoll_operator.training.when import Since, should_train
from plimsoll_predictor.record import Observation, Outcome
from plimsoll_predictor.store import Store, Writer
from plimsoll_predictor.task import TaskId

log = structlog.get_logger()


class Learning:
    """What follows from an attempt's end beyond that attempt."""

    def __init__(
        self,
        book: TaskBook,
        profiles: ProfileKeeper,
        queue: TrainingQueue,
        store: Store,
        writer: Writer,
    ) -> None:
        self._book = book
        self._profiles = profiles
        self._queue = queue
        self._store = store
        self._writer = writer
        self._new_runs: Counter[TaskId] = Counter()
        self._new_kills: Counter[TaskId] = Counter()
        self._trained_runs: dict[TaskId, int] = {}

    def meet(self, task: TaskId) -> None:
        """A pod of the task was seen; the first time, its profile is made."""
        if task not in self._book:
            self._book.get(task)
            self._profiles.mark(task, after_s=0.0)

    def note(self, task: TaskId) -> None:
        """Something happened that teaches no need but may show."""
        self._profiles.mark(task)

    def leaking(self, task: TaskId, why: str) -> None:
        """The task is beyond lifting."""
        self._profiles.leaking(task, why)

    def learn(self, observation: Observation) -> None:
        """One attempt's need, heard for the first time."""
        task, need = observation.task, observation.need
        if observation.outcome is Outcome.SUCCEEDED:
            self._profiles.measured(task, Measurement(observation.peak_source))
            self._profiles.leaking(task, None)
        self._profiles.mark(task)
        if need is None:
            return
        self._book.learn(task, need)
        self._new_runs[task] += not need.censored
        self._new_kills[task] += need.censored
        self.consider(task)

    def consider(self, task: TaskId) -> None:
        """Train if enough is new."""
        why = should_train(self._since(task))
        if why is not None:
            self._new_kills[task] = self._new_runs[task] = 0
            self._queue.request(task, self._book.get(task).policy, why)

    async def trained(self, result: Trained) -> None:
        """A training ended; its model serves, or the old one does."""
        task = result.task
        if result.failure is not None:
            log.error("training failed", task=str(task), error=result.failure)
        saved = await self._writer.read(self._store.model, task)
        if saved is not None and result.failure is None:
            self._book.serve(task, saved.model, saved.champion)
            self._trained_runs[task] = self._book.get(task).runs
        self._profiles.mark(task, after_s=0.0)

    def restore(self, task: TaskId, trained_runs: int | None) -> None:
        """After a start: how much the last training knew; None if there was none."""
        if trained_runs is not None:
            self._trained_runs[task] = trained_runs

    def _since(self, task: TaskId) -> Since:
        known = self._book.get(task)
        return Since(
            runs=known.runs,
            min_runs=known.policy.min_runs,
            trained_runs=self._trained_runs.get(task),
            new_kills=self._new_kills[task],
        )
