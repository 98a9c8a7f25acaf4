"""The models that serve; each stands in the row of the training that made it."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import orjson
import sqlalchemy as sa

from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.deciding.modelled import bidders_of
from plimsoll_predictor.knowledge.expert_names import MAX_SEEN
from plimsoll_predictor.model.task_model import Model, ModelError
from plimsoll_predictor.store.attempts import lessons, summaries
from plimsoll_predictor.store.attempts.summaries import TaskSummary
from plimsoll_predictor.store.database.database import Records
from plimsoll_predictor.store.database.errors import StoreError
from plimsoll_predictor.store.database.schema import trainings as table
from plimsoll_predictor.store.learned import trainings
from plimsoll_predictor.training.out_of_time import OutOfTimeCost

log: Final = logging.getLogger(__name__)
_AT_ONCE: Final = 20
"""A model is a few hundred kB of text."""


@dataclass(frozen=True, slots=True)
class SavedModel:
    """The newest model of a task.

    model: None if the training found that none is of use yet.
    runs, oom_kills: runs with a known need, and kills, the task had when its training began; None
        if nobody recorded them.
    """

    model: Model | None
    report: Mapping[str, Any]
    trained_s: float
    runs: int | None = None
    oom_kills: int | None = None


@dataclass(frozen=True, slots=True)
class DamagedModel:
    """A row whose model cannot be read."""

    row_id: int
    reason: str


class ModelRecords(Records):
    """The part of the store that models are read from; errors as of ``Store``."""

    def save(
        self,
        task: TaskId,
        model: Model | None,
        report: Mapping[str, Any],
        *,
        out_of_time_costs: Mapping[str, OutOfTimeCost] = MappingProxyType({}),
        known: TaskSummary | None = None,
    ) -> None:
        """Keep a training's result; the model serves from now on.

        model: None if the training found that no model is of use yet.
        out_of_time_costs: expert -> its cost, from which the model's own experts start.
        known: the task's figures when the training began, so that what came meanwhile counts as
            new; None takes those of now.
        """
        with self._database.write() as connection:
            began = known or summaries.summary(connection, task)
            results = {
                # An older Plimsoll reads no model without an expert's name here.
                "champion": MAX_SEEN,
                "version": None if model is None else model.version,
                "report": trainings.as_json(report, task),
                "model": None if model is None else trainings.as_json(model.to_dict(), task),
            }
            trainings.append(connection, began, self._clock(), results)
            lesson = lessons.of_training(task, out_of_time_costs, bidders_of(model))
            lessons.append(connection, [lesson])

    def newest(self, task: TaskId) -> SavedModel | None:
        """The model of the last training that succeeded; None if there is none.

        A damaged one is None too: it is logged, and set aside for inspection.
        """
        succeeded = (table.c.task == str(task)) & table.c.failure.is_(None)
        last = sa.select(table).where(succeeded).order_by(table.c.id.desc()).limit(1)
        row = self._database.row(last)
        return None if row is None else self._readable(row)

    def serving(self) -> Iterator[tuple[TaskId, SavedModel]]:
        """What ``newest`` tells of all tasks that have one, a few at a time."""
        newest_ids = sa.select(sa.func.max(table.c.id)).where(table.c.failure.is_(None))
        ids = self._database.values(newest_ids.group_by(table.c.task))
        for start in range(0, len(ids), _AT_ONCE):
            some = sa.select(table).where(table.c.id.in_(ids[start : start + _AT_ONCE]))
            for row in self._database.rows(some):
                if (found := self._readable(row)) is not None:
                    yield TaskId.parse(row.task), found

    def _readable(self, row: sa.Row[Any]) -> SavedModel | None:
        if row.damage is not None:
            return None
        try:
            return _saved(row)
        except (ModelError, ValueError, TypeError, KeyError) as error:
            reason = f"{type(error).__name__}: {error}"
        log.error("task %s: its model cannot be read and is set aside: %s", row.task, reason)
        try:
            with self._database.write() as connection:
                trainings.set_aside(connection, row.id, reason)
        except StoreError as error:
            # The next reader finds it out again.
            log.warning("task %s: the damaged model could not be marked: %s", row.task, error)
        return None


def _saved(row: sa.Row[Any]) -> SavedModel:
    model = None if row.model is None else Model.from_dict(orjson.loads(row.model))
    if row.version is not None and model is None:
        raise ModelError("the row has lost its model")
    return SavedModel(model, orjson.loads(row.report), row.at_s, row.runs, row.oom_kills)
