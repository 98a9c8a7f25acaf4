"""Pods of Spark that ended; by them, their applications' partitions become smaller."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any, Final

import orjson
import sqlalchemy as sa

from plimsoll_predictor.core.record import Cause, Outcome, is_lowered_limit
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.splitting.spark.steps import FEATURE, Ended, is_executors
from plimsoll_predictor.store.attempts.observation_rows import read_cause
from plimsoll_predictor.store.database.database import Records
from plimsoll_predictor.store.database.schema import observations as table

log: Final = logging.getLogger(__name__)

LOOKED_AT: Final = 50_000
"""The newest observations, in which they are looked for."""


class SparkEndRecords(Records):
    """The part of the store that knows how pods of Spark ended; errors as in ``Store``."""

    def newest(self) -> Iterator[Ended]:
        """Return executors that died of memory, and pods of applications that were given a step.

        Oldest first. Cost: a pass over the newest ``LOOKED_AT`` observations.
        """
        ids = sa.select(table.c.id).order_by(table.c.id.desc())
        first = ids.offset(LOOKED_AT).limit(1).scalar_subquery()
        recent = table.c.id > sa.func.coalesce(first, -1)
        given = table.c.features.contains(f'"{FEATURE}":', autoescape=True)
        full = table.c.cause.in_([each.value for each in Cause if each.is_own_heap])
        died = (table.c.outcome == Outcome.OOM_KILLED.value) | full
        of_spark = table.c.task.contains("/spark.", autoescape=True)
        columns = ("task", "outcome", "cause", "features", "allocation_bytes")
        found = sa.select(*(table.c[name] for name in (*columns, "written_limit_bytes")))
        found = found.where(recent & (given | (died & of_spark))).order_by(table.c.id)
        for row in self._database.rows(found):
            ended = _ended(row)
            if ended is not None and (FEATURE in ended.features or is_executors(ended.task)):
                yield ended


def _ended(row: sa.Row[Any]) -> Ended | None:
    """Return what a row says; None if it cannot be read."""
    try:
        return Ended(
            task=TaskId.parse(row.task),
            outcome=Outcome(row.outcome),
            features=orjson.loads(row.features),
            lowered=_is_lowered(row.allocation_bytes, row.written_limit_bytes),
            cause=read_cause(row.cause),
        )
    except (TypeError, ValueError) as error:
        log.error("an attempt of %s cannot be read: %s", row.task, error)
        return None


def _is_lowered(limit_bytes: int | None, written_bytes: int | None) -> bool:
    return written_bytes is not None and is_lowered_limit(limit_bytes, written_bytes)
