"""The experts' lessons: a log, written in the transactions that make things known.

The experts' state is a fold over it, so that it is the same whether they learn as it comes or,
after a restart, from where their saved state ends. Lessons go once that state is saved.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Any, Final

import orjson
import sqlalchemy as sa

from plimsoll_predictor.core.record import Features
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store.attempts import restarts
from plimsoll_predictor.store.database.schema import bids, lessons
from plimsoll_predictor.store.database.upsert import append_in_order
from plimsoll_predictor.training.out_of_time import OutOfTimeCost, times_of_max_seen

_ABSENT: Final = (
    "run",
    "attempt_uid",
    "need_bytes",
    "before_bytes",
    "cause",
    "allocation_bytes",
)
"""Columns that are null if a lesson says nothing about them."""


class LessonKind(StrEnum):
    """The kind of thing that became known."""

    ENDED = "ended"
    """A run's need."""
    EXCEEDED = "exceeded"
    """A run's need is more than it was given."""
    FAILED = "failed"
    """An attempt failed by itself."""
    PRESSED_OUT = "pressed-out"
    """A node short of memory ended an attempt below its request: that teaches no need."""
    CORRECTED = "corrected"
    """A run's need is not what it was taken for."""
    TRAINED = "trained"
    """The out-of-time costs of the experts by models."""
    UNKNOWN = "unknown"
    """Any other, which a newer Plimsoll wrote before people went back to this one."""

    @classmethod
    def _missing_(cls, _value: object) -> LessonKind:
        return cls.UNKNOWN


_NEEDS: Final = frozenset({LessonKind.ENDED, LessonKind.EXCEEDED})
"""An attempt has one of these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewLesson:
    """A lesson about to be written.

    need_bytes: the need; for EXCEEDED, the allocation that was too small; for PRESSED_OUT, the
        request that it ran under; above zero.
    before_bytes: for CORRECTED, what the need was taken for.
    runtime_s, request_bytes, image: None if not recorded.
    allocation_bytes: the limit that the attempt ran under; 0 if it had none, or is not recorded.
    lowered: whether that limit was lower than its author wrote.
    cause: of the attempt's end; empty if it succeeded, or it was not recorded.
    times: for TRAINED, expert by model -> its cost over that of max-seen on the same runs, None if
        that is not known; an expert that the model does not have is missing.
    """

    task: TaskId
    kind: LessonKind
    run: str = ""
    attempt_uid: str = ""
    need_bytes: int = 0
    before_bytes: int = 0
    runtime_s: float | None = None
    request_bytes: int | None = None
    image: str | None = None
    allocation_bytes: int = 0
    lowered: bool = False
    cause: str = ""
    features: Features = field(default_factory=dict)
    times: Mapping[str, float | None] = field(default_factory=dict)


_COLUMNS: Final = tuple(
    each.name for each in fields(NewLesson) if each.name not in ("features", "times")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson(NewLesson):
    """A lesson as it was written.

    serial: its place in the log. bids: what was bid for its attempt; None if no expert was asked.
    restart_s: for ENDED and EXCEEDED, from the kill of its run's attempt before to its own start;
        None if it followed no kill, or if that is unknown.
    """

    serial: int
    bids: Mapping[str, float] | None
    restart_s: float | None = None


def append(connection: sa.Connection, new: Sequence[NewLesson]) -> None:
    """Add lessons at the end of the log, in this order."""
    append_in_order(connection, lessons, [_row(each) for each in new])


# Made once: it runs whenever something was written, and making it costs more than running it.
_FOLLOWING: Final = (
    sa.select(lessons, bids.c.bids)
    .select_from(lessons.outerjoin(bids, bids.c.attempt_uid == lessons.c.attempt_uid))
    .where(lessons.c.serial > sa.bindparam("after"))
    .order_by(lessons.c.serial)
    .limit(sa.bindparam("most"))
)


def read(connection: sa.Connection, after: int, limit: int) -> list[Lesson]:
    """The lessons that follow the serial ``after``, in order."""
    following = connection.execute(_FOLLOWING, {"after": after, "most": limit})
    found = [_lesson(row) for row in following]
    uids = {each.attempt_uid for each in found if each.kind in _NEEDS}
    waited_s = restarts.waited_by(connection, uids) if uids else {}
    return [
        replace(each, restart_s=waited_s.get(each.attempt_uid)) if each.kind in _NEEDS else each
        for each in found
    ]


def forget(connection: sa.Connection, through: int) -> None:
    """Delete what was folded, and the bids that were charged by it."""
    folded = sa.select(lessons.c.attempt_uid).where(lessons.c.serial <= through)
    connection.execute(bids.delete().where(bids.c.attempt_uid.in_(folded)))
    connection.execute(lessons.delete().where(lessons.c.serial <= through))


def of_training(
    task: TaskId, costs: Mapping[str, OutOfTimeCost], bidders: Iterable[str]
) -> NewLesson:
    """The lesson of a training. bidders: the experts that its model has."""
    times = times_of_max_seen(costs, bidders)
    return NewLesson(task=task, kind=LessonKind.TRAINED, times=times)


def _row(new: NewLesson) -> dict[str, Any]:
    # Not by ``asdict``: its deep copies were half of what a lesson costs.
    row = {name: getattr(new, name) for name in _COLUMNS}
    row |= {"task": str(new.task), "kind": new.kind.value}
    document = dict(new.times if new.kind is LessonKind.TRAINED else new.features)
    absent = {name: row[name] or None for name in _ABSENT}
    absent["lowered"] = int(new.lowered)
    return row | absent | {"document": orjson.dumps(document).decode()}


def _lesson(row: sa.Row[Any]) -> Lesson:
    document = orjson.loads(row.document)
    trained = row.kind == LessonKind.TRAINED.value
    return Lesson(
        serial=row.serial,
        task=TaskId.parse(row.task),
        kind=LessonKind(row.kind),
        run=row.run or "",
        attempt_uid=row.attempt_uid or "",
        need_bytes=row.need_bytes or 0,
        before_bytes=row.before_bytes or 0,
        runtime_s=row.runtime_s,
        request_bytes=row.request_bytes,
        image=row.image,
        allocation_bytes=row.allocation_bytes or 0,
        lowered=bool(row.lowered),
        cause=row.cause or "",
        features={} if trained else document,
        times=document if trained else {},
        bids=None if row.bids is None else read_bids(row.bids),
    )


def read_bids(text: str) -> dict[str, float] | None:
    """Bids as they are stored; None if they cannot be read.

    An older version wrote null for a bid that was no number: it is left out.
    """
    try:
        bids = orjson.loads(text)
    except ValueError:
        return None
    if not isinstance(bids, dict):
        return None
    return {name: bid for name, bid in bids.items() if bid is not None}
