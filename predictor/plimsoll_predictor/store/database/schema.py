"""The store's tables. Migrations make them; a test compares both.

Types are those that SQLite and PostgreSQL share: bytes are 64-bit integers, times are Unix
seconds as doubles, documents are JSON text. Tasks are written as ``namespace/name``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import sqlalchemy as sa

from plimsoll_predictor.core.record import COLUMNS, Unit

NAMES: Final = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}
metadata: Final = sa.MetaData(naming_convention=NAMES)

RowId: Final = sa.BigInteger().with_variant(sa.Integer, "sqlite")
"""SQLite numbers rows by itself only in a column declared INTEGER."""

_STORED: Final[Mapping[Unit, type[sa.types.TypeEngine[Any]]]] = {
    Unit.BYTES: sa.BigInteger,
    Unit.CORES: sa.Double,
    Unit.SHARE: sa.Double,
    Unit.SECONDS: sa.Double,
    Unit.TIME: sa.Double,
    Unit.PODS: sa.Integer,
    Unit.EXIT_CODE: sa.Integer,
    Unit.TEXT: sa.Text,
}


def _required(kind: type[sa.types.TypeEngine[Any]], *names: str) -> Iterator[sa.Column[Any]]:
    return (sa.Column(name, kind, nullable=False) for name in names)


def _optional(kind: type[sa.types.TypeEngine[Any]], *names: str) -> Iterator[sa.Column[Any]]:
    return (sa.Column(name, kind) for name in names)


def _key(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text, primary_key=True)


def _serial(name: str) -> sa.Column[int]:
    return sa.Column(name, RowId, primary_key=True, autoincrement=True)


def _written_at() -> sa.Column[float]:
    """When the row was written, Unix seconds: what is old is found by it and forgotten."""
    return sa.Column("put_s", sa.Double, nullable=False, index=True)


def _index_where(name: str, condition: str, *columns: str) -> sa.Index:
    """An index of those rows that meet a condition."""
    where = sa.text(condition)
    return sa.Index(name, *columns, sqlite_where=where, postgresql_where=where)


observations: Final = sa.Table(
    "observations",
    metadata,
    _serial("id"),
    sa.Column("attempt_uid", sa.Text, nullable=False, unique=True),
    *_required(sa.Text, "task", "run"),
    *_required(sa.Integer, "attempt"),
    # When it ended, else started, else was submitted, else was recorded: the order of learning.
    *_required(sa.Double, "ordered_s"),
    *_required(sa.Text, "outcome", "features", "neighbours"),
    *_optional(sa.Text, "peak_source"),
    *(sa.Column(each.name, _STORED[each.unit]) for each in COLUMNS),
    # Share of the forecast it was given at submission that its runtime was not below.
    *_optional(sa.Double, "forecast_share"),
    sa.Index(None, "task", "ordered_s", "id"),
    sa.Index(None, "task", "run"),
    _index_where("ix_observations_items", "item IS NOT NULL", "ordered_s", "id"),
)

# What each task's observations add up to: sums, and the largest of some.
totals: Final = sa.Table(
    "totals",
    metadata,
    _key("task"),
    *_required(sa.BigInteger, "observations"),
    # Runs with a known need.
    *_required(sa.BigInteger, "runs_known", "oom_kills", "failed"),
    *_optional(sa.BigInteger, "max_need_bytes"),
    *_required(sa.Double, "requested_gb_h", "allocated_gb_h", "peak_gb_h"),
    *_optional(sa.Double, "last_finished_s"),
    # Of runs that succeeded, were timed and measured: sums, and over how many.
    *_required(sa.BigInteger, "used_runs"),
    *_required(sa.Double, "used_runtime_s", "request_bytes_sum"),
    *_required(sa.BigInteger, "request_bytes_count"),
    *_required(sa.Double, "used_bytes_sum", "request_cores_sum"),
    *_required(sa.BigInteger, "request_cores_count"),
    *_required(sa.Double, "used_cores_sum"),
    *_required(sa.BigInteger, "used_cores_count"),
    *_optional(sa.BigInteger, "most_bytes"),
    *_optional(sa.Double, "most_cores"),
    # CpuUse of its newest runs, as JSON; null if nobody measured.
    *_optional(sa.Text, "cpu"),
)

trainings: Final = sa.Table(
    "trainings",
    metadata,
    _serial("id"),
    *_required(sa.Text, "task"),
    *_required(sa.Double, "at_s"),
    *_optional(sa.Integer, "observations", "runs", "oom_kills"),
    # Why it failed; null if it succeeded, and then the columns below are filled.
    *_optional(sa.Text, "failure", "champion", "version", "report", "model"),
    # Why the model cannot be read; set by the first reader that found out.
    *_optional(sa.Text, "damage"),
    # The tracking server's name of it, or why it does not want it; null while it is not logged.
    *_optional(sa.Text, "tracked"),
    sa.Index(None, "task", "id"),
    sa.Index(None, "tracked", "id"),
    _index_where("ix_trainings_serving", "failure IS NULL", "task", "id"),
)

lifts: Final = sa.Table(
    "lifts",
    metadata,
    _key("task"),
    _key("run"),
    *_required(sa.BigInteger, "allocation_bytes"),
    *_required(sa.Integer, "attempt"),
    *_required(sa.BigInteger, "after_bytes"),
    _written_at(),
)

retries: Final = sa.Table(
    "retries",
    metadata,
    _key("attempt_uid"),
    *_required(sa.Text, "namespace", "pod", "new_pod", "manifest"),
    *_required(sa.Double, "planned_s"),
    *_optional(sa.Text, "result"),
    sa.Column("closed_s", sa.Double, index=True),
)

peaks: Final = sa.Table(
    "peaks",
    metadata,
    _key("pod_uid"),
    # Empty for the whole pod: a key cannot be null.
    _key("container_id"),
    *_required(sa.Text, "report"),
    _written_at(),
)

decisions: Final = sa.Table(
    "decisions",
    metadata,
    _key("attempt_uid"),
    *_required(sa.Text, "task"),
    *_required(sa.Double, "at_s"),
    *_required(sa.Text, "words"),
    *_optional(sa.BigInteger, "allocation_bytes", "request_bytes"),
    *_required(sa.Text, "reason"),
    sa.Index(None, "task", "at_s"),
)

# Tasks that were given a past from outside: a controller that runs already looks here.
imports: Final = sa.Table(
    "imports",
    metadata,
    _key("task"),
    sa.Column("serial", sa.BigInteger, nullable=False, index=True),
)

# What each expert bid for an attempt when it was decided, until its lesson is folded.
bids: Final = sa.Table(
    "bids",
    metadata,
    _key("attempt_uid"),
    *_required(sa.Text, "task", "bids"),
    _written_at(),
)

# What observations and trainings teach the experts, in the order it became known, until folded.
lessons: Final = sa.Table(
    "lessons",
    metadata,
    _serial("serial"),
    *_required(sa.Text, "task", "kind"),
    *_optional(sa.Text, "run", "attempt_uid"),
    *_optional(sa.BigInteger, "need_bytes"),
    # What a corrected need was taken for.
    *_optional(sa.BigInteger, "before_bytes"),
    *_optional(sa.Double, "runtime_s"),
    *_optional(sa.BigInteger, "request_bytes"),
    *_optional(sa.Text, "image"),
    # The run's features; of a training, what it found of the experts by models.
    *_required(sa.Text, "document"),
    # A serial is never given twice, though folded lessons are deleted.
    sqlite_autoincrement=True,
)

# The experts' state by task; under the empty name, what all tasks share.
standings: Final = sa.Table(
    "standings",
    metadata,
    _key("task"),
    *_required(sa.Text, "state"),
)

# What was seen of runs' times, in the order it became known, until folded into the forecaster.
sightings: Final = sa.Table(
    "sightings",
    metadata,
    _serial("serial"),
    *_required(sa.Text, "task", "kind", "attempt_uid"),
    *_required(sa.Double, "at_s"),
    *_optional(sa.Double, "runtime_s"),
    # A serial is never given twice, though folded sightings are deleted.
    sqlite_autoincrement=True,
)

# The forecaster's state in parts: "task/<namespace>/<name>", "owner/<namespace>", "shared"; and
# under "through" the last sighting folded into all of them.
forecaster: Final = sa.Table(
    "forecaster",
    metadata,
    _key("key"),
    *_required(sa.LargeBinary, "state"),
)

# The forecasts that open runs were given at their submission, to be scored at their end.
kept_forecasts: Final = sa.Table(
    "kept_forecasts",
    metadata,
    _key("attempt_uid"),
    *_required(sa.Text, "task"),
    _written_at(),
    *_optional(sa.Double, "started_s"),
    # When people heard that it runs long.
    *_optional(sa.Double, "told_s"),
    *_required(sa.Text, "forecast"),
    *_required(sa.LargeBinary, "state"),
)

# Shapes that were learned over all tasks, the newest few.
shape_catalogues: Final = sa.Table(
    "shape_catalogues",
    metadata,
    # How its runtimes are set beside the usual: "ratio" or "delta".
    _key("normalisation"),
    sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
    *_required(sa.Double, "made_s"),
    *_required(sa.Text, "document"),
)

# One row: the oldest step of the schema whose code may use this one (migrations/__init__.py).
compatibility: Final = sa.Table(
    "compatibility",
    metadata,
    _key("oldest"),
)
