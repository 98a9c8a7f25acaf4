"""Models and how their trainings went, one row per training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson
import sqlalchemy as sa

from plimsoll_predictor.knowledge import Expert
from plimsoll_predictor.model import Model, ModelError
from plimsoll_predictor.store.errors import BadRecordError
from plimsoll_predictor.store.schema import trainings as table
from plimsoll_predictor.task import TaskId

KEPT_TRAININGS: Final = 100
"""Trainings that succeeded kept per task, with their reports: some 16 kB each."""
KEPT_FAILURES: Final = 20
"""Trainings that failed kept per task; they have a count of their own, to displace no others."""
KEPT_MODELS: Final = 3
"""Trainings whose model itself is kept: the serving one, and two to go back to by hand."""
_FAILURE_CHARS: Final = 2_000
_EXPERTS: Final = frozenset(expert.value for expert in Expert)


@dataclass(frozen=True, slots=True)
class TrainingOutcome:
    """How one training went.

    failure: why it failed; None if it succeeded.
    observations, runs, oom_kills: attempts, runs with a known need, and kills the task had when
        its training began; None if nobody said.
    champion, version: None after a failure, or if unreadable.
    report: None if unreadable or nobody left one; a failed training's tells only how it began.
    version: None if there is no model.
    damage: why its model cannot be read; None while it can.
    """

    task: TaskId
    at_s: float
    failure: str | None = None
    observations: int | None = None
    runs: int | None = None
    oom_kills: int | None = None
    champion: Expert | None = None
    version: str | None = None
    report: Mapping[str, Any] | None = None
    damage: str | None = None


@dataclass(frozen=True, slots=True)
class SavedModel:
    """The newest model of a task.

    model: None if the training found that none is of use yet.
    runs, oom_kills: runs with a known need, and kills, the task had when its training began; None
        if nobody said.
    """

    model: Model | None
    champion: Expert
    report: Mapping[str, Any]
    trained_s: float
    runs: int | None = None
    oom_kills: int | None = None


@dataclass(frozen=True, slots=True)
class DamagedModel:
    """A row whose model cannot be read."""

    row_id: int
    reason: str


def save(connection: sa.Connection, outcome: TrainingOutcome, model: Model | None) -> None:
    """Add a training; older ones lose first their model, then their row."""
    connection.execute(
        table.insert().values(
            task=str(outcome.task),
            at_s=outcome.at_s,
            observations=outcome.observations,
            runs=outcome.runs,
            oom_kills=outcome.oom_kills,
            failure=None if outcome.failure is None else outcome.failure[:_FAILURE_CHARS],
            champion=None if outcome.champion is None else outcome.champion.value,
            version=outcome.version,
            report=None if outcome.report is None else _json(outcome.report, outcome.task),
            model=None if model is None else _json(model.to_dict(), outcome.task),
        )
    )
    mine = table.c.task == str(outcome.task)
    for done, kept in (
        (table.c.failure.is_(None), KEPT_TRAININGS),
        (table.c.failure.is_not(None), KEPT_FAILURES),
    ):
        old = _older_than(mine & done, kept)
        connection.execute(table.delete().where(mine & done & (table.c.id < old)))
    with_model = mine & table.c.model.is_not(None)
    stale = with_model & (table.c.id < _older_than(with_model, KEPT_MODELS))
    connection.execute(table.update().where(stale).values(model=None))


def newest(connection: sa.Connection, task: TaskId) -> SavedModel | DamagedModel | None:
    """The model of the last training that succeeded; None if there was none, or it is set aside."""
    row = connection.execute(
        sa.select(table)
        .where((table.c.task == str(task)) & table.c.failure.is_(None))
        .order_by(table.c.id.desc())
        .limit(1)
    ).one_or_none()
    return None if row is None else _saved(row)


def serving(connection: sa.Connection) -> list[int]:
    """The rows of the last trainings that succeeded, one for each task that has one."""
    newest_ids = sa.select(sa.func.max(table.c.id)).where(table.c.failure.is_(None))
    return list(connection.execute(newest_ids.group_by(table.c.task)).scalars())


def read(
    connection: sa.Connection, rows: Sequence[int]
) -> dict[TaskId, SavedModel | DamagedModel | None]:
    """What ``newest`` tells, of rows that ``serving`` named; those forgotten since are missing."""
    found = connection.execute(sa.select(table).where(table.c.id.in_(rows)))
    return {TaskId.parse(row.task): _saved(row) for row in found}


def _saved(row: sa.Row[Any]) -> SavedModel | DamagedModel | None:
    if row.damage is not None:
        return None
    try:
        model = None if row.model is None else Model.from_dict(orjson.loads(row.model))
        if row.version is not None and model is None:
            raise ModelError("the row has lost its model")
        champion, report = Expert(row.champion), orjson.loads(row.report)
    except (ModelError, ValueError, TypeError, KeyError) as error:
        return DamagedModel(row.id, f"{type(error).__name__}: {error}")
    return SavedModel(model, champion, report, row.at_s, row.runs, row.oom_kills)


def set_aside(connection: sa.Connection, damaged: DamagedModel) -> None:
    """Mark a damaged row, so that it is kept for inspection and not read again."""
    connection.execute(
        table.update()
        .where(table.c.id == damaged.row_id)
        .values(damage=damaged.reason[:_FAILURE_CHARS])
    )


def history(connection: sa.Connection, task: TaskId, limit: int) -> list[TrainingOutcome]:
    """Trainings that succeeded, newest first."""
    found = connection.execute(
        _outcomes().where((table.c.task == str(task)) & table.c.failure.is_(None)).limit(limit)
    )
    return [_outcome(row) for row in found]


def last(connection: sa.Connection, task: TaskId) -> TrainingOutcome | None:
    """The last training, failed or not."""
    row = connection.execute(_outcomes().where(table.c.task == str(task)).limit(1)).one_or_none()
    return None if row is None else _outcome(row)


def _outcomes() -> sa.Select[Any]:
    columns = [column for column in table.c if column.name != "model"]
    return sa.select(*columns).order_by(table.c.id.desc())


def _older_than(condition: sa.ColumnElement[bool], kept: int) -> sa.ScalarSelect[Any]:
    """The smallest id among the newest ``kept`` rows."""
    newest_ids = (
        sa.select(table.c.id).where(condition).order_by(table.c.id.desc()).limit(kept).subquery()
    )
    return sa.select(sa.func.min(newest_ids.c.id)).scalar_subquery()


def _outcome(row: sa.Row[Any]) -> TrainingOutcome:
    return TrainingOutcome(
        task=TaskId.parse(row.task),
        at_s=row.at_s,
        failure=row.failure,
        observations=row.observations,
        runs=row.runs,
        oom_kills=row.oom_kills,
        champion=Expert(row.champion) if row.champion in _EXPERTS else None,
        version=row.version,
        report=_readable(row.report),
        damage=row.damage,
    )


def _readable(text: str | None) -> Mapping[str, Any] | None:
    if text is None:
        return None
    try:
        report = orjson.loads(text)
    except ValueError:
        return None
    return report if isinstance(report, dict) else None


def _json(document: Mapping[str, Any], task: TaskId) -> str:
    try:
        return orjson.dumps(document, option=orjson.OPT_SERIALIZE_NUMPY).decode()
    except TypeError as error:
        raise BadRecordError(f"task {task}: model or report is not plain JSON ({error})") from error
