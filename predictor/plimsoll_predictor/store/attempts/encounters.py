"""Finished runs with their nodes and neighbours, which placing learns from."""

from __future__ import annotations

import logging
import math
from typing import Any, Final

import orjson
import sqlalchemy as sa

from plimsoll_predictor.core.record import Outcome
from plimsoll_predictor.placing.placed_run import PlacedRun
from plimsoll_predictor.placing.stays import ENDED_KEPT, Stay
from plimsoll_predictor.store.database.database import Records
from plimsoll_predictor.store.database.schema import observations as table

log: Final = logging.getLogger(__name__)

NEWEST: Final = 5_000
"""The most runs: an older run counts a twelfth of a new one, or less."""
LOOKED_AT: Final = 8
"""So many observations are looked at for each run that is asked for: most may say nothing."""

_WHERE_AND_WHEN: Final = tuple(
    table.c[name] for name in ("attempt_uid", "task", "node", "started_s", "finished_s")
)
_TAUGHT: Final = (
    *_WHERE_AND_WHEN,
    *(table.c[each] for each in ("submitted_s", "forecast_s", "beside")),
)
_TEACHES: Final = (
    (table.c.outcome == Outcome.SUCCEEDED.value)
    & table.c.node.is_not(None)
    & table.c.beside.is_not(None)
    & table.c.forecast_s.is_not(None)
    & (table.c.finished_s >= table.c.started_s)
)


class EncounterRecords(Records):
    """The part of the store that placing learns from; errors as in ``Store``."""

    def newest(self, limit: int = NEWEST) -> list[PlacedRun]:
        """Return the newest runs that say what neighbours did to them, oldest first.

        Cost: a pass over the newest ``LOOKED_AT`` × limit observations, however many there are.
        """
        ids = sa.select(table.c.id).order_by(table.c.id.desc())
        first = ids.offset(LOOKED_AT * limit).limit(1).scalar_subquery()
        recent = table.c.id > sa.func.coalesce(first, -1)
        mine = sa.select(*_TAUGHT).where(recent & _TEACHES).order_by(table.c.id.desc()).limit(limit)
        found = [_placed_run(row) for row in self._database.rows(mine)]
        return [each for each in reversed(found) if each is not None]

    def newest_stays(self, limit: int = ENDED_KEPT) -> dict[str, Stay]:
        """Return the stays of the newest attempts that ended, by their UIDs.

        Cost: a pass over the newest ``limit`` observations.
        """
        newest = sa.select(*_WHERE_AND_WHEN).order_by(table.c.id.desc()).limit(limit)
        return {
            row.attempt_uid: Stay(row.node, row.task, row.started_s, row.finished_s)
            for row in reversed(self._database.rows(newest))
            if None not in (row.node, row.started_s, row.finished_s)
        }


def _placed_run(row: sa.Row[Any]) -> PlacedRun | None:
    try:
        beside = {
            str(kind): float(count)
            for kind, count in dict(orjson.loads(row.beside)).items()
            if 0 <= float(count) < math.inf
        }
    except (TypeError, ValueError) as error:
        log.error("what ran beside %s cannot be read: %s", row.attempt_uid, error)
        return None
    return PlacedRun(
        kind=row.task,
        node=row.node,
        submitted_s=row.submitted_s,
        started_s=row.started_s,
        finished_s=row.finished_s,
        forecast_s=row.forecast_s,
        beside=beside,
    )
