"""What runs asked for, beside the log of sightings: kept until a sighting is folded.

A living run's is written with the sighting of its submission; an ended run's is in its
observation.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

import orjson
import sqlalchemy as sa

from plimsoll_predictor.runtimes.features.asked import AskedRun, numeric
from plimsoll_predictor.store.database.schema import forecaster as table
from plimsoll_predictor.store.database.schema import observations, sightings
from plimsoll_predictor.store.database.upsert import upsert

PREFIX: Final = "asked/"
_AFTER: Final = "asked0"
"""The first key that follows all with the prefix: a 0 follows the slash."""
_AT_ONCE: Final = 500


# Made once: it runs whenever a run was seen, and making it costs more than running it.
_KEPT: Final = sa.select(table).where(table.c.key.in_(sa.bindparam("keys", expanding=True)))
_ENDED: Final = sa.select(
    *(observations.c.attempt_uid, observations.c.features, observations.c.requested_s),
    *(observations.c.request_cores, observations.c.request_bytes),
    *(observations.c.submitted_cpu_share, observations.c.submitted_waiting_pods),
).where(observations.c.attempt_uid.in_(sa.bindparam("of_uids", expanding=True)))


def put(connection: sa.Connection, asked: Mapping[str, AskedRun]) -> None:
    """Keep what runs asked for, by attempt uid."""
    rows = [
        {"key": PREFIX + uid, "state": orjson.dumps(each.to_dict())} for uid, each in asked.items()
    ]
    upsert(connection, table, rows)


def living(connection: sa.Connection, uids: Collection[str]) -> dict[str, AskedRun]:
    """What was kept of these; an unreadable row counts as nothing asked."""
    found: dict[str, AskedRun] = {}
    keys = [PREFIX + uid for uid in uids]
    for start in range(0, len(keys), _AT_ONCE):
        for row in connection.execute(_KEPT, {"keys": keys[start : start + _AT_ONCE]}):
            found[row.key.removeprefix(PREFIX)] = AskedRun.from_dict(_json(bytes(row.state)))
    return found


def ended(connection: sa.Connection, uids: Collection[str]) -> dict[str, AskedRun]:
    """What these asked for, by their observations."""
    asked, found = list(uids), dict[str, AskedRun]()
    for start in range(0, len(asked), _AT_ONCE):
        for row in connection.execute(_ENDED, {"of_uids": asked[start : start + _AT_ONCE]}):
            features = _json(row.features)
            found[row.attempt_uid] = AskedRun(
                requested_s=row.requested_s,
                processors=row.request_cores,
                requested_bytes=row.request_bytes,
                busy=row.submitted_cpu_share,
                queued=row.submitted_waiting_pods,
                features=numeric(features if isinstance(features, Mapping) else {}),
            )
    return found


def forget_folded(connection: sa.Connection) -> None:
    """Delete what no sighting waits for."""
    waiting = sa.select(sa.literal(PREFIX) + sightings.c.attempt_uid)
    of_runs = _of_runs(connection.dialect.name)
    connection.execute(table.delete().where(of_runs & table.c.key.not_in(waiting)))


def _of_runs(dialect: str) -> sa.ColumnElement[bool]:
    if dialect == "sqlite":
        # Its index finds a range of keys, but no prefix.
        return (table.c.key >= PREFIX) & (table.c.key < _AFTER)
    # PostgreSQL may order keys by a language, in which those of runs are no range.
    return table.c.key.startswith(PREFIX)


def _json(text: Any) -> Any:
    try:
        return orjson.loads(text or b"{}")
    except ValueError:
        return {}
