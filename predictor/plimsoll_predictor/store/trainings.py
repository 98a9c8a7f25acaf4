"""The trainings that are kept, for people: shown, and logged to a tracking server.

models.py writes the same table and reads from it what serves; nothing here needs a model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson
import sqlalchemy as sa

from plimsoll_predictor.store.schema import observations as observation_table
from plimsoll_predictor.store.schema import trainings as table
from plimsoll_predictor.task import TaskId

UNKNOWN_TASKS_KEPT_S: Final = 30 * 24 * 3600.0
"""Trainings of tasks without any observation, such as one whose name was mistyped."""
_TRACKED_CHARS: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """One training as it is kept.

    row: numbers the store's trainings, later ones higher.
    at_s: Unix seconds, its end. failure: why it failed; None if it succeeded.
    champion: who served after it, by name; version: of its model. Both None after a failure.
    observations, runs, oom_kills: attempts, runs with a known need, and kills the task had when
        it began; None if nobody said.
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
    champion: str | None = None
    version: str | None = None
    observations: int | None = None
    runs: int | None = None
    oom_kills: int | None = None
    report: Mapping[str, Any]
    damage: str | None = None
    has_model: bool = False
    tracked: str | None = None


def read(connection: sa.Connection, task: TaskId, limit: int) -> list[Training]:
    """A task's trainings, failed ones too, newest first."""
    mine = _select().where(table.c.task == str(task)).order_by(table.c.id.desc()).limit(limit)
    return [_training(row) for row in connection.execute(mine)]


def untracked(connection: sa.Connection, limit: int) -> list[Training]:
    """Trainings of any task that are not logged yet, oldest first."""
    waiting = _select().where(table.c.tracked.is_(None)).order_by(table.c.id).limit(limit)
    return [_training(row) for row in connection.execute(waiting)]


def mark_tracked(connection: sa.Connection, row: int, words: str) -> None:
    """Note the server's name of a training, or why it is not wanted; nothing if it is forgotten."""
    connection.execute(
        table.update().where(table.c.id == row).values(tracked=words[:_TRACKED_CHARS])
    )


def unknown(now_s: float) -> sa.ColumnElement[bool]:
    """Which rows are old trainings of tasks of which there is no observation."""
    known = sa.select(observation_table.c.task).where(observation_table.c.task == table.c.task)
    return (table.c.at_s < now_s - UNKNOWN_TASKS_KEPT_S) & ~known.exists()


def _select() -> sa.Select[Any]:
    columns = [column for column in table.c if column.name != "model"]
    return sa.select(*columns, table.c.model.is_not(None).label("has_model"))


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
