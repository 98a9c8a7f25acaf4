"""What the experts are to learn: a log, written in the transactions that make things known.

The experts' state is a fold over it, so that it is the same whether they learn as it comes or,
after a restart, from where their saved state ends. Lessons go once that state is saved.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

import orjson
import sqlalchemy as sa

from plimsoll_predictor.core.record import Features
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.knowledge.expert_names import MAX_SEEN
from plimsoll_predictor.store.database.schema import bids, lessons
from plimsoll_predictor.store.database.upsert import append_in_order
from plimsoll_predictor.training.out_of_time import OutOfTimeCost


class LessonKind(StrEnum):
    """What became known."""

    ENDED = "ended"
    """A run's need."""
    EXCEEDED = "exceeded"
    """That a run's need is more than it was given."""
    CORRECTED = "corrected"
    """That a run needed something else than was taken for known."""
    TRAINED = "trained"
    """How the experts by models did out of time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewLesson:
    """A lesson about to be written.

    need_bytes: the need; of EXCEEDED, the allocation that was too small; above zero.
    before_bytes: of CORRECTED, what the need was taken for.
    runtime_s, request_bytes, image: None where nobody recorded it.
    times: of TRAINED, expert by model -> its cost over that of max-seen on the same runs, None if
        that is not known; an expert that the model does not have is missing.
    """

    task: TaskId
    kind: LessonKind
    run: str | None = None
    attempt_uid: str | None = None
    need_bytes: int | None = None
    before_bytes: int | None = None
    runtime_s: float | None = None
    request_bytes: int | None = None
    image: str | None = None
    features: str = "{}"
    times: Mapping[str, float | None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """A lesson as it was written; bids: what was bid for its attempt, None if nobody was asked.

    Fields as NewLesson's; serial: its place in the log.
    """

    serial: int
    task: TaskId
    kind: LessonKind
    run: str
    need_bytes: int
    before_bytes: int
    runtime_s: float | None
    request_bytes: int | None
    image: str | None
    features: Features
    times: Mapping[str, float | None]
    bids: Mapping[str, float] | None


def append(connection: sa.Connection, new: Sequence[NewLesson]) -> None:
    """Add lessons at the end of the log, in this order."""
    append_in_order(connection, lessons, [_row(each) for each in new])


def read(connection: sa.Connection, after: int, limit: int) -> list[Lesson]:
    """The lessons that follow the serial ``after``, in order."""
    found = (
        sa.select(lessons, bids.c.bids)
        .select_from(lessons.outerjoin(bids, bids.c.attempt_uid == lessons.c.attempt_uid))
        .where(lessons.c.serial > after)
        .order_by(lessons.c.serial)
        .limit(limit)
    )
    return [_lesson(row) for row in connection.execute(found)]


def forget(connection: sa.Connection, through: int) -> None:
    """Delete what was folded, and the bids that were charged by it."""
    folded = sa.select(lessons.c.attempt_uid).where(lessons.c.serial <= through)
    connection.execute(bids.delete().where(bids.c.attempt_uid.in_(folded)))
    connection.execute(lessons.delete().where(lessons.c.serial <= through))


def of_training(
    task: TaskId, costs: Mapping[str, OutOfTimeCost], bidders: Iterable[str]
) -> NewLesson:
    """What a training teaches; bidders: the experts its model has."""
    compared_with = costs.get(MAX_SEEN)
    safe_gb_h = compared_with.cost_gb_h if compared_with else 0.0
    times = {
        name: costs[name].cost_gb_h / safe_gb_h if name in costs and safe_gb_h else None
        for name in bidders
    }
    return NewLesson(task=task, kind=LessonKind.TRAINED, times=times)


def _row(new: NewLesson) -> dict[str, Any]:
    row = asdict(new) | {"task": str(new.task), "kind": new.kind.value}
    features, times = row.pop("features"), row.pop("times")
    return row | {"document": features if times is None else orjson.dumps(times).decode()}


def _lesson(row: sa.Row[Any]) -> Lesson:
    document = orjson.loads(row.document)
    trained = row.kind == LessonKind.TRAINED.value
    return Lesson(
        serial=row.serial,
        task=TaskId.parse(row.task),
        kind=LessonKind(row.kind),
        run=row.run or "",
        need_bytes=row.need_bytes or 0,
        before_bytes=row.before_bytes or 0,
        runtime_s=row.runtime_s,
        request_bytes=row.request_bytes,
        image=row.image,
        features={} if trained else document,
        times=document if trained else {},
        bids=None if row.bids is None else orjson.loads(row.bids),
    )
