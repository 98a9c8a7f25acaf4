"""Sightings of runs' times: a log, written in the transactions that make things known.

The forecaster's state is a fold over it, so that it is the same whether it learns as things come
or, after a restart, from where its saved state ends. Sightings go once that state is saved.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

import sqlalchemy as sa

from plimsoll_predictor.core.record import Observation, Outcome
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.runtimes.features.asked import AskedRun
from plimsoll_predictor.store.attempts import asked_rows
from plimsoll_predictor.store.database.schema import observations
from plimsoll_predictor.store.database.schema import sightings as table
from plimsoll_predictor.store.database.upsert import append_in_order

_AT_ONCE: Final = 500

Times = tuple[float, float]
"""When an attempt started and finished, Unix seconds."""


class SightingKind(StrEnum):
    """The event in an attempt's life that was seen."""

    SUBMITTED = "submitted"
    """It exists and has not ended."""
    STARTED = "started"
    FINISHED = "finished"
    """It succeeded, and its start and end are known, and so its runtime."""
    GONE = "gone"
    """It ended, and left no runtime."""
    UNKNOWN = "unknown"
    """Any other, which a newer Plimsoll wrote before people went back to this one."""

    @classmethod
    def _missing_(cls, _value: object) -> SightingKind:
        return cls.UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSighting:
    """A sighting about to be written.

    at_s: when it happened, Unix seconds. runtime_s: for FINISHED only. asked: what is known of the
    run beforehand, for SUBMITTED and FINISHED; None where nobody said.
    """

    task: TaskId
    kind: SightingKind
    attempt_uid: str
    at_s: float
    runtime_s: float | None = None
    asked: AskedRun | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting(NewSighting):
    """A sighting as it was written. serial: its place in the log."""

    serial: int


def append(connection: sa.Connection, new: Sequence[NewSighting]) -> None:
    """Add sightings at the end of the log, in this order."""
    append_in_order(connection, table, [_row(each) for each in new])
    asked = {each.attempt_uid: each.asked for each in new if each.asked is not None}
    if asked:
        asked_rows.put(connection, asked)


# Made once, as ``_TIMED``: it runs whenever something was written.
_FOLLOWING: Final = (
    sa.select(table)
    .where(table.c.serial > sa.bindparam("after"))
    .order_by(table.c.serial)
    .limit(sa.bindparam("most"))
)


def read(connection: sa.Connection, after: int, limit: int) -> list[Sighting]:
    """The sightings that follow the serial ``after``, in order."""
    following = connection.execute(_FOLLOWING, {"after": after, "most": limit})
    found = [_sighting(row) for row in following.mappings()]
    living, ended = _uids(found, SightingKind.SUBMITTED), _uids(found, SightingKind.FINISHED)
    asked = asked_rows.ended(connection, ended) | asked_rows.living(connection, living)
    return [
        replace(each, asked=asked.get(each.attempt_uid)) if each.kind in _ASKING else each
        for each in found
    ]


def forget(connection: sa.Connection, through: int) -> None:
    """Delete what was folded."""
    connection.execute(table.delete().where(table.c.serial <= through))
    asked_rows.forget_folded(connection)


def repeat_newest(connection: sa.Connection, per_task: int) -> None:
    """Put the ends of each task's newest runs in place of the whole log.

    Open runs are seen again while they live. Cost: a pass over all observations.
    """
    column = observations.c
    runtime_s = column.finished_s - column.started_s
    newest_first = (column.ordered_s.desc(), column.id.desc())
    age = sa.func.row_number().over(partition_by=column.task, order_by=newest_first)
    past = (
        sa.select(
            *(column.task, column.attempt_uid, column.finished_s, column.ordered_s, column.id),
            runtime_s.label("runtime_s"),
            age.label("age"),
        )
        .where((column.outcome == Outcome.SUCCEEDED.value) & (runtime_s >= 0))
        .subquery()
    )
    kind = sa.literal(SightingKind.FINISHED.value)
    repeated = (
        sa.select(past.c.task, kind, past.c.attempt_uid, past.c.finished_s, past.c.runtime_s)
        .where(past.c.age <= per_task)
        .order_by(past.c.ordered_s, past.c.id)
    )
    connection.execute(table.delete())
    names = ("task", "kind", "attempt_uid", "at_s", "runtime_s")
    connection.execute(table.insert().from_select(names, repeated))


# Made once: it runs twice with every write, and making it costs more than running it.
_TIMED: Final = sa.select(
    observations.c.attempt_uid, observations.c.started_s, observations.c.finished_s
).where(
    observations.c.attempt_uid.in_(sa.bindparam("of_uids", expanding=True))
    & (observations.c.outcome == Outcome.SUCCEEDED.value)
    & (observations.c.finished_s >= observations.c.started_s)
)


def timed(connection: sa.Connection, uids: Collection[str]) -> dict[str, Times]:
    """When the attempts with a known runtime started and finished."""
    asked = list(uids)
    times: dict[str, Times] = {}
    for start in range(0, len(asked), _AT_ONCE):
        for row in connection.execute(_TIMED, {"of_uids": asked[start : start + _AT_ONCE]}):
            times[row.attempt_uid] = (row.started_s, row.finished_s)
    return times


def of_ends(
    written: Sequence[Observation],
    new: Collection[str],
    before: Mapping[str, Times],
    after: Mapping[str, Times],
) -> list[NewSighting]:
    """The ends of runs that observations show, each end once, in the order of time.

    new: uids not seen before. before, after: what ``timed`` gave before and after the write: an
    amended row may know what neither of its two writes says alone.
    """
    runtime_s: float | None
    ends: list[NewSighting] = []
    for uid, each in {each.attempt_uid: each for each in written}.items():
        if uid in after and uid not in before:
            started_s, at_s = after[uid]
            kind, runtime_s = SightingKind.FINISHED, at_s - started_s
        elif uid in new and uid not in after:
            at_s = each.finished_s or each.started_s or each.submitted_s or 0.0
            kind, runtime_s = SightingKind.GONE, None
        else:
            continue
        ends.append(
            NewSighting(task=each.task, kind=kind, attempt_uid=uid, at_s=at_s, runtime_s=runtime_s)
        )
    return sorted(ends, key=lambda end: end.at_s)


def without_runtimes(ends: Sequence[NewSighting], uids: Collection[str]) -> list[NewSighting]:
    """The ends of runs, of which these attempts teach no runtime: they are gone, and no more."""
    return [
        replace(end, kind=SightingKind.GONE, runtime_s=None) if end.attempt_uid in uids else end
        for end in ends
    ]


def _row(new: NewSighting) -> dict[str, Any]:
    return {
        "task": str(new.task),
        "kind": new.kind.value,
        "attempt_uid": new.attempt_uid,
        "at_s": new.at_s,
        "runtime_s": new.runtime_s,
    }


def _uids(found: Sequence[Sighting], kind: SightingKind) -> list[str]:
    return [each.attempt_uid for each in found if each.kind is kind]


_ASKING: Final = (SightingKind.SUBMITTED, SightingKind.FINISHED)
"""Sightings that are read together with what was asked for."""


def _sighting(row: sa.RowMapping) -> Sighting:
    kind = SightingKind(row["kind"])
    return Sighting(**{**row, "task": TaskId.parse(row["task"]), "kind": kind})
