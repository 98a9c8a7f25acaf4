"""The last decisions of each task, in words, for people; and what the experts bid for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Final

import orjson
import sqlalchemy as sa

from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store.database.database import Records
from plimsoll_predictor.store.database.schema import bids as bid_table
from plimsoll_predictor.store.database.schema import decisions as table
from plimsoll_predictor.store.database.upsert import insert_new, upsert

KEPT_PER_TASK: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRecord:
    """What one attempt got, and why. allocation_bytes: None if it was left as it was."""

    task: TaskId
    attempt_uid: str
    at_s: float
    words: str
    allocation_bytes: int | None
    request_bytes: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class Decided:
    """What an attempt got, and what each expert would have given it, in bytes."""

    record: DecisionRecord
    bids: Mapping[str, float] = field(default_factory=dict)


class DecisionRecords(Records):
    """The part of the store that tells people of decisions; errors as of ``Store``."""

    def put(self, decision: DecisionRecord, bids: Mapping[str, float] | None = None) -> None:
        """Keep what an attempt got, and why; a later decision for it replaces this one.

        bids: expert -> bytes it would have given; what is kept of an attempt stays.
        """
        with self._database.write() as connection:
            put(connection, [Decided(decision, bids or {})], self._clock())

    def newest(self, task: TaskId, *, limit: int = 10) -> list[DecisionRecord]:
        """A task's last decisions, newest first."""
        mine = sa.select(table).where(table.c.task == str(task))
        last = mine.order_by(table.c.at_s.desc(), table.c.attempt_uid).limit(limit)
        rows = self._database.rows(last)
        return [DecisionRecord(**{**row._mapping, "task": task}) for row in rows]


def put(connection: sa.Connection, decided: Sequence[Decided], now_s: float) -> None:
    """Keep decisions, a later one in place of an earlier; and what was bid, the first to come."""
    records = [asdict(each.record) | {"task": str(each.record.task)} for each in decided]
    upsert(connection, table, records)
    bids = [
        {
            "attempt_uid": each.record.attempt_uid,
            "task": str(each.record.task),
            "bids": orjson.dumps(dict(each.bids), option=orjson.OPT_SERIALIZE_NUMPY).decode(),
            "put_s": now_s,
        }
        for each in decided
        if each.bids
    ]
    insert_new(connection, bid_table, "attempt_uid", bids)
