"""Trainings that are due, shared out among the workers of a round. Each ends once.

A piece of work waits, is part of a round, has ended, and is forgotten when the leader has read how.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

import orjson
import sqlalchemy as sa

from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store.database.database import Records
from plimsoll_predictor.store.database.errors import StoreError
from plimsoll_predictor.store.database.schema import due_trainings as table
from plimsoll_predictor.store.database.schema import totals
from plimsoll_predictor.store.database.upsert import insert_new

FAILURE_CHARS: Final = 2_000
_READ_AT_ONCE: Final = 500


class WorkKind(StrEnum):
    """What is learned. Shapes and features are learned from all tasks together."""

    MODEL = "model"
    SHAPES = "shapes"
    FEATURES = "features"


@dataclass(frozen=True, slots=True)
class Work:
    """What is trained. task: of a model; None for what is learned from all tasks."""

    kind: WorkKind
    task: TaskId | None = None

    def __post_init__(self) -> None:
        """Raise ValueError for a model of no task, or shapes of one."""
        if (self.kind is WorkKind.MODEL) != (self.task is not None):
            raise ValueError(
                f"{self.kind} of {self.task}: a model is of a task, and nothing else is"
            )

    @property
    def key(self) -> str:
        """The text that the store knows it by."""
        return self.kind.value if self.task is None else f"{self.kind.value} {self.task}"

    @classmethod
    def parse(cls, key: str) -> Work:
        """Inverse of ``key``; ValueError if it is none."""
        kind, _, task = key.partition(" ")
        return cls(WorkKind(kind), TaskId.parse(task) if task else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class DueTraining:
    """A training that is due. policy: of the task. killed: an OOM kill asks for it.

    since_s: Unix seconds. starts: how often a worker has begun it.
    """

    work: Work
    why: str
    since_s: float
    policy: Policy | None = None
    killed: bool = False
    starts: int = 0


@dataclass(frozen=True, slots=True)
class Claim:
    """A worker's right to end a piece of work, in the transaction that keeps what it learned."""

    work: Work
    round: str
    result: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedTraining:
    """How a training in a round ended. failure: None if it succeeded. duration_s: by the clock.

    again: why it is due once more.
    """

    due: DueTraining
    failure: str | None
    duration_s: float
    result: Mapping[str, Any]
    again: str | None = None


@dataclass(frozen=True, slots=True)
class Backlog:
    """How much is due. oldest_s: when the oldest that has not begun became due, Unix seconds.

    Work that waits in a round for its turn counts, too. starts: how often workers have begun work
    of the round, also in earlier rounds.
    """

    waiting: int = 0
    in_round: int = 0
    begun: int = 0
    starts: int = 0
    ended: int = 0
    oldest_s: float | None = None


class AlreadyEndedError(StoreError):
    """Another worker has ended this piece of work, its round is over, or its task was forgotten.

    Nothing was kept.
    """


class DueRecords(Records):
    """The part of the store for trainings that are due; errors as in ``Store``."""

    def ask(self, asked: Iterable[DueTraining], *, again: bool = True) -> None:
        """Note what is due. Waiting work keeps its place; begun work is due again after its end.

        again: False for what a leader finds due at its start: work that has begun covers it.
        """
        with self._database.write() as connection:
            for due in asked:
                _ask(connection, due, again)

    def take_policies(self, changed: Iterable[DueTraining]) -> None:
        """Give work that waits its task's policy of now; what does not wait any more is passed."""
        its = (table.c.work == sa.bindparam("its_work")) & table.c.round.is_(None)
        put = table.update().where(its).values(policy=sa.bindparam("its_policy"))
        rows = [
            {"its_work": due.work.key, "its_policy": _policy_text(due.policy)} for due in changed
        ]
        if rows:
            with self._database.write() as connection:
                connection.execute(put, rows)

    def plan(self, round_: str, most: int, shards: int) -> int:
        """Share the most urgent work out among the workers of a new round; return how much.

        The order: work after kills first, then where most memory-time is spare, then the oldest.
        Workers get it in turn, so that each begins with urgent work.
        """
        spare = sa.func.coalesce(totals.c.allocated_gb_h - totals.c.peak_gb_h, 0.0)
        urgent = (
            sa.select(table.c.work)
            .outerjoin(totals, totals.c.task == table.c.task)
            .where(table.c.round.is_(None))
            .order_by(table.c.killed.desc(), spare.desc(), table.c.since_s, table.c.work)
            .limit(most)
        )
        put = table.update().where(table.c.work == sa.bindparam("its_work"))
        put = put.values(
            round=round_,
            shard=sa.bindparam("its_shard"),
            place=sa.bindparam("at"),
            began_s=None,
        )
        with self._database.write() as connection:
            works = connection.execute(urgent).scalars().all()
            if works:
                shared = [
                    {"its_work": work, "its_shard": at % shards, "at": at // shards}
                    for at, work in enumerate(works)
                ]
                connection.execute(put, shared)
        return len(works)

    def round(self) -> str | None:
        """The round that is under way, or was when the last leader ended; None if none is."""
        name: str | None = self._database.value(
            sa.select(sa.func.min(table.c.round)).where(table.c.round.is_not(None))
        )
        return name

    def shard(self, round_: str, shard: int) -> list[DueTraining]:
        """What a worker is to do, in order, without what has ended."""
        mine = (table.c.round == round_) & (table.c.shard == shard) & table.c.ended_s.is_(None)
        rows = self._database.rows(sa.select(table).where(mine).order_by(table.c.place))
        return [_due(row) for row in rows]

    def begin(self, work: Work, round_: str) -> int:
        """Count a start; return how many there were. It is kept even if the worker dies then.

        Raises:
            AlreadyEndedError: if it has ended, or is not part of that round.
        """
        begun = (
            table.update()
            .where(_going(work, round_))
            .values(starts=table.c.starts + 1, began_s=self._clock())
            .returning(table.c.starts)
        )
        with self._database.write() as connection:
            starts: int | None = connection.execute(begun).scalar()
        if starts is None:
            raise _already(work)
        return starts

    def end(self, claim: Claim, failure: str | None = None) -> None:
        """Note that work without a task has ended; models and failures are kept with their ends.

        Raises:
            AlreadyEndedError: as ``begin`` does.
        """
        with self._database.write() as connection:
            end_claimed(connection, claim, self._clock(), failure)

    def ended(self) -> list[EndedTraining]:
        """What has ended and was not forgotten yet, a bounded number, the oldest first."""
        done = sa.select(table).where(table.c.ended_s.is_not(None)).order_by(table.c.ended_s)
        return [_ended(row) for row in self._database.rows(done.limit(_READ_AT_ONCE))]

    def forget_ended(self, ended: Sequence[EndedTraining]) -> None:
        """Forget what the leader has read; what is due again waits from now on."""
        with self._database.write() as connection:
            for each in ended:
                mine = (table.c.work == each.due.work.key) & table.c.ended_s.is_not(None)
                again = mine & table.c.again.is_not(None)
                connection.execute(table.delete().where(mine & table.c.again.is_(None)))
                fresh = {"why": table.c.again, "since_s": self._clock(), "starts": 0}
                connection.execute(table.update().where(again).values({**fresh, **_WAITS}))

    def forget(self, works: Iterable[Work]) -> None:
        """Forget waiting work, because somebody else trains it."""
        keys = [work.key for work in works]
        with self._database.write() as connection:
            for start in range(0, len(keys), _READ_AT_ONCE):
                some = table.c.work.in_(keys[start : start + _READ_AT_ONCE])
                connection.execute(table.delete().where(some & table.c.round.is_(None)))

    def waiting(self, limit: int) -> list[DueTraining]:
        """What waits for a round, the oldest first."""
        waits = sa.select(table).where(table.c.round.is_(None)).order_by(table.c.since_s)
        return [_due(row) for row in self._database.rows(waits.limit(limit))]

    def release(self, round_: str) -> int:
        """Let a round's unfinished work wait for the next one; return how much that is."""
        left = (table.c.round == round_) & table.c.ended_s.is_(None)
        back = table.update().where(left).values(round=None, shard=None, place=None)
        with self._database.write() as connection:
            return int(connection.execute(back).rowcount)

    def backlog(self) -> Backlog:
        """Return how much is due, and how far the round is."""
        waits, ended = table.c.round.is_(None), table.c.ended_s.is_not(None)
        begun = table.c.began_s.is_not(None) & ~waits
        figures: Mapping[str, sa.ColumnElement[Any]] = {
            "waiting": _count(waits),
            "in_round": _count(~waits),
            "begun": _count(begun),
            "starts": sa.func.coalesce(sa.func.sum(sa.case((~waits, table.c.starts))), 0),
            "ended": _count(ended),
            "oldest_s": sa.func.min(sa.case((waits | table.c.began_s.is_(None), table.c.since_s))),
        }
        row = self._database.row(sa.select(*(each.label(name) for name, each in figures.items())))
        return Backlog() if row is None else Backlog(**row._mapping)


def end_claimed(
    connection: sa.Connection, claim: Claim, now_s: float, failure: str | None = None
) -> None:
    """Note an end in the caller's transaction.

    Raises:
        AlreadyEndedError: if it has ended, or is not part of that round; undoes the transaction.
    """
    values = {
        "ended_s": now_s,
        "failure": None if failure is None else failure[:FAILURE_CHARS],
        "result": orjson.dumps(claim.result).decode(),
    }
    ending = table.update().where(_going(claim.work, claim.round)).values(values)
    if not connection.execute(ending).rowcount:
        raise _already(claim.work)


_WAITS: Final[Mapping[str, Any]] = dict.fromkeys(
    ("round", "shard", "place", "began_s", "ended_s", "failure", "result", "again")
)


def _ask(connection: sa.Connection, due: DueTraining, again: bool) -> None:
    row = {
        "work": due.work.key,
        "task": "" if due.work.task is None else str(due.work.task),
        "why": due.why,
        "policy": _policy_text(due.policy),
        "killed": int(due.killed),
        "starts": 0,
        "since_s": due.since_s,
    }
    if insert_new(connection, table, "work", [row]):
        return
    its = table.c.work == due.work.key
    values: dict[str, Any] = {"policy": row["policy"]}
    if due.killed:
        values["killed"] = 1
    connection.execute(table.update().where(its).values(values))
    if again:
        # Work that has not begun will learn from all that is known by then.
        begun = its & table.c.round.is_not(None) & table.c.began_s.is_not(None)
        connection.execute(table.update().where(begun).values(again=due.why))


def _policy_text(policy: Policy | None) -> str | None:
    return None if policy is None else json.dumps(policy.to_dict())


def _going(work: Work, round_: str) -> sa.ColumnElement[bool]:
    mine = (table.c.work == work.key) & (table.c.round == round_)
    return mine & table.c.ended_s.is_(None)


def _already(work: Work) -> AlreadyEndedError:
    return AlreadyEndedError(f"{work.key}: another worker has ended it, or its round is over")


def _count(condition: sa.ColumnElement[bool]) -> sa.ColumnElement[int]:
    return sa.func.coalesce(sa.func.sum(sa.case((condition, 1), else_=0)), 0)


def _due(row: sa.Row[Any]) -> DueTraining:
    return DueTraining(
        work=Work.parse(row.work),
        why=row.why,
        since_s=row.since_s,
        policy=None if row.policy is None else _policy(row.policy),
        killed=bool(row.killed),
        starts=row.starts,
    )


def _policy(text: str) -> Policy | None:
    """None for another version's, which this one cannot read: the defaults do."""
    try:
        return Policy.from_dict(json.loads(text))
    except (ValueError, TypeError, KeyError):
        return None


def _ended(row: sa.Row[Any]) -> EndedTraining:
    return EndedTraining(
        due=_due(row),
        failure=row.failure,
        duration_s=max(0.0, row.ended_s - (row.began_s or row.ended_s)),
        result=json.loads(row.result or "{}"),
        again=row.again,
    )
