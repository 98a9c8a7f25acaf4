"""The part of the store that trainings write and models are read from."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from plimsoll_predictor.experts.modelled import bidders_of
from plimsoll_predictor.knowledge import Expert
from plimsoll_predictor.model import Model
from plimsoll_predictor.store import lessons, models, summaries, trainings
from plimsoll_predictor.store.database import Database
from plimsoll_predictor.store.errors import StoreError
from plimsoll_predictor.store.models import DamagedModel, SavedModel, TrainingOutcome
from plimsoll_predictor.store.summaries import TaskSummary
from plimsoll_predictor.store.trainings import Training
from plimsoll_predictor.task import TaskId

log: Final = logging.getLogger(__name__)
_MODELS_AT_ONCE: Final = 20
"""A model is a few hundred kB of text."""


class StoredTrainings:
    """Errors as of ``Store``, which this is the base of."""

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._database = database
        self._clock = clock

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

    def serving_models(self) -> Iterator[tuple[TaskId, SavedModel]]:
        """What ``model`` tells of all tasks that have one, a few at a time."""
        with self._database.read() as connection:
            rows = models.serving(connection)
        for start in range(0, len(rows), _MODELS_AT_ONCE):
            with self._database.read() as connection:
                read = models.read(connection, rows[start : start + _MODELS_AT_ONCE])
            for task, found in read.items():
                if isinstance(found, DamagedModel):
                    self._set_aside(task, found)
                elif found is not None:
                    yield task, found

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

    def _set_aside(self, task: TaskId, damaged: DamagedModel) -> None:
        log.error("task %s: its model cannot be read and is set aside: %s", task, damaged.reason)
        try:
            with self._database.write() as connection:
                models.set_aside(connection, damaged)
        except StoreError as error:
            # The next reader finds it out again.
            log.warning("task %s: the damaged model could not be marked: %s", task, error)
