"""Peak reports from the agents, until the attempt they belong to has ended.

Reports are plain dicts here: their class belongs to the operator.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import orjson
import sqlalchemy as sa

from plimsoll_predictor.store.database.database import Records
from plimsoll_predictor.store.database.errors import BadRecordError
from plimsoll_predictor.store.database.schema import peaks as table
from plimsoll_predictor.store.database.upsert import upsert

_MAXIMA: Final = (
    "need_peak_bytes",
    "kernel_peak_bytes",
    "working_set_peak_bytes",
    "anon_peak_bytes",
    "cpu_s",
    "peak_cores",
    "measured_s",
)
"""Fields that only grow, so that reports which arrive twice or out of order do no harm."""
_AT_ONCE: Final = 500

Report = Mapping[str, Any]
Key = tuple[str, str]


class PeakRecords(Records):
    """The part of the store that holds the agents' reports; errors as in ``Store``."""

    def put(self, reports: Sequence[Report]) -> None:
        """Keep reports, as the function of this name does."""
        with self._database.write() as connection:
            put(connection, reports, self._clock())

    def of_pod(self, pod_uid: str) -> list[dict[str, Any]]:
        """A pod's reports: the whole pod's first, then its containers'."""
        mine = sa.select(table.c.report).where(table.c.pod_uid == pod_uid)
        texts = self._database.values(mine.order_by(table.c.container_id))
        return [orjson.loads(text) for text in texts]


def put(connection: sa.Connection, reports: Sequence[Report], now_s: float) -> None:
    """Keep reports (``PeakReport`` as a document), merged with what is kept of the same cgroup.

    Raises:
        BadRecordError: if a report has no ``pod_uid``, or is not plain JSON.
    """
    cgroups = {_key(report) for report in reports}
    merged = _stored(connection, {pod_uid for pod_uid, _ in cgroups})
    for report in reports:
        key = _key(report)
        merged[key] = _merge(merged[key], report) if key in merged else report
    rows = [
        {"pod_uid": pod, "container_id": container, "report": _json(report), "put_s": now_s}
        for (pod, container), report in merged.items()
        if (pod, container) in cgroups
    ]
    upsert(connection, table, rows)


# Made once: it runs with most writes, and making it costs more than running it.
_OF_PODS: Final = sa.select(table).where(table.c.pod_uid.in_(sa.bindparam("pods", expanding=True)))


def _stored(connection: sa.Connection, pods: Collection[str]) -> dict[Key, Report]:
    asked, found = list(pods), dict[Key, Report]()
    for start in range(0, len(asked), _AT_ONCE):
        for row in connection.execute(_OF_PODS, {"pods": asked[start : start + _AT_ONCE]}):
            found[row.pod_uid, row.container_id] = orjson.loads(row.report)
    return found


def _key(report: Report) -> Key:
    pod_uid = report.get("pod_uid")
    if not isinstance(pod_uid, str) or not pod_uid:
        raise BadRecordError(
            f"a peak report names no pod (its keys: {', '.join(map(str, report))})"
        )
    return pod_uid, str(report.get("container_id") or "")


def _merge(old: Report, new: Report) -> Report:
    later = new if (new.get("measured_s") or 0) >= (old.get("measured_s") or 0) else old
    merged = {**old, **new, "limit_bytes": later.get("limit_bytes")}
    for name in _MAXIMA:
        values = [report[name] for report in (old, new) if report.get(name) is not None]
        if values:
            merged[name] = max(values)
    merged["final"] = bool(old.get("final")) or bool(new.get("final"))
    return merged


def _json(report: Report) -> str:
    try:
        return orjson.dumps(dict(report)).decode()
    except TypeError as error:
        raise BadRecordError(f"peak report of pod {report['pod_uid']}: {error}") from error
