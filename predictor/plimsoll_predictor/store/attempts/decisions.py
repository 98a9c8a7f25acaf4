"""The last decisions of each task, in words, for people; and what the experts bid for them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Final

import orjson
import sqlalchemy as sa

from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import DAY_S
from plimsoll_predictor.store.database.database import Records
from plimsoll_predictor.store.database.schema import bids as bid_table
from plimsoll_predictor.store.database.schema import decisions as table
from plimsoll_predictor.store.database.upsert import insert_new, upsert

DECISIONS_KEPT: Final = 100
UNKNOWN_TASKS_KEPT_S: Final = 30 * DAY_S
"""What is kept of tasks without any observation, such as of pods that never started."""
RESCUED: Final = "rescued"
"""The reason of a decision that raised a running attempt."""
_RESCUE: Final = "/rescue"
"""Ends such a decision's attempt UID, so the decision that sized the attempt is kept, too."""


def rescue_of(attempt_uid: str) -> str:
    """Return the UID by which the decision is kept that raised this attempt while it ran."""
    return f"{attempt_uid}{_RESCUE}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRecord:
    """The size that one attempt got, and the reason.

    allocation_bytes: None if the pod was left as it was written.
    bids: expert -> bytes that it would have given; they are kept apart, and not read back here.
    """

    task: TaskId
    attempt_uid: str
    at_s: float
    words: str
    allocation_bytes: int | None
    request_bytes: int | None
    reason: str
    bids: Mapping[str, float] = field(default_factory=dict)

    @property
    def is_rescue(self) -> bool:
        """Whether it raised an attempt that ran; else it sized one."""
        return self.reason == RESCUED

    @property
    def of_attempt(self) -> str:
        """The UID of the attempt that it sized or raised."""
        return self.attempt_uid.removesuffix(_RESCUE) if self.is_rescue else self.attempt_uid


class DecisionRecords(Records):
    """The part of the store that decisions are read from; errors as in ``Store``."""

    def newest(self, task: TaskId, *, limit: int = 10) -> list[DecisionRecord]:
        """A task's last decisions, newest first."""
        mine = sa.select(table).where(table.c.task == str(task))
        last = mine.order_by(table.c.at_s.desc(), table.c.attempt_uid).limit(limit)
        rows = self._database.rows(last)
        return [DecisionRecord(**{**row._mapping, "task": task}) for row in rows]


def put(connection: sa.Connection, decisions: Sequence[DecisionRecord], now_s: float) -> None:
    """Keep an attempt's latest decision, and its first bids."""
    rows = [asdict(each) | {"task": str(each.task)} for each in decisions]
    for row in rows:
        del row["bids"]
    upsert(connection, table, rows)
    bids = [
        {
            "attempt_uid": each.attempt_uid,
            "task": str(each.task),
            "bids": _as_json(each.bids),
            "put_s": now_s,
        }
        for each in decisions
        if each.bids
    ]
    insert_new(connection, bid_table, "attempt_uid", bids)


def _as_json(bids: Mapping[str, float]) -> str:
    # JSON has no NaN, and no reader should meet null.
    finite = {name: bid for name, bid in bids.items() if math.isfinite(bid)}
    return orjson.dumps(finite, option=orjson.OPT_SERIALIZE_NUMPY).decode()
