"""Trainings, and the models that they made: the newest of a task serves."""

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
from plimsoll_predictor.store.attempts.decisions import UNKNOWN_TASKS_KEPT_S
from plimsoll_predictor.store.attempts.summaries import TaskSummary
from plimsoll_predictor.store.database.database import Records
from plimsoll_predictor.store.database.errors import BadRecordError, StoreError
from plimsoll_predictor.store.database.schema import observations as observation_table
from plimsoll_predictor.store.database.schema import trainings as table
from plimsoll_predictor.store.learned import training_reports
from plimsoll_predictor.store.learned.due_trainings import (
    FAILURE_CHARS,
    AlreadyEndedError,
    Claim,
    end_claimed,
)
from plimsoll_predictor.training.out_of_time import OutOfTimeCost

log: Final = logging.getLogger(__name__)
KEPT_TRAININGS: Final = 100
"""Trainings that succeeded kept per task, with reports: 15 kB the newest ten, or 5 to 7 kB."""
KEPT_FAILURES: Final = 20
"""Trainings that failed kept per task; they have a count of their own, to displace no others."""
KEPT_MODELS: Final = 3
"""Trainings whose model itself is kept: the serving one, and two to go back to by hand."""
MAY_BE_LOGGED: Final = 10
"""The newest trainings that succeeded: nobody may have logged them to MLflow yet."""
_TRACKED_CHARS: Final = 500
_AT_ONCE: Final = 20
"""A model is a few hundred kB of text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """One training as it is stored.

    row: numbers the store's trainings, later ones higher.
    at_s: Unix seconds, its end. failure: why it failed; None if it succeeded.
    version: of its model; None after a failure, or if there is no model.
    observations, runs, oom_kills: attempts, runs with a known need, and kills the task had when
        it began; None if not recorded.
    report: what it said about itself, by ``TrainingReport``'s names; a failed one knows less, an
        unreadable or absent one is empty.
    damage: why its model cannot be read. has_model: whether the model itself is still kept.
    tracked: the tracking server's name of it, or why the server does not want it; None while it
        is not logged.
    """

    row: int
    task: TaskId
    at_s: float
    failure: str | None = None
    version: str | None = None
    observations: int | None = None
    runs: int | None = None
    oom_kills: int | None = None
    report: Mapping[str, Any]
    damage: str | None = None
    has_model: bool = False
    tracked: str | None = None


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
class Begun:
    """A training that began. summary: the task's figures then, so that later runs count as new.

    claim: of a worker of a round; its results are kept once.
    newest: uid of the newest attempt that it learns from. Only what forgets the whole task takes it
        out of the store meanwhile. None if it is not known.
    """

    summary: TaskSummary
    claim: Claim | None = None
    newest: str | None = None


class TrainingRecords(Records):
    """The part of the store that tells how trainings went; errors as in ``Store``."""

    def newest(self, task: TaskId, *, limit: int = 20) -> list[Training]:
        """A task's last trainings, failed ones too, newest first; what is kept is bounded."""
        mine = _SELECT.where(table.c.task == str(task)).order_by(table.c.id.desc()).limit(limit)
        return [_training(row) for row in self._database.rows(mine)]

    def last(self, task: TaskId) -> Training | None:
        """The last training, failed or not."""
        return next(iter(self.newest(task, limit=1)), None)

    def untracked(self, *, limit: int = 20) -> list[Training]:
        """Trainings of any task that are not logged to a tracking server yet, oldest first."""
        waiting = _SELECT.where(table.c.tracked.is_(None)).order_by(table.c.id).limit(limit)
        return [_training(row) for row in self._database.rows(waiting)]

    def mark_tracked(self, row: int, words: str) -> None:
        """Note the server's name of a training, or why it is not wanted.

        A training that is forgotten needs no note.
        """
        noted = table.update().where(table.c.id == row).values(tracked=words[:_TRACKED_CHARS])
        self._database.execute(noted)

    def record_failure(
        self,
        task: TaskId,
        message: str,
        at_s: float,
        *,
        report: Mapping[str, Any] | None = None,
        claim: Claim | None = None,
    ) -> None:
        """Store why a training failed; the model before it serves on.

        report: its facts, by ``TrainingReport``'s names. claim: as in ``Begun``.
        """
        with self._database.write() as connection:
            if claim is not None:
                end_claimed(connection, claim, at_s, message)
            summary = summaries.summary(connection, task)
            results = {
                "failure": message[:FAILURE_CHARS],
                "report": None if report is None else _as_json(report, task),
            }
            _append(connection, summary, at_s, results)


class ModelRecords(Records):
    """The part of the store that models are read from; errors as in ``Store``."""

    def save(
        self,
        task: TaskId,
        model: Model | None,
        report: Mapping[str, Any],
        *,
        out_of_time_costs: Mapping[str, OutOfTimeCost] = MappingProxyType({}),
        began: Begun | None = None,
    ) -> None:
        """Keep a training's result; the model serves from now on.

        model: None if the training found that no model is of use yet.
        out_of_time_costs: expert -> its cost, from which the model's own experts start.
        began: None takes the task's figures of now.

        Raises:
            AlreadyEndedError: if another worker has ended it, or the task was forgotten since;
                nothing is kept then.
        """
        with self._database.write() as connection:
            if began is not None and began.claim is not None:
                end_claimed(connection, began.claim, self._clock())
            if began is not None and began.newest is not None:
                _check_stored(connection, task, began.newest)
            summary = began.summary if began else summaries.summary(connection, task)
            results = {
                # An older Plimsoll reads no model without an expert's name here.
                "champion": MAX_SEEN,
                "version": None if model is None else model.version,
                "report": _as_json(report, task),
                "model": None if model is None else _as_json(model.to_dict(), task),
            }
            _append(connection, summary, self._clock(), results)
            lesson = lessons.of_training(task, out_of_time_costs, bidders_of(model))
            lessons.append(connection, [lesson])

    def newest(self, task: TaskId) -> SavedModel | None:
        """The model of the last training that succeeded; None if there is none.

        A damaged one is None too; it is logged, and its row is marked, the first time.
        """
        succeeded = (table.c.task == str(task)) & table.c.failure.is_(None)
        last = sa.select(table).where(succeeded).order_by(table.c.id.desc()).limit(1)
        row = self._database.row(last)
        return None if row is None else self._readable(row)

    def serving(self) -> Iterator[tuple[TaskId, SavedModel]]:
        """The models of all tasks that have one, as ``newest`` gives them, a few at a time.

        Those trained last come last.
        """
        newest_ids = sa.select(sa.func.max(table.c.id)).where(table.c.failure.is_(None))
        ids = sorted(self._database.values(newest_ids.group_by(table.c.task)))
        for start in range(0, len(ids), _AT_ONCE):
            some = sa.select(table).where(table.c.id.in_(ids[start : start + _AT_ONCE]))
            for row in self._database.rows(some.order_by(table.c.id)):
                if (model := self._readable(row)) is not None:
                    yield TaskId.parse(row.task), model

    def _readable(self, row: sa.Row[Any]) -> SavedModel | None:
        try:
            model = None if row.model is None else Model.from_dict(orjson.loads(row.model))
            if row.version is not None and model is None:
                raise ModelError("the row has lost its model")
            report = training_reports.read(row.report)
            saved = SavedModel(model, report, row.at_s, row.runs, row.oom_kills)
        except (ModelError, ValueError, TypeError, KeyError) as error:
            reason = f"{type(error).__name__}: {error}"
            if row.damage is None:
                log.error(
                    "task %s: its model cannot be read and is set aside: %s", row.task, reason
                )
                self._mark(row, reason[:FAILURE_CHARS])
            return None
        if row.damage is not None:
            # It was an older Plimsoll that could not read it, such as one that people went back to.
            log.warning("task %s: its model can be read, and is marked no longer", row.task)
            self._mark(row, None)
        return saved

    def _mark(self, row: sa.Row[Any], damage: str | None) -> None:
        try:
            self._database.execute(table.update().where(table.c.id == row.id).values(damage=damage))
        except StoreError as error:
            # The next reader finds it out again.
            log.warning("task %s: its model's damage could not be noted: %s", row.task, error)


def _check_stored(connection: sa.Connection, task: TaskId, newest: str) -> None:
    its = observation_table.c.attempt_uid == newest
    if connection.execute(sa.select(observation_table.c.id).where(its)).first() is None:
        raise AlreadyEndedError(f"task {task}: it was forgotten while it was trained")


def _append(
    connection: sa.Connection, began: TaskSummary, at_s: float, results: Mapping[str, Any]
) -> None:
    """Add a training; older ones' reports are compressed, they lose their model, then their row.

    began: the task's figures when it began. results: the columns that tell how it went.
    """
    figures = {
        "task": str(began.task),
        "at_s": at_s,
        "observations": began.observations,
        "runs": began.runs_known,
        "oom_kills": began.oom_kills,
    }
    connection.execute(table.insert().values({**figures, **results}))
    mine = table.c.task == str(began.task)
    for done, most in (
        (table.c.failure.is_(None), KEPT_TRAININGS),
        (table.c.failure.is_not(None), KEPT_FAILURES),
    ):
        old = _older_than(mine & done, most)
        connection.execute(table.delete().where(mine & done & (table.c.id < old)))
    with_model = mine & table.c.model.is_not(None)
    stale = with_model & (table.c.id < _older_than(with_model, KEPT_MODELS))
    connection.execute(table.update().where(stale).values(model=None))
    _compress(connection, mine & table.c.failure.is_(None))


def _compress(connection: sa.Connection, succeeded: sa.ColumnElement[bool]) -> None:
    """Compress the reports of a task's trainings but for the newest. Most were so before.

    An older Plimsoll, after a rollback, cannot read them: so those that are not logged to MLflow
    yet stay as they are, unless they have waited for so long that nobody may ever log them.
    """
    plain = table.c.report.not_like(f"{training_reports.BEGINNING}%")
    is_logged = table.c.tracked.is_not(None) & (table.c.id < _older_than(succeeded, 1))
    older = succeeded & (is_logged | (table.c.id < _older_than(succeeded, MAY_BE_LOGGED)))
    for row in connection.execute(sa.select(table.c.id, table.c.report).where(older & plain)):
        smaller = table.update().where(table.c.id == row.id)
        connection.execute(smaller.values(report=training_reports.compressed(row.report)))


def _as_json(document: Mapping[str, Any], task: TaskId) -> str:
    """A model or a report as text; BadRecordError if it is not plain JSON."""
    try:
        return orjson.dumps(document, option=orjson.OPT_SERIALIZE_NUMPY).decode()
    except TypeError as error:
        raise BadRecordError(f"task {task}: model or report is not plain JSON ({error})") from error


def unknown(now_s: float) -> sa.ColumnElement[bool]:
    """The condition for old trainings of tasks without any observation."""
    observed = sa.select(observation_table.c.task).where(observation_table.c.task == table.c.task)
    return (table.c.at_s < now_s - UNKNOWN_TASKS_KEPT_S) & ~observed.exists()


def _older_than(condition: sa.ColumnElement[bool], most: int) -> sa.ScalarSelect[Any]:
    """The smallest id among the newest ``most`` rows."""
    newest_ids = (
        sa.select(table.c.id).where(condition).order_by(table.c.id.desc()).limit(most).subquery()
    )
    return sa.select(sa.func.min(newest_ids.c.id)).scalar_subquery()


_SELECT: Final[sa.Select[Any]] = sa.select(
    *(column for column in table.c if column.name not in {"model", "champion"}),
    table.c.model.is_not(None).label("has_model"),
)


def _training(row: sa.Row[Any]) -> Training:
    values = dict(row._mapping)
    return Training(
        row=values.pop("id"),
        task=TaskId.parse(values.pop("task")),
        report=_readable(values.pop("report")),
        has_model=bool(values.pop("has_model")),
        **values,
    )


def _readable(text: str | None) -> Mapping[str, Any]:
    try:
        report = training_reports.read(text or "{}")
    except ValueError:
        return {}
    return report if isinstance(report, dict) else {}
