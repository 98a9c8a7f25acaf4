"""The store's face: each method is one transaction."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from plimsoll_predictor.cpu import CpuUse, RunCpu
from plimsoll_predictor.knowledge import Lift
from plimsoll_predictor.record import Observation
from plimsoll_predictor.siblings import MOST_EARLIER
from plimsoll_predictor.store import (
    decisions,
    imports,
    item_needs,
    lifts,
    observations,
    peaks,
    pruning,
    retries,
    runtimes,
    sightings,
    standings,
    summaries,
    totals,
    usage,
)
from plimsoll_predictor.store.database import Database
from plimsoll_predictor.store.decisions import DecisionRecord
from plimsoll_predictor.store.imports import Imported
from plimsoll_predictor.store.item_needs import ItemNeed
from plimsoll_predictor.store.migrations import migrate
from plimsoll_predictor.store.observations import Recorded
from plimsoll_predictor.store.queued import Decided
from plimsoll_predictor.store.retries import RetryIntent
from plimsoll_predictor.store.sightings import NewSighting
from plimsoll_predictor.store.stored_trainings import StoredTrainings
from plimsoll_predictor.store.summaries import TaskSummary
from plimsoll_predictor.task import TaskId
from plimsoll_predictor.task_groups import TaskUse

log: Final = logging.getLogger(__name__)
BUSY_TIMEOUT_S: Final = 5.0


class Store(StoredTrainings):
    """All that must outlive a restart. Synchronous; may be used from several threads.

    Every method raises StoreError if the database cannot do its work now (nothing was kept of the
    call, and it may be tried again), and BadRecordError if the data itself cannot be stored.
    """

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        super().__init__(database, clock)
        self.experts = standings.StandingRecords(database)
        """What the experts know, and are to learn."""
        self.runtimes = runtimes.RuntimeRecords(database)
        """What is known of runs' runtimes, and is to be learned."""

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

    @property
    def trouble(self) -> str | None:
        """Why a commit waits for the server's word, as a sentence; None if none does."""
        return self._database.trouble

    def give_up(self) -> None:
        """End such waiting."""
        self._database.give_up()

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

    def keep(
        self,
        new: Sequence[Observation],
        decided: Sequence[Decided],
        seen: Sequence[NewSighting] = (),
    ) -> Recorded:
        """As ``record``, ``put_decision`` and ``sight``, of several at once."""
        with self._database.write() as connection:
            now_s = self._clock()
            sightings.append(connection, seen)
            decisions.put(connection, [each.record for each in decided])
            standings.put_bids(connection, decided, now_s)
            return observations.record(connection, new, now_s)

    def sight(self, seen: Sequence[NewSighting]) -> None:
        """Keep what was seen of runs that have not ended; ends are told by ``record``."""
        self.keep((), (), seen)

    def record_history(self, past: Sequence[Observation]) -> Recorded:
        """As ``record``, and tells a running controller of it through ``imported``.

        Attempts that Plimsoll observed itself stay as they are.
        """
        with self._database.write() as connection:
            ours = imports.observed_here(connection, {each.attempt_uid for each in past})
            theirs = [each for each in past if each.attempt_uid not in ours]
            recorded = observations.record(connection, theirs, self._clock())
            imports.mark(connection, {observation.task for observation in theirs})
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

    def mend_totals(self) -> int:
        """Add up anew what an older Plimsoll wrote beside this one; returns the tasks concerned."""
        with self._database.read() as connection:
            tasks = totals.differing(connection)
        if tasks:
            with self._database.write() as connection:
                totals.add_up(connection, tasks)
        return len(tasks)

    def cpu_uses(self) -> dict[TaskId, CpuUse]:
        """What the newest runs of each task used of the CPU; without tasks nobody measured."""
        with self._database.read() as connection:
            return totals.cpu_uses(connection)

    def task_uses(self) -> list[TaskUse]:
        """What each task asks for and uses, in one query."""
        with self._database.read() as connection:
            return usage.task_uses(connection)

    def tasks(self) -> list[TaskId]:
        """Tasks with observations, in alphabetical order."""
        with self._database.read() as connection:
            return totals.tasks(connection)

    def summary(self, task: TaskId) -> TaskSummary:
        """A task's figures; all zero if nothing is known."""
        with self._database.read() as connection:
            return summaries.summary(connection, task)

    def summaries(self) -> dict[TaskId, TaskSummary]:
        """Every task's figures, in one query."""
        with self._database.read() as connection:
            return summaries.summaries(connection)

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
        self.keep((), [Decided(decision, bids or {})])

    def decisions(self, task: TaskId, *, limit: int = 10) -> list[DecisionRecord]:
        """A task's last decisions, newest first."""
        with self._database.read() as connection:
            return decisions.read(connection, task, limit)

    def prune(self, now_s: float, keep_per_task: int = pruning.KEPT_PER_TASK) -> None:
        """Forget what is over the bounds: rows per task, tasks, and age (see pruning.py)."""
        for _ in self.prune_steps(now_s, pruning.Bounds(per_task=keep_per_task)):
            pass

    def prune_steps(self, now_s: float, bounds: pruning.Bounds | None = None) -> Iterator[int]:
        """As ``prune``, one short transaction at a time; gives the rows deleted by each."""
        return pruning.steps(self._database, now_s, bounds or pruning.Bounds())
