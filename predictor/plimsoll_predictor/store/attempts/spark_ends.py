"""Pods of Spark that ended, by which their applications' partitions become smaller."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any, Final

import orjson
import sqlalchemy as sa

from plimsoll_predictor.core.record import Outcome, is_lowered_limit
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.splitting.spark.steps import FEATURE, Ended, is_executors
from plimsoll_predictor.store.database.database import Records
from plimsoll_predictor.store.database.schema import observations as table

log: Final = logging.getLogger(__name__)

LOOKED_AT: Final = 50_000
"""Observations among which they are looked for, the newest."""


class SparkEndRecords(Records):
    """The part of the store that knows how pods of Spark ended; errors as of ``Store``."""

    def newest(self) -> Iterator[Ended]:
        """Return executors that were killed, and pods of applications that were given a step.

        Oldest first. Cost: a pass over the newest ``LOOKED_AT`` observations.
        """
        ids = sa.select(table.c.id).order_by(table.c.id.desc())
        first = ids.offset(LOOKED_AT).limit(1).scalar_subquery()
        recent = table.c.id > sa.func.coalesce(first, -1)
        given = table.c.features.contains(f'"{FEATURE}":', autoescape=True)
        killed = table.c.outcome == Outcome.OOM_KILLED.value
        of_spark = table.c.task.contains("/spark.", autoescape=True)
        columns = ("task", "outcome", "features", "allocation_bytes", "written_limit_bytes")
        found = sa.select(*(table.c[name] for name in columns))
        found = found.where(recent & (given | (killed & of_spark))).order_by(table.c.id)
        for row in self._database.rows(found):
            ended = _ended(row)
            if ended is not None and (FEATURE in ended.features or is_executors(ended.task)):
                yield ended


def _ended(row: sa.Row[Any]) -> Ended | None:
    """Return what a row tells; None of one that nobody can read."""
    try:
        return Ended(
            task=TaskId.parse(row.task),
            outcome=Outcome(row.outcome),
            features=orjson.loads(row.features),
            lowered=is_lowered_limit(row.allocation_bytes, row.written_limit_bytes),
        )
    except (TypeError, ValueError) as error:
        log.error("an attempt of %s cannot be read: %s", row.task, error)
        return None
