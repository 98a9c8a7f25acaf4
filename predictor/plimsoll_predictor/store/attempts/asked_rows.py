"""What runs asked for, beside the log of sightings: kept until a sighting is folded.

A living run's is written with the sighting of its submission; an ended run's is in its
observation.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

import orjson
import sqlalchemy as sa

from plimsoll_predictor.runtimes.features.asked import Asked, numeric
from plimsoll_predictor.store.database.schema import forecaster as table
from plimsoll_predictor.store.database.schema import observations, sightings
from plimsoll_predictor.store.database.upsert import upsert

PREFIX: Final = "asked/"
_AT_ONCE: Final = 500


def put(connection: sa.Connection, asked: Mapping[str, Asked]) -> None:
    """Keep what runs asked for, by attempt uid."""
    rows = [
        {"key": PREFIX + uid, "state": orjson.dumps(each.to_dict())} for uid, each in asked.items()
    ]
    upsert(connection, table, rows)


def living(connection: sa.Connection, uids: Collection[str]) -> dict[str, Asked]:
    """What was kept of these; what cannot be read counts as nothing asked."""
    found: dict[str, Asked] = {}
    keys = [PREFIX + uid for uid in uids]
    for start in range(0, len(keys), _AT_ONCE):
        some = sa.select(table).where(table.c.key.in_(keys[start : start + _AT_ONCE]))
        for row in connection.execute(some):
            found[row.key.removeprefix(PREFIX)] = Asked.from_dict(_json(bytes(row.state)))
    return found


def ended(connection: sa.Connection, uids: Collection[str]) -> dict[str, Asked]:
    """What the observations of these say that they asked for."""
    column, asked, found = observations.c, list(uids), dict[str, Asked]()
    for start in range(0, len(asked), _AT_ONCE):
        some = sa.select(
            column.attempt_uid,
            column.features,
            column.requested_s,
            column.request_cores,
            column.request_bytes,
            column.submitted_cpu_share,
            column.submitted_waiting_pods,
        ).where(column.attempt_uid.in_(asked[start : start + _AT_ONCE]))
        for row in connection.execute(some):
            features = _json(row.features)
            found[row.attempt_uid] = Asked(
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
    of_runs = table.c.key.startswith(PREFIX)
    connection.execute(table.delete().where(of_runs & table.c.key.not_in(waiting)))


def _json(text: Any) -> Any:
    try:
        return orjson.loads(text or b"{}")
    except ValueError:
        return {}
