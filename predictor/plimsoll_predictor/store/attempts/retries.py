"""Retries, planned here before they are made: a restart in between finds and finishes them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Final

import sqlalchemy as sa

from plimsoll_predictor.core.bounded_text import bounded
from plimsoll_predictor.store.database.database import Records
from plimsoll_predictor.store.database.schema import retries as table
from plimsoll_predictor.store.database.upsert import insert_new

_MOST_RESULT_BYTES: Final = 256
"""An API server's refusal may repeat the pod; the row is kept for months."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryIntent:
    """A retry to be made of one attempt; at most one for each.

    attempt_uid: the attempt that was killed.
    pod, new_pod: its name, and the name of the pod that follows it.
    manifest: the new pod, as JSON, without what the killed pod still says.
    """

    attempt_uid: str
    namespace: str
    pod: str
    new_pod: str
    manifest: str
    planned_s: float


class RetryRecords(Records):
    """The part of the store that retries are planned in; errors as in ``Store``."""

    def plan(self, intent: RetryIntent) -> bool:
        """Keep that a retry is to be made; False if this attempt's retry was planned before.

        It does not matter whether the earlier one is open or closed.
        """
        with self._database.write() as connection:
            return bool(insert_new(connection, table, "attempt_uid", [asdict(intent)]))

    def waiting(self) -> list[RetryIntent]:
        """Retries planned and not closed, oldest first."""
        columns = [table.c[name] for name in RetryIntent.__dataclass_fields__]
        planned = (
            sa.select(*columns)
            .where(table.c.closed_s.is_(None))
            .order_by(table.c.planned_s, table.c.attempt_uid)
        )
        return [RetryIntent(**row._mapping) for row in self._database.rows(planned)]

    def close(self, attempt_uid: str, result: str) -> None:
        """Note what came of a planned retry.

        The row stays, without the manifest, so that none is planned again.
        """
        planned = (table.c.attempt_uid == attempt_uid) & table.c.closed_s.is_(None)
        closed = {
            "result": bounded(result, _MOST_RESULT_BYTES),
            "closed_s": self._clock(),
            "manifest": "",
        }
        self._database.execute(table.update().where(planned).values(closed))
