"""Decides when a task is trained, and lets the trained model serve."""

from __future__ import annotations

from collections import Counter
from typing import Final

import structlog

from plimsoll_operator.controller.hub.habits import read_patiently
from plimsoll_operator.controller.hub.hub import (
    AttemptEnded,
    Hub,
    ObservationAmended,
    TaskForgotten,
    TrainingDue,
    TrainingEnded,
)
from plimsoll_operator.controller.profiles.profiles import TaskProfiles
from plimsoll_operator.controller.tasks.book import TaskBook
from plimsoll_operator.training.queue import Trained
from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import SavedModel, Store, TaskSummary, Writer
from plimsoll_predictor.training.when_due import Since, should_train

log = structlog.get_logger()

FAILURES_TRIED_AGAIN: Final = 2
"""Failed trainings in a row that are repeated soon; then new observations are needed."""


class Trainings:
    """Counts what is new for each task, and lets models serve."""

    def __init__(
        self, book: TaskBook, profiles: TaskProfiles, store: Store, writer: Writer, hub: Hub
    ) -> None:
        self._book = book
        self._profiles = profiles
        self._store = store
        self._writer = writer
        self._hub = hub
        self._new_kills: Counter[TaskId] = Counter()
        self._trained_runs: dict[TaskId, int] = {}
        self._asked_runs: dict[TaskId, int] = {}
        """How many runs the book counted when a training was asked for last."""
        self._failures: Counter[TaskId] = Counter()
        self.models_trained_s: dict[TaskId, float] = {}
        """When each task's model was trained, in Unix seconds; only tasks with a model are here."""

    def observed(self, event: AttemptEnded | ObservationAmended) -> None:
        """Count a new kill, and train if enough is new. The book has counted the run already."""
        task, need, novelty = event.observation.task, event.observation.need, event.novelty
        if need is None:
            return
        self._new_kills[task] += need.censored and (novelty.new or novelty.revised)
        if novelty.new or novelty.learned or novelty.revised:
            self.consider(task)

    def consider(self, task: TaskId) -> None:
        """Train if enough is new."""
        knowledge = self._book.get(task)
        since = Since(
            runs=knowledge.runs,
            min_runs=knowledge.policy.min_runs,
            trained_runs=self._covered_runs(task),
            new_kills=self._new_kills[task],
        )
        why = should_train(since)
        if why is not None:
            self._new_kills[task] = 0
            self._request(task, why, killed=since.new_kills > 0)

    async def training_ended(self, result: Trained) -> None:
        """Let the new model serve; if the training failed, the old one serves on."""
        self._hub.publish(TrainingEnded(result))
        task = result.task
        if task not in self._book:
            return  # forgotten meanwhile
        if result.failure is not None:
            log.error("training failed", task=str(task), error=result.failure)
            self._failed(task)
        else:
            self._failures.pop(task, None)
            saved = await read_patiently(self._writer, self._store.models.newest, task)
            if saved is not None:
                self._book.serve(task, saved.model)
                # The store forgets a task's oldest runs, but the book counts them all.
                asked_runs = self._asked_runs.get(task, 0)
                trained_runs = max(saved.runs or 0, asked_runs)
                self._trained_runs[task] = trained_runs or self._book.get(task).runs
                self._date(task, saved)
        self._profiles.mark(task, after_s=0.0)

    def policy_of(self, task: TaskId) -> Policy | None:
        """Return the policy of a task by which it is trained now; None if it is not in the book."""
        return self._book.look(task).policy if task in self._book else None

    def restore(self, summary: TaskSummary, saved: SavedModel | None) -> None:
        """Note, at a start, how much the serving model knew, and what came since."""
        if saved is not None:
            self._date(summary.task, saved)
        if saved is not None and saved.runs is not None:
            self._trained_runs[summary.task] = saved.runs
            self._new_kills[summary.task] = max(0, summary.oom_kills - (saved.oom_kills or 0))

    def runs_forgotten(self, task: TaskId, count: int) -> None:
        """Count what is new from fewer runs: the book counts so many less from now on."""
        for runs in (self._trained_runs, self._asked_runs):
            if task in runs:
                runs[task] = max(0, runs[task] - count)

    def task_forgotten(self, event: TaskForgotten) -> None:
        """Forget all of it, so that no flood of names can fill the memory."""
        self._trained_runs.pop(event.task, None)
        self._asked_runs.pop(event.task, None)
        self._new_kills.pop(event.task, None)
        self._failures.pop(event.task, None)
        self.models_trained_s.pop(event.task, None)

    def _covered_runs(self, task: TaskId) -> int | None:
        """Return how many runs the last training knew, or one that is asked for will know."""
        counts = [runs[task] for runs in (self._trained_runs, self._asked_runs) if task in runs]
        return max(counts, default=None)

    def _date(self, task: TaskId, saved: SavedModel) -> None:
        self.models_trained_s.pop(task, None)
        if saved.model is not None:
            self.models_trained_s[task] = saved.trained_s

    def _failed(self, task: TaskId) -> None:
        """Try again soon, in case the trainer was killed; later only when more is known."""
        self._failures[task] += 1
        if self._failures[task] <= FAILURES_TRIED_AGAIN:
            self._request(task, "the last training failed")
        else:
            self._trained_runs[task] = self._book.get(task).runs

    def _request(self, task: TaskId, why: str, *, killed: bool = False) -> None:
        knowledge = self._book.get(task)
        self._asked_runs[task] = knowledge.runs
        self._hub.publish(TrainingDue(task, knowledge.policy, why, killed))
