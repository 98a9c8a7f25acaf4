"""The store: its parts, and the methods that concern several of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from plimsoll_predictor.core.record import Observation
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import forgetting, pruning
from plimsoll_predictor.store.attempts import decisions, observation_rows, peaks, sightings
from plimsoll_predictor.store.attempts.chunk_runs import ChunkRunRecords
from plimsoll_predictor.store.attempts.decisions import DecisionRecord, DecisionRecords
from plimsoll_predictor.store.attempts.encounters import EncounterRecords
from plimsoll_predictor.store.attempts.leased_jobs import LeasedJobRecords
from plimsoll_predictor.store.attempts.lifts import LiftRecords
from plimsoll_predictor.store.attempts.observation_rows import Recorded
from plimsoll_predictor.store.attempts.observations import ObservationRecords
from plimsoll_predictor.store.attempts.peaks import PeakRecords, Report
from plimsoll_predictor.store.attempts.retries import RetryRecords
from plimsoll_predictor.store.attempts.sightings import NewSighting
from plimsoll_predictor.store.attempts.spark_ends import SparkEndRecords
from plimsoll_predictor.store.attempts.summaries import TotalRecords
from plimsoll_predictor.store.database.database import Database
from plimsoll_predictor.store.learned.campaigns import CampaignRecords
from plimsoll_predictor.store.learned.due_trainings import DueRecords
from plimsoll_predictor.store.learned.feature_experts import FeatureRecords
from plimsoll_predictor.store.learned.runtimes import RuntimeRecords
from plimsoll_predictor.store.learned.shape_catalogues import ShapeRecords
from plimsoll_predictor.store.learned.standings import StandingRecords
from plimsoll_predictor.store.learned.trainings import ModelRecords, TrainingRecords
from plimsoll_predictor.store.migrations import migrate

BUSY_TIMEOUT_S: Final = 5.0


class Store:
    """All that must outlive a restart. Synchronous; may be used from several threads.

    Every method of it and of its parts is one transaction, unless it says otherwise. It raises
    StoreError if the database cannot do its work now (nothing was kept of the call, and it may be
    tried again), and BadRecordError if the data itself cannot be stored.
    """

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self.database = database
        """For what no record below does, such as a look at how a statement is planned."""
        self._clock = clock
        self._halves: set[str] = set()
        """Tasks that may be half forgotten. They are not stored: a start mends all totals."""
        self.observations = ObservationRecords(database, clock)
        self.totals = TotalRecords(database, clock)
        self.lifts = LiftRecords(database, clock)
        self.retries = RetryRecords(database, clock)
        self.peaks = PeakRecords(database, clock)
        self.decisions = DecisionRecords(database, clock)
        self.models = ModelRecords(database, clock)
        self.trainings = TrainingRecords(database, clock)
        self.due = DueRecords(database, clock)
        self.experts = StandingRecords(database, clock)
        self.runtimes = RuntimeRecords(database, clock)
        self.encounters = EncounterRecords(database, clock)
        self.chunk_runs = ChunkRunRecords(database, clock)
        self.leased_jobs = LeasedJobRecords(database, clock)
        self.spark_ends = SparkEndRecords(database, clock)
        self.shapes = ShapeRecords(database, clock)
        self.features = FeatureRecords(database, clock)
        self.campaigns = CampaignRecords(database, clock)

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
        return self.database.where

    @property
    def trouble(self) -> str | None:
        """The reason why a commit waits for the server, as a sentence; None if none waits."""
        return self.database.trouble

    def give_up(self) -> None:
        """End all waiting for the server."""
        self.database.give_up()

    def close(self) -> None:
        """Close the connections."""
        self.database.close()

    def keep(
        self,
        new: Sequence[Observation] = (),
        decided: Sequence[DecisionRecord] = (),
        seen: Sequence[NewSighting] = (),
        reports: Sequence[Report] = (),
    ) -> Recorded:
        """Keep observations, decisions, sightings and agents' reports in one transaction."""
        with self.database.write() as connection:
            now_s = self._clock()
            sightings.append(connection, seen)
            decisions.put(connection, decided, now_s)
            peaks.put(connection, reports, now_s)
            return observation_rows.record(connection, new, now_s)

    def erase(self, task: TaskId) -> int:
        """Delete all rows of a task, in several transactions; return how many there were."""
        return forgetting.erase(self.database, task)

    def forget(self, task: TaskId) -> int:
        """Erase the task and leave a mark, by which a running controller forgets it as well.

        After an interruption the task is still there, or the mark is; do it again.
        """
        return forgetting.forget(self.database, task)

    def unlearn(self, task: TaskId) -> None:
        """Delete what is learned of a forgotten task; what is stored of it since teaches anew.

        In several transactions; its mark goes with the last one. If people were interrupted, or are
        not done yet, its totals count too many until the next pruning. To add it up is a pass over
        all that is left of it, for which other writes, and the forgetting, would wait.
        """
        self._halves.add(str(task))
        forgetting.unlearn(self.database, task, self._clock())

    def quiet_tasks(self) -> list[TaskId]:
        """Tasks that have been quiet for so long that the next pruning forgets them."""
        return [TaskId.parse(name) for name in pruning.quiet_tasks(self.database, self._clock())]

    def prune_steps(
        self, now_s: float, bounds: pruning.Bounds | None = None, *, noticed: int = 0
    ) -> Iterator[int]:
        """Delete what is over the bounds, as ``pruning.steps`` does."""
        return pruning.steps(
            self.database, now_s, bounds or pruning.Bounds(), noticed, self._halves
        )
