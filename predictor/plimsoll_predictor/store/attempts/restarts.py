"""How long runs waited from a kill to the start of their next attempt, if that has ended.

It is read from observations, as lessons are: the kill was written before the end of the attempt
that followed, so that the answer is the same after a crash.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from plimsoll_predictor.core.record import Outcome, PeakSource
from plimsoll_predictor.core.shared_keys import key_of
from plimsoll_predictor.store.attempts.runs import Run, given, of_given_runs
from plimsoll_predictor.store.database.schema import observations as table

MOST_ATTEMPTS: Final = 2_000
"""The most attempts that one query reads, the newest first: pods of one Job may share a run."""
CLOCKS_DIFFER_S: Final = 5.0
"""Two nodes' clocks differ by so much at most: the next attempt may seem to start before a kill."""
_KILLED: Final = table.c.outcome == Outcome.OOM_KILLED.value
_LATER: Final = (table.c.attempt > 1) | table.c.attempt_uid.contains("/")
_LIVE: Final = table.c.peak_source.is_distinct_from(PeakSource.IMPORTED.value)
_KILLED_OR_LATER: Final = sa.select(table).where((_KILLED | _LATER) & _LIVE)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptTimes:
    """One attempt of a run.

    serial: its place among all observations. life: of its pod, 0 unless it restarted in place.
    started_s, finished_s: Unix seconds; None where the cluster never said.
    """

    uid: str
    serial: int
    pod: str
    life: int
    number: int
    killed: bool
    started_s: float | None
    finished_s: float | None


def waited_s(attempt: AttemptTimes, others: Iterable[AttemptTimes]) -> float | None:
    """Seconds from the kill before an attempt to its start; None if it followed none.

    others: of its run. Only the first attempt that started after a kill followed it: pods of one
    Job may share a run. Attempts that became known later are left out, so the answer never changes.
    """
    known = [each for each in others if each.serial < attempt.serial]
    kills = [each for each in known if each.killed and _gap_s(each, attempt) is not None]
    kill = max(kills, key=lambda each: each.finished_s or 0.0, default=None)
    if kill is None:
        return None
    gap_s = _gap_s(kill, attempt)
    between = (other_s for each in known if (other_s := _gap_s(kill, each)) is not None)
    return None if gap_s is None or min(between, default=gap_s) < gap_s else max(gap_s, 0.0)


def waited_by(connection: sa.Connection, attempt_uids: Collection[str]) -> dict[str, float]:
    """Seconds from a kill to the start, for the attempts that followed one.

    Imported history is left out: it may be another cluster's. Costs one look at a unique index
    where no attempt is a run's second.
    """
    followers = table.c.attempt_uid.in_(attempt_uids) & table.c.started_s.is_not(None) & _LATER
    mine = connection.execute(sa.select(table).where(followers & _LIVE)).all()
    runs = {(row.task, run) for row in mine for run in (row.run, _run_of_kills(row))}
    if not runs:
        return {}
    dialect = connection.dialect.name
    newest = _KILLED_OR_LATER.order_by(table.c.id.desc()).limit(MOST_ATTEMPTS)
    attempts: defaultdict[Run, list[AttemptTimes]] = defaultdict(list)
    for row in connection.execute(of_given_runs(newest, dialect), given(runs, dialect)):
        attempts[row.task, _run_of_kills(row)].append(_times(row))
    return {
        each.uid: seconds
        for run in attempts.values()
        for each in run
        if each.uid in attempt_uids and (seconds := waited_s(each, run)) is not None
    }


def _run_of_kills(row: sa.Row[Any]) -> str:
    """The run in which the kills before an attempt are stored."""
    succeeded = row.outcome == Outcome.SUCCEEDED.value
    return key_of(row.run, row.attempt_uid) if succeeded else str(row.run)


def _gap_s(kill: AttemptTimes, attempt: AttemptTimes) -> float | None:
    """Seconds from the end of one to the start of the other; None unless that came after."""
    same_pod = kill.pod == attempt.pod
    later = kill.life < attempt.life if same_pod else kill.number < attempt.number
    if not later or kill.finished_s is None or attempt.started_s is None:
        return None
    gap_s = attempt.started_s - kill.finished_s
    return gap_s if gap_s >= -CLOCKS_DIFFER_S else None


def _times(row: sa.Row[Any]) -> AttemptTimes:
    pod, _, life = row.attempt_uid.partition("/")
    return AttemptTimes(
        uid=row.attempt_uid,
        serial=row.id,
        pod=pod,
        life=int(life[:9]) if life.isdecimal() else 0,
        number=row.attempt,
        killed=row.outcome == Outcome.OOM_KILLED.value,
        started_s=row.started_s,
        finished_s=row.finished_s,
    )
