"""The store's face: each method is one transaction."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from plimsoll_predictor.cpu import RunCpu
from plimsoll_predictor.experts.modelled import bidders_of
from plimsoll_predictor.knowledge import Expert, Lift
from plimsoll_predictor.model import Model
from plimsoll_predictor.record import Observation
from plimsoll_predictor.siblings import MOST_EARLIER
from plimsoll_predictor.store import (
    decisions,
    imports,
    item_needs,
    lessons,
    lifts,
    models,
    observations,
    peaks,
    pruning,
    retries,
    standings,
    summaries,
    trainings,
    usage,
)
from plimsoll_predictor.store.database import Database
from plimsoll_predictor.store.decisions import DecisionRecord
from plimsoll_predictor.store.errors import StoreError
from plimsoll_predictor.store.imports import Imported
from plimsoll_predictor.store.item_needs import ItemNeed
from plimsoll_predictor.store.migrations import migrate
from plimsoll_predictor.store.models import DamagedModel, SavedModel, TrainingOutcome
from plimsoll_predictor.store.observations import Recorded
from plimsoll_predictor.store.retries import RetryIntent
from plimsoll_predictor.store.summaries import TaskSummary
from plimsoll_predictor.store.trainings import Training
from plimsoll_predictor.task import TaskId
from plimsoll_predictor.task_groups import TaskUse

log: Final = logging.getLogger(__name__)
BUSY_TIMEOUT_S: Final = 5.0


class Store:
    """All that must outlive a restart. Synchronous; may be used from several threads.

    Every method raises StoreError if the database cannot do its work now (nothing was kept of the
    call, and it may be tried again), and BadRecordError if the data itself cannot be stored.
    """

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._database = database
        self._clock = clock
        self.experts = standings.StandingRecords(database)
        """What the experts know, and are to learn."""

    @classmethod
    def open(
        cls,
        url: str,
        *,
        clock: Callable[[], float] = time.time,
        busy_timeout_s: float = BUSY_TIMEOUT_S,
    ) -> Store:
        """Open the store and bring its schema up to date.

        url: ``sqlite:////path/store.db``, a plain path, or ``postgresql://...``.
        clock: Unix seconds; dates what expires.
        busy_timeout_s: how long a call waits for another process' write on SQLite.

        Raises:
            StoreError: if it is locked, full, not a database, or of a newer schema.
        """
        database = Database.connect(url, busy_timeout_s)
        try:
            migrate(database)
        except BaseException:
            database.close()
            raise
        return cls(database, clock)

    @property
    def where(self) -> str:
        """The store's address, without its password."""
        return self._database.where

    def close(self) -> None:
        """Close the connections."""
        self._database.close()

    def record(self, new: Sequence[Observation]) -> Recorded:
        """Keep observations; returns what that changed.

        A repeated uid doubles nothing and amends its row: known values replace what is there, None
        replaces nothing. Task, run and attempt stay, and so does the outcome, unless it was
        DELETED.
        """
        with self._database.write() as connection:
            return observations.record(connection, new, self._clock())

    def record_history(self, past: Sequence[Observation]) -> Recorded:
        """As ``record``, and tells a running controller of it through ``imported``."""
        with self._database.write() as connection:
            recorded = observations.record(connection, past, self._clock())
            imports.mark(connection, {observation.task for observation in past})
            return recorded

    def imported(self, after: int) -> Imported:
        """Tasks given a past from outside since ``after``, an earlier answer's serial, or 0."""
        with self._database.read() as connection:
            return imports.since(connection, after)

    def observations(self, task: TaskId, *, limit: int = 20_000) -> list[Observation]:
        """The latest ``limit`` attempts of a task, oldest first by their end."""
        with self._database.read() as connection:
            return observations.read(connection, task, limit)

    def item_needs(self, *, limit: int = MOST_EARLIER) -> list[ItemNeed]:
        """The latest ``limit`` needs that are known for items of workflows, oldest first."""
        with self._database.read() as connection:
            return item_needs.newest(connection, limit)

    def got_through(self, killed: Observation) -> bool:
        """Whether the run of a killed attempt is known to have succeeded after it."""
        with self._database.read() as connection:
            return observations.got_through(connection, killed)

    def run_cpus(self, tasks: Sequence[TaskId]) -> dict[TaskId, list[RunCpu]]:
        """CPU of each task's newest runs that succeeded and were measured; at most WINDOW_RUNS."""
        with self._database.read() as connection:
            return {task: usage.run_cpus(connection, task) for task in tasks}

    def task_uses(self) -> list[TaskUse]:
        """What each task asks for and uses, in one query."""
        with self._database.read() as connection:
            return usage.task_uses(connection)

    def tasks(self) -> list[TaskId]:
        """Tasks with observations, in alphabetical order."""
        with self._database.read() as connection:
            return observations.tasks(connection)

    def summary(self, task: TaskId) -> TaskSummary:
        """A task's figures; all zero if nothing is known."""
        with self._database.read() as connection:
            return summaries.summary(connection, task)

    def summaries(self) -> dict[TaskId, TaskSummary]:
        """Every task's figures, in one query."""
        with self._database.read() as connection:
            return summaries.summaries(connection)

    def save_model(
        self,
        task: TaskId,
        model: Model | None,
        champion: Expert,
        report: Mapping[str, Any],
        *,
        known: TaskSummary | None = None,
    ) -> None:
        """Keep a training's result; the model serves from now on.

        model: None if the training found that no model is of use yet.
        known: the task's figures when the training began, so that what came meanwhile counts as
            new; None takes those of now.
        """
        with self._database.write() as connection:
            known = known or summaries.summary(connection, task)
            outcome = TrainingOutcome(
                task=task,
                at_s=self._clock(),
                observations=known.observations,
                runs=known.runs_known,
                oom_kills=known.oom_kills,
                champion=champion,
                version=None if model is None else model.version,
                report=report,
            )
            models.save(connection, outcome, model)
            lessons.append(connection, [lessons.of_training(task, report, bidders_of(model))])

    def model(self, task: TaskId) -> SavedModel | None:
        """The newest model; None if there is none.

        A damaged one is None too: it is logged, and set aside for inspection.
        """
        with self._database.read() as connection:
            found = models.newest(connection, task)
        if isinstance(found, DamagedModel):
            self._set_aside(task, found)
            return None
        return found

    def models(self, task: TaskId, *, limit: int = models.KEPT_TRAININGS) -> list[TrainingOutcome]:
        """The last trainings that succeeded, with their reports, newest first."""
        with self._database.read() as connection:
            return models.history(connection, task, limit)

    def trainings(self, task: TaskId, *, limit: int = 20) -> list[Training]:
        """A task's last trainings, failed ones too, newest first; what is kept is bounded."""
        with self._database.read() as connection:
            return trainings.read(connection, task, limit)

    def untracked(self, *, limit: int = 20) -> list[Training]:
        """Trainings of any task not yet logged to a tracking server, oldest first."""
        with self._database.read() as connection:
            return trainings.untracked(connection, limit)

    def mark_tracked(self, row: int, words: str) -> None:
        """Note that a training is logged, as what, or why it cannot be."""
        with self._database.write() as connection:
            trainings.mark_tracked(connection, row, words)

    def record_training_failure(
        self,
        task: TaskId,
        message: str,
        at_s: float,
        *,
        known: TaskSummary | None = None,
        report: Mapping[str, Any] | None = None,
    ) -> None:
        """Keep why a training failed; the model before it serves on.

        known: as in save_model. report: what is known of it, by ``TrainingReport``'s names.
        """
        with self._database.write() as connection:
            known = known or summaries.summary(connection, task)
            outcome = TrainingOutcome(
                task=task,
                at_s=at_s,
                failure=message,
                report=report,
                observations=known.observations,
                runs=known.runs_known,
                oom_kills=known.oom_kills,
            )
            models.save(connection, outcome, None)

    def last_training(self, task: TaskId) -> TrainingOutcome | None:
        """How the last training went, failed or not."""
        with self._database.read() as connection:
            return models.last(connection, task)

    def put_lift(self, task: TaskId, run: str, lift: Lift) -> None:
        """Set what a run's next attempt gets."""
        with self._database.write() as connection:
            lifts.put(connection, task, run, lift, self._clock())

    def close_lift(self, task: TaskId, run: str) -> None:
        """Forget a run's lift: the run succeeded, or was given up."""
        with self._database.write() as connection:
            lifts.close(connection, task, run)

    def lifts(self) -> dict[TaskId, dict[str, Lift]]:
        """The lifts of the last seven days, by task and run, oldest first; bounded per task."""
        with self._database.read() as connection:
            return lifts.read(connection, self._clock())

    def plan_retry(self, intent: RetryIntent) -> bool:
        """Keep that a retry is to be made; False if this attempt's retry was planned before."""
        with self._database.write() as connection:
            return retries.plan(connection, intent)

    def open_retries(self) -> list[RetryIntent]:
        """Retries planned and not closed, oldest first."""
        with self._database.read() as connection:
            return retries.read_open(connection)

    def close_retry(self, attempt_uid: str, result: str) -> None:
        """Note what came of a planned retry."""
        with self._database.write() as connection:
            retries.close(connection, attempt_uid, result, self._clock())

    def put_peaks(self, reports: Sequence[Mapping[str, Any]]) -> None:
        """Keep the agents' peak reports (``PeakReport.to_dict()``); maxima never fall."""
        with self._database.write() as connection:
            peaks.put(connection, reports, self._clock())

    def peaks(self, pod_uid: str) -> list[dict[str, Any]]:
        """A pod's peak reports: the whole pod's first, then its containers'."""
        with self._database.read() as connection:
            return peaks.read(connection, pod_uid)

    def put_decision(
        self, decision: DecisionRecord, bids: Mapping[str, float] | None = None
    ) -> None:
        """Keep what an attempt got, and why; a later decision for it replaces this one.

        bids: expert -> bytes it would have given; what is kept of an attempt stays.
        """
        with self._database.write() as connection:
            decisions.put(connection, decision)
            if bids:
                attempt = decision.task, decision.attempt_uid
                standings.put_bids(connection, attempt, bids, self._clock())

    def decisions(self, task: TaskId, *, limit: int = 10) -> list[DecisionRecord]:
        """A task's last decisions, newest first."""
        with self._database.read() as connection:
            return decisions.read(connection, task, limit)

    def prune(self, now_s: float, keep_per_task: int = 20_000) -> None:
        """Forget what is over the bounds: rows per task, tasks, and age (see pruning.py)."""
        with self._database.write() as connection:
            pruning.prune(connection, now_s, keep_per_task)

    def _set_aside(self, task: TaskId, damaged: DamagedModel) -> None:
        log.error("task %s: its model cannot be read and is set aside: %s", task, damaged.reason)
        try:
            with self._database.write() as connection:
                models.set_aside(connection, damaged)
        except StoreError as error:
            # The next reader finds it out again.
            log.warning("task %s: the damaged model could not be marked: %s", task, error)
