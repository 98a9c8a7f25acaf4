"""From observations to knowledge: counted, trained on, and shown in the task's profile."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection
from typing import Final

import structlog

from plimsoll_operator.controller.book import TaskBook
from plimsoll_operator.controller.profiles import ProfileKeeper
from plimsoll_operator.training.queue import Trained, TrainingQueue
from plimsoll_operator.training.when import Since, should_train
from plimsoll_predictor.record import Observation, Outcome
from plimsoll_predictor.store import Kept, SavedModel, Store, StoreError, TaskSummary, Writer
from plimsoll_predictor.task import TaskId

log = structlog.get_logger()

FAILURES_TRIED_AGAIN: Final = 2
"""Trainings in a row that may fail before new observations are waited for."""
READ_PAUSE_S: Final = 1.0


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
        self._new_kills: Counter[TaskId] = Counter()
        self._trained_runs: dict[TaskId, int] = {}
        self._failures: Counter[TaskId] = Counter()
        self._succeeded_s: dict[TaskId, float] = {}
        self._leaked_s: dict[TaskId, float] = {}
        self._met: set[TaskId] = set()
        self.models_trained_s: dict[TaskId, float] = {}
        """When the task's model was trained, Unix seconds; of tasks that have one."""

    def meet(self, task: TaskId) -> bool:
        """A pod of the task was seen; the first time, its profile is made.

        False if the task is not kept, because its namespace has as many as it may: labels are
        written by strangers, and each task costs memory, rows and an object.
        """
        if task not in self._book:
            if self._book.is_crowded(task.namespace):
                return False
            self._book.get(task)
            self._profiles.mark(task, after_s=0.0)
        self._met.add(task)
        return True

    def idle(self, stored: Collection[TaskId]) -> list[TaskId]:
        """Tasks that nothing keeps: not stored, and no pod of them seen since the last call.

        Also those of which only a profile is left, as after a restart.
        """
        kept = {*stored, *self._met}
        self._met.clear()
        known = dict.fromkeys([*self._book, *self._profiles.tasks_shown])
        return [t for t in known if t not in kept and not self._book.has_own_policy(t)]

    def forget(self, task: TaskId) -> None:
        """Forget all of a task, so that no flood of names can fill the memory."""
        self._book.forget(task)
        self._profiles.forget(task)
        for kept in (self._trained_runs, self._new_kills, self._failures):
            kept.pop(task, None)
        for times in (self._succeeded_s, self._leaked_s, self.models_trained_s):
            times.pop(task, None)

    def note(self, task: TaskId) -> None:
        """Something happened that teaches no need but may show."""
        self._profiles.mark(task)

    def leaking(self, killed: Observation, why: str) -> None:
        """The task is beyond lifting, unless a run of it has succeeded since."""
        task, at_s = killed.task, killed.finished_s or 0.0
        if at_s >= self._succeeded_s.get(task, 0.0):
            self._leaked_s[task] = at_s
            self._profiles.leaking(task, why)

    def learn(self, observation: Observation, kept: Kept) -> None:
        """One attempt as it was recorded or amended, and what that changed in the store."""
        task, need = observation.task, observation.need
        if observation.outcome is Outcome.SUCCEEDED:
            self._succeeded(observation)
        self._profiles.mark(task)
        if need is None:
            return
        self._book.learn(task, need, new_runs=int(kept.learned))
        self._new_kills[task] += need.censored and kept.new
        if kept.new or kept.learned:
            self.consider(task)

    def consider(self, task: TaskId) -> None:
        """Train if enough is new."""
        why = should_train(self._since(task))
        if why is not None:
            self._new_kills[task] = 0
            self._queue.request(task, self._book.get(task).policy, why)

    async def trained(self, result: Trained) -> None:
        """A training ended; its model serves, or the old one does."""
        task = result.task
        if result.failure is not None:
            log.error("training failed", task=str(task), error=result.failure)
            self._failed(task)
        else:
            self._failures.pop(task, None)
            saved = await self._saved(task)
            if saved is not None:
                self._book.serve(task, saved.model)
                self._trained_runs[task] = saved.runs or self._book.get(task).runs
                self._date(task, saved)
        self._profiles.mark(task, after_s=0.0)

    def restore(self, summary: TaskSummary, saved: SavedModel | None) -> None:
        """After a start: how much the serving model knew, and what came since."""
        if saved is not None:
            self._date(summary.task, saved)
        if saved is not None and saved.runs is not None:
            self._trained_runs[summary.task] = saved.runs
            self._new_kills[summary.task] = max(0, summary.oom_kills - (saved.oom_kills or 0))

    def _date(self, task: TaskId, saved: SavedModel) -> None:
        self.models_trained_s.pop(task, None)
        if saved.model is not None:
            self.models_trained_s[task] = saved.trained_s

    def _succeeded(self, observation: Observation) -> None:
        task, at_s = observation.task, observation.finished_s or 0.0
        # Pods come in any order after a restart: only the last success tells how it is now.
        if at_s >= self._succeeded_s.get(task, 0.0):
            self._succeeded_s[task] = at_s
        if at_s >= self._leaked_s.get(task, 0.0):
            self._profiles.leaking(task, None)

    def _failed(self, task: TaskId) -> None:
        """Try again soon, in case the trainer was killed; then only when more is known."""
        self._failures[task] += 1
        if self._failures[task] <= FAILURES_TRIED_AGAIN:
            known = self._book.get(task)
            self._queue.request(task, known.policy, "the last training failed")
        else:
            self._trained_runs[task] = self._book.get(task).runs

    async def _saved(self, task: TaskId) -> SavedModel | None:
        while True:
            try:
                return await self._writer.read(self._store.models.newest, task)
            except StoreError as error:
                log.warning("a new model cannot be read, waiting", error=str(error))
                await asyncio.sleep(READ_PAUSE_S)

    def _since(self, task: TaskId) -> Since:
        known = self._book.get(task)
        return Since(
            runs=known.runs,
            min_runs=known.policy.min_runs,
            trained_runs=self._trained_runs.get(task),
            new_kills=self._new_kills[task],
        )
