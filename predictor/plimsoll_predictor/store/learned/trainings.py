"""The trainings that are kept, for people: shown, and logged to a tracking server.

models.py reads from the same table what serves; nothing here needs a model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson
import sqlalchemy as sa

from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import DAY_S
from plimsoll_predictor.store.attempts import summaries
from plimsoll_predictor.store.attempts.summaries import TaskSummary
from plimsoll_predictor.store.database.database import Records
from plimsoll_predictor.store.database.errors import BadRecordError
from plimsoll_predictor.store.database.schema import observations as observation_table
from plimsoll_predictor.store.database.schema import trainings as table

KEPT_TRAININGS: Final = 100
"""Trainings that succeeded kept per task, with their reports: some 16 kB each."""
KEPT_FAILURES: Final = 20
"""Trainings that failed kept per task; they have a count of their own, to displace no others."""
KEPT_MODELS: Final = 3
"""Trainings whose model itself is kept: the serving one, and two to go back to by hand."""
_FAILURE_CHARS: Final = 2_000
UNKNOWN_TASKS_KEPT_S: Final = 30 * DAY_S
"""Trainings of tasks without any observation, such as one whose name was mistyped."""
_TRACKED_CHARS: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """One training as it is kept.

    row: numbers the store's trainings, later ones higher.
    at_s: Unix seconds, its end. failure: why it failed; None if it succeeded.
    version: of its model; None after a failure, or if there is no model.
    observations, runs, oom_kills: attempts, runs with a known need, and kills the task had when
        it began; None if nobody recorded them.
    report: what it said of itself, by ``TrainingReport``'s names; a failed one knows less, an
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


class TrainingRecords(Records):
    """The part of the store that tells how trainings went; errors as of ``Store``."""

    def newest(self, task: TaskId, *, limit: int = 20) -> list[Training]:
        """A task's last trainings, failed ones too, newest first; what is kept is bounded."""
        mine = _SELECT.where(table.c.task == str(task)).order_by(table.c.id.desc()).limit(limit)
        return [_training(row) for row in self._database.rows(mine)]

    def last(self, task: TaskId) -> Training | None:
        """How the last training went, failed or not."""
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
        known: TaskSummary | None = None,
        report: Mapping[str, Any] | None = None,
    ) -> None:
        """Keep why a training failed; the model before it serves on.

        known: the task's figures when the training began; None takes those of now.
        report: what is known of it, by ``TrainingReport``'s names.
        """
        with self._database.write() as connection:
            began = known or summaries.summary(connection, task)
            results = {
                "failure": message[:_FAILURE_CHARS],
                "report": None if report is None else as_json(report, task),
            }
            append(connection, began, at_s, results)


def append(
    connection: sa.Connection, began: TaskSummary, at_s: float, results: Mapping[str, Any]
) -> None:
    """Add a training; older ones lose first their model, then their row.

    began: the task's figures when it began. results: the columns that tell how it went.
    """
    known = {
        "task": str(began.task),
        "at_s": at_s,
        "observations": began.observations,
        "runs": began.runs_known,
        "oom_kills": began.oom_kills,
    }
    connection.execute(table.insert().values({**known, **results}))
    mine = table.c.task == str(began.task)
    for done, kept in (
        (table.c.failure.is_(None), KEPT_TRAININGS),
        (table.c.failure.is_not(None), KEPT_FAILURES),
    ):
        old = _older_than(mine & done, kept)
        connection.execute(table.delete().where(mine & done & (table.c.id < old)))
    with_model = mine & table.c.model.is_not(None)
    stale = with_model & (table.c.id < _older_than(with_model, KEPT_MODELS))
    connection.execute(table.update().where(stale).values(model=None))


def set_aside(connection: sa.Connection, row: int, reason: str) -> None:
    """Mark a row whose model is damaged: it stays for inspection, and is not read again."""
    marked = table.update().where(table.c.id == row).values(damage=reason[:_FAILURE_CHARS])
    connection.execute(marked)


def as_json(document: Mapping[str, Any], task: TaskId) -> str:
    """A model or a report as text; BadRecordError if it is not plain JSON."""
    try:
        return orjson.dumps(document, option=orjson.OPT_SERIALIZE_NUMPY).decode()
    except TypeError as error:
        raise BadRecordError(f"task {task}: model or report is not plain JSON ({error})") from error


def unknown(now_s: float) -> sa.ColumnElement[bool]:
    """Which rows are old trainings of tasks of which there is no observation."""
    known = sa.select(observation_table.c.task).where(observation_table.c.task == table.c.task)
    return (table.c.at_s < now_s - UNKNOWN_TASKS_KEPT_S) & ~known.exists()


def _older_than(condition: sa.ColumnElement[bool], kept: int) -> sa.ScalarSelect[Any]:
    """The smallest id among the newest ``kept`` rows."""
    newest_ids = (
        sa.select(table.c.id).where(condition).order_by(table.c.id.desc()).limit(kept).subquery()
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
        report = orjson.loads(text or "{}")
    except ValueError:
        return {}
    return report if isinstance(report, dict) else {}
