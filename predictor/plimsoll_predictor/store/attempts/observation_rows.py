"""Observations: written once each, amended when more becomes known, read in learning order."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import orjson
import sqlalchemy as sa

from plimsoll_predictor.core.record import (
    COLUMNS,
    Cause,
    Features,
    Observation,
    Outcome,
    PeakSource,
)
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store.attempts import lessons, sightings, totals
from plimsoll_predictor.store.attempts.lessons import LessonKind, NewLesson
from plimsoll_predictor.store.attempts.outdated import outdated
from plimsoll_predictor.store.attempts.runs import Run, given, of_given_runs
from plimsoll_predictor.store.database.errors import BadRecordError
from plimsoll_predictor.store.database.schema import observations as table
from plimsoll_predictor.store.database.upsert import insert_new

_PLAIN: Final = tuple(each.name for each in COLUMNS)
"""Columns stored as they are; an amendment replaces each where it knows better."""
_TIMES: Final = ("finished_s", "started_s", "submitted_s")
_EMPTY: Final = {"features": "{}", "neighbours": "[]"}

_CAUSES: Final = frozenset(Cause)


@dataclass(frozen=True, slots=True)
class Recorded:
    """The changes that a write made, as uids of the observations written.

    new: those not seen before.
    learned: those by which a run's need became known; one for each such run, whether its
        observation is new or was amended with a peak that came late.
    revised: those written before with another end, and now as kills.
    """

    new: frozenset[str]
    learned: frozenset[str]
    revised: frozenset[str] = frozenset()


def record(
    connection: sa.Connection,
    observations: Sequence[Observation],
    now_s: float,
    *,
    history: bool = False,
) -> Recorded:
    """Write observations; a repeated uid amends the row it has.

    now_s: the time of an observation that has none. history: whether they may be older than what is
    stored; then they teach experts and forecasts only if not much newer is known.
    Raises BadRecordError for what no database can hold.
    """
    if not observations:
        return Recorded(frozenset(), frozenset())
    teaching = {_run(each): each for each in observations if _teaches_a_need(each)}
    uids, runs = {each.attempt_uid for each in observations}, {_run(each) for each in observations}
    before, added_up = _needs(connection, runs), totals.of_attempts(connection, uids)
    timed = sightings.timed(connection, uids)
    revisable = _revisable(connection, observations)
    past = [(each, ordered_s(each, now_s)) for each in observations if history]
    too_late = outdated(connection, past)
    new = _write(connection, observations, now_s)
    after = _needs(connection, runs)
    new_runs = Counter(task for task, _ in after.keys() - before.keys())
    totals.move(connection, added_up, totals.of_attempts(connection, uids), new_runs)
    taught = _lessons(observations, new | revisable, (before, after), now_s)
    lessons.append(connection, [each for each in taught if not _comes_late(each, too_late.needs)])
    ends = sightings.of_ends(observations, new, timed, sightings.timed(connection, uids))
    sightings.append(connection, sightings.without_runtimes(ends, too_late.runtimes))
    learned = {each.attempt_uid for run, each in teaching.items() if run in after.keys() - before}
    return Recorded(new, frozenset(learned), revisable - new)


def lessons_anew(
    connection: sa.Connection, task: TaskId, limit: int, now_s: float
) -> list[NewLesson]:
    """What the latest ``limit`` attempts of a task teach experts that know nothing of them."""
    stored = read(connection, task, limit)
    needs_bytes: dict[Run, int] = {}
    for each in stored:
        if _teaches_a_need(each):
            needs_bytes[_run(each)] = max(needs_bytes.get(_run(each), 0), each.peak_bytes or 0)
    uids = frozenset(each.attempt_uid for each in stored)
    return _lessons(stored, uids, ({}, needs_bytes), now_s)


def _lessons(
    observations: Sequence[Observation],
    new: frozenset[str],
    needs_bytes: tuple[Mapping[Run, int], Mapping[Run, int]],
    now_s: float,
) -> list[NewLesson]:
    """The experts' lessons, in the order in which they happened.

    new: uids not seen before, or not as kills.
    needs_bytes: of runs whose need is known, before and after.
    """
    before, after = needs_bytes
    taught: dict[tuple[str, ...], tuple[float, NewLesson]] = {}
    for each in observations:
        run, need = _run(each), each.need
        if each.failed_by_itself and each.attempt_uid in new:
            lesson = _lesson(each, LessonKind.FAILED, 0)
            taught[(each.attempt_uid,)] = (ordered_s(each, now_s), lesson)
        if each.was_pressed_out and each.attempt_uid in new:
            lesson = _lesson(each, LessonKind.PRESSED_OUT, each.request_memory_ran_bytes or 0)
            taught[(each.attempt_uid,)] = (ordered_s(each, now_s), lesson)
        if need is None:
            continue
        if need.censored:
            if each.attempt_uid in new and need.size_bytes > 0:
                lesson = _lesson(each, LessonKind.EXCEEDED, need.size_bytes)
                taught[(each.attempt_uid,)] = (ordered_s(each, now_s), lesson)
        elif (before_bytes := before.get(run, 0)) != after.get(run, 0) > 0:
            # A run is learned from once, however many observations of it come together.
            kind = LessonKind.CORRECTED if before_bytes > 0 else LessonKind.ENDED
            lesson = _lesson(each, kind, after[run], max(before_bytes, 0))
            taught[run] = (ordered_s(each, now_s), lesson)
    return [lesson for _, lesson in sorted(taught.values(), key=lambda pair: pair[0])]


def _comes_late(lesson: NewLesson, too_late: frozenset[str]) -> bool:
    return lesson.kind is not LessonKind.CORRECTED and lesson.attempt_uid in too_late


def _lesson(
    observation: Observation, kind: LessonKind, need_bytes: int, before_bytes: int = 0
) -> NewLesson:
    return NewLesson(
        task=observation.task,
        kind=kind,
        run=observation.run,
        attempt_uid=observation.attempt_uid,
        need_bytes=need_bytes,
        before_bytes=before_bytes,
        runtime_s=observation.runtime_s,
        request_bytes=observation.request_bytes,
        image=observation.image,
        allocation_bytes=observation.allocation_bytes or 0,
        lowered=observation.is_lowered,
        cause=observation.cause or "",
        features=_features(observation),
    )


def _run(observation: Observation) -> Run:
    return str(observation.task), observation.run


def _teaches_a_need(observation: Observation) -> bool:
    return observation.need is not None and not observation.need.censored


# Made once: it runs twice with every write, and making it costs more than running it.
@cache
def _needs_of_runs(dialect: str) -> sa.Select[Any]:
    needs = (
        sa.select(table.c.task, table.c.run, sa.func.max(table.c.peak_bytes).label("need_bytes"))
        .where((table.c.outcome == Outcome.SUCCEEDED.value) & table.c.peak_bytes.is_not(None))
        .group_by(table.c.task, table.c.run)
    )
    return of_given_runs(needs, dialect)


def _needs(connection: sa.Connection, runs: Iterable[Run]) -> dict[Run, int]:
    """The known needs of the runs: those with an attempt that succeeded and was measured."""
    dialect = connection.dialect.name
    needs = connection.execute(_needs_of_runs(dialect), given(runs, dialect))
    return {(row.task, row.run): row.need_bytes for row in needs}


def _revisable(connection: sa.Connection, observations: Sequence[Observation]) -> frozenset[str]:
    """The uids of kills that were written before as another end, and are revised now."""
    kills = {each.attempt_uid for each in observations if each.outcome is Outcome.OOM_KILLED}
    if not kills:
        return frozenset()
    written = sa.select(table.c.attempt_uid).where(
        table.c.attempt_uid.in_(kills) & (_taken_away | _killed)
    )
    return frozenset(connection.execute(written).scalars())


def _write(
    connection: sa.Connection, observations: Sequence[Observation], now_s: float
) -> frozenset[str]:
    first: dict[str, Observation] = {}
    for observation in observations:
        first.setdefault(observation.attempt_uid, observation)
    rows = [_row(observation, now_s) for observation in first.values()]
    new = insert_new(connection, table, "attempt_uid", rows)
    # By identity: of two observations of one attempt the first is new, the second amends it.
    inserted = {id(first[uid]) for uid in new}
    amendments = [_amendment(each) for each in observations if id(each) not in inserted]
    if amendments:
        connection.execute(_AMEND, amendments)
    return new


def read(connection: sa.Connection, task: TaskId, limit: int) -> list[Observation]:
    """The latest ``limit`` observations of a task, oldest first by their end."""
    latest = (
        sa.select(table)
        .where(table.c.task == str(task))
        .order_by(table.c.ordered_s.desc(), table.c.id.desc())
        .limit(limit)
    )
    rows = connection.execute(latest).mappings().all()
    return [_observation(row) for row in reversed(rows)]


def _row(observation: Observation, now_s: float) -> dict[str, Any]:
    return _changeable(observation) | {
        "attempt_uid": observation.attempt_uid,
        "task": str(observation.task),
        "run": observation.run,
        "attempt": observation.attempt,
        "ordered_s": ordered_s(observation, now_s),
    }


def _changeable(observation: Observation) -> dict[str, Any]:
    """The columns that an amendment may change."""
    source = observation.peak_source
    return {
        **{name: getattr(observation, name) for name in _PLAIN},
        **_documents(observation),
        "outcome": observation.outcome.value,
        "cause": None if observation.cause is None else observation.cause.value,
        "peak_source": None if source is None else source.value,
    }


def ordered_s(observation: Observation, now_s: float) -> float:
    """When it ended, or else the best guess, Unix seconds: observations are in this order."""
    times: list[float | None] = [getattr(observation, name) for name in _TIMES]
    return next((time for time in times if time is not None), now_s)


def _features(observation: Observation) -> Features:
    """The features without missing values: JSON has no NaN, and no other reader should meet one."""
    return {
        name: value
        for name, value in observation.features.items()
        if isinstance(value, str) or math.isfinite(value)
    }


def _documents(observation: Observation) -> dict[str, str | None]:
    beside = observation.beside
    try:
        return {
            "features": orjson.dumps(_features(observation)).decode(),
            "neighbours": orjson.dumps(observation.neighbours).decode(),
            "beside": None if beside is None else orjson.dumps(dict(beside)).decode(),
        }
    except TypeError as error:
        raise BadRecordError(
            f"attempt {observation.attempt_uid} of {observation.task}: its features are not "
            f"numbers and text ({error})"
        ) from error


def _better(name: str) -> sa.ColumnElement[Any]:
    return sa.func.coalesce(sa.bindparam(f"new_{name}", type_=table.c[name].type), table.c[name])


# When the last reading comes, a pod that was taken away may turn out to have ended before, and one
# that got SIGKILL to have been at its limit. No other end is revised.
_taken_away: Final = table.c.outcome == Outcome.DELETED.value
_killed: Final = (table.c.outcome == Outcome.FAILED.value) & (table.c.cause == Cause.KILLED.value)


def _amend() -> sa.Update:
    new_peak = sa.bindparam("new_peak_bytes", type_=sa.BigInteger)
    new_outcome = sa.bindparam("new_outcome", type_=sa.Text)
    new_cause = sa.bindparam("new_cause", type_=sa.Text)
    weak = _taken_away | (_killed & (new_outcome == Outcome.OOM_KILLED.value))
    values: dict[str, Any] = {name: _better(name) for name in _PLAIN}
    values |= {
        "outcome": sa.case((weak, new_outcome), else_=table.c.outcome),
        # The cause goes with the outcome that it explains.
        "cause": sa.case(
            (table.c.outcome == new_outcome, _better("cause")),
            (weak, new_cause),
            else_=table.c.cause,
        ),
        # The source goes with its peak.
        "peak_source": sa.case(
            (new_peak.is_not(None), sa.bindparam("new_peak_source", type_=sa.Text)),
            else_=table.c.peak_source,
        ),
        "ordered_s": sa.func.coalesce(
            *(
                part
                for name in _TIMES
                for part in (sa.bindparam(f"new_{name}", type_=sa.Double), table.c[name])
            ),
            table.c.ordered_s,
        ),
    }
    values |= {name: _better(name) for name in _EMPTY}
    # A later view of the same end, as after a restart, knows less about what ran beside it.
    new_beside = sa.bindparam("new_beside", type_=sa.Text)
    values["beside"] = sa.func.coalesce(table.c.beside, new_beside)
    return sa.update(table).where(table.c.attempt_uid == sa.bindparam("uid")).values(values)


_AMEND: Final = _amend()


def _amendment(observation: Observation) -> dict[str, Any]:
    new = {
        f"new_{name}": None if value == _EMPTY.get(name) else value
        for name, value in _changeable(observation).items()
    }
    return {"uid": observation.attempt_uid, **new}


def _observation(row: sa.RowMapping) -> Observation:
    source = row["peak_source"]
    return Observation(
        attempt_uid=row["attempt_uid"],
        task=TaskId.parse(row["task"]),
        run=row["run"],
        attempt=row["attempt"],
        features=orjson.loads(row["features"]),
        outcome=Outcome(row["outcome"]),
        peak_source=None if source is None else PeakSource(source),
        neighbours=tuple(orjson.loads(row["neighbours"])),
        beside=None if row["beside"] is None else orjson.loads(row["beside"]),
        **{name: row[name] for name in _PLAIN} | {"cause": read_cause(row["cause"])},
    )


def read_cause(text: str | None) -> Cause | None:
    """The cause of that name; None for a name that only a newer Plimsoll on this store knows."""
    return Cause(text) if text in _CAUSES else None
