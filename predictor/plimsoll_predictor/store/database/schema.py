"""The store's tables. Migrations make them; a test compares both.

Types are those that SQLite and PostgreSQL share: bytes are 64-bit integers, times are Unix
seconds as doubles, documents are JSON text. Tasks are written as ``namespace/name``.
"""

from __future__ import annotations

from collections.abc import Mapping
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

observations: Final = sa.Table(
    "observations",
    metadata,
    sa.Column("id", RowId, primary_key=True, autoincrement=True),
    sa.Column("attempt_uid", sa.Text, nullable=False, unique=True),
    sa.Column("task", sa.Text, nullable=False),
    sa.Column("run", sa.Text, nullable=False),
    sa.Column("attempt", sa.Integer, nullable=False),
    # When it ended, else started, else was submitted, else was recorded: the order of learning.
    sa.Column("ordered_s", sa.Double, nullable=False),
    sa.Column("outcome", sa.Text, nullable=False),
    sa.Column("features", sa.Text, nullable=False),
    sa.Column("neighbours", sa.Text, nullable=False),
    sa.Column("peak_source", sa.Text),
    *(sa.Column(each.name, _STORED[each.unit]) for each in COLUMNS),
    # Share of the forecast it was given at submission that its runtime was not below.
    sa.Column("forecast_share", sa.Double),
    sa.Index(None, "task", "ordered_s", "id"),
    sa.Index(None, "task", "run"),
    sa.Index(
        "ix_observations_items",
        "ordered_s",
        "id",
        sqlite_where=sa.text("item IS NOT NULL"),
        postgresql_where=sa.text("item IS NOT NULL"),
    ),
)

# What each task's observations add up to: sums, and the largest of some.
totals: Final = sa.Table(
    "totals",
    metadata,
    sa.Column("task", sa.Text, primary_key=True),
    sa.Column("observations", sa.BigInteger, nullable=False),
    # Runs with a known need.
    sa.Column("runs_known", sa.BigInteger, nullable=False),
    sa.Column("oom_kills", sa.BigInteger, nullable=False),
    sa.Column("failed", sa.BigInteger, nullable=False),
    sa.Column("max_need_bytes", sa.BigInteger),
    sa.Column("requested_gb_h", sa.Double, nullable=False),
    sa.Column("allocated_gb_h", sa.Double, nullable=False),
    sa.Column("peak_gb_h", sa.Double, nullable=False),
    sa.Column("last_finished_s", sa.Double),
    # Of runs that succeeded, were timed and measured: sums, and over how many.
    sa.Column("used_runs", sa.BigInteger, nullable=False),
    sa.Column("used_runtime_s", sa.Double, nullable=False),
    sa.Column("request_bytes_sum", sa.Double, nullable=False),
    sa.Column("request_bytes_count", sa.BigInteger, nullable=False),
    sa.Column("used_bytes_sum", sa.Double, nullable=False),
    sa.Column("request_cores_sum", sa.Double, nullable=False),
    sa.Column("request_cores_count", sa.BigInteger, nullable=False),
    sa.Column("used_cores_sum", sa.Double, nullable=False),
    sa.Column("used_cores_count", sa.BigInteger, nullable=False),
    sa.Column("most_bytes", sa.BigInteger),
    sa.Column("most_cores", sa.Double),
    # CpuUse of its newest runs, as JSON; null if nobody measured.
    sa.Column("cpu", sa.Text),
)

trainings: Final = sa.Table(
    "trainings",
    metadata,
    sa.Column("id", RowId, primary_key=True, autoincrement=True),
    sa.Column("task", sa.Text, nullable=False),
    sa.Column("at_s", sa.Double, nullable=False),
    sa.Column("observations", sa.Integer),
    sa.Column("runs", sa.Integer),
    sa.Column("oom_kills", sa.Integer),
    # Why it failed; null if it succeeded, and then the columns below are filled.
    sa.Column("failure", sa.Text),
    sa.Column("champion", sa.Text),
    sa.Column("version", sa.Text),
    sa.Column("report", sa.Text),
    sa.Column("model", sa.Text),
    # Why the model cannot be read; set by the first reader that found out.
    sa.Column("damage", sa.Text),
    # The tracking server's name of it, or why it does not want it; null while it is not logged.
    sa.Column("tracked", sa.Text),
    sa.Index(None, "task", "id"),
    sa.Index(None, "tracked", "id"),
    sa.Index(
        "ix_trainings_serving",
        "task",
        "id",
        sqlite_where=sa.text("failure IS NULL"),
        postgresql_where=sa.text("failure IS NULL"),
    ),
)

lifts: Final = sa.Table(
    "lifts",
    metadata,
    sa.Column("task", sa.Text, primary_key=True),
    sa.Column("run", sa.Text, primary_key=True),
    sa.Column("allocation_bytes", sa.BigInteger, nullable=False),
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("after_bytes", sa.BigInteger, nullable=False),
    sa.Column("put_s", sa.Double, nullable=False, index=True),
)

retries: Final = sa.Table(
    "retries",
    metadata,
    sa.Column("attempt_uid", sa.Text, primary_key=True),
    sa.Column("namespace", sa.Text, nullable=False),
    sa.Column("pod", sa.Text, nullable=False),
    sa.Column("new_pod", sa.Text, nullable=False),
    sa.Column("manifest", sa.Text, nullable=False),
    sa.Column("planned_s", sa.Double, nullable=False),
    sa.Column("result", sa.Text),
    sa.Column("closed_s", sa.Double, index=True),
)

peaks: Final = sa.Table(
    "peaks",
    metadata,
    sa.Column("pod_uid", sa.Text, primary_key=True),
    # Empty for the whole pod: a key cannot be null.
    sa.Column("container_id", sa.Text, primary_key=True),
    sa.Column("report", sa.Text, nullable=False),
    sa.Column("put_s", sa.Double, nullable=False, index=True),
)

decisions: Final = sa.Table(
    "decisions",
    metadata,
    sa.Column("attempt_uid", sa.Text, primary_key=True),
    sa.Column("task", sa.Text, nullable=False),
    sa.Column("at_s", sa.Double, nullable=False),
    sa.Column("words", sa.Text, nullable=False),
    sa.Column("allocation_bytes", sa.BigInteger),
    sa.Column("request_bytes", sa.BigInteger),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Index(None, "task", "at_s"),
)

# Tasks that were given a past from outside: a controller that runs already looks here.
imports: Final = sa.Table(
    "imports",
    metadata,
    sa.Column("task", sa.Text, primary_key=True),
    sa.Column("serial", sa.BigInteger, nullable=False, index=True),
)

# What each expert bid for an attempt when it was decided, until its lesson is folded.
bids: Final = sa.Table(
    "bids",
    metadata,
    sa.Column("attempt_uid", sa.Text, primary_key=True),
    sa.Column("task", sa.Text, nullable=False),
    sa.Column("bids", sa.Text, nullable=False),
    sa.Column("put_s", sa.Double, nullable=False, index=True),
)

# What observations and trainings teach the experts, in the order it became known, until folded.
lessons: Final = sa.Table(
    "lessons",
    metadata,
    sa.Column("serial", RowId, primary_key=True, autoincrement=True),
    sa.Column("task", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("run", sa.Text),
    sa.Column("attempt_uid", sa.Text),
    sa.Column("need_bytes", sa.BigInteger),
    # What a corrected need was taken for.
    sa.Column("before_bytes", sa.BigInteger),
    sa.Column("runtime_s", sa.Double),
    sa.Column("request_bytes", sa.BigInteger),
    sa.Column("image", sa.Text),
    # The run's features; of a training, what it found of the experts by models.
    sa.Column("document", sa.Text, nullable=False),
    # A serial is never given twice, though folded lessons are deleted.
    sqlite_autoincrement=True,
)

# The experts' state by task; under the empty name, what all tasks share.
standings: Final = sa.Table(
    "standings",
    metadata,
    sa.Column("task", sa.Text, primary_key=True),
    sa.Column("state", sa.Text, nullable=False),
)

# What was seen of runs' times, in the order it became known, until folded into the forecaster.
sightings: Final = sa.Table(
    "sightings",
    metadata,
    sa.Column("serial", RowId, primary_key=True, autoincrement=True),
    sa.Column("task", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("attempt_uid", sa.Text, nullable=False),
    sa.Column("at_s", sa.Double, nullable=False),
    sa.Column("runtime_s", sa.Double),
    # A serial is never given twice, though folded sightings are deleted.
    sqlite_autoincrement=True,
)

# The forecaster's state in parts: "task/<namespace>/<name>", "owner/<namespace>", "shared"; and
# under "through" the last sighting folded into all of them.
forecaster: Final = sa.Table(
    "forecaster",
    metadata,
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("state", sa.LargeBinary, nullable=False),
)

# Of runs in flight: what was forecast when they were submitted, to be scored at their end.
kept_forecasts: Final = sa.Table(
    "kept_forecasts",
    metadata,
    sa.Column("attempt_uid", sa.Text, primary_key=True),
    sa.Column("task", sa.Text, nullable=False),
    sa.Column("put_s", sa.Double, nullable=False, index=True),
    sa.Column("started_s", sa.Double),
    # When people were told that it runs long.
    sa.Column("told_s", sa.Double),
    sa.Column("forecast", sa.Text, nullable=False),
    sa.Column("state", sa.LargeBinary, nullable=False),
)

# Shapes that were learned over all tasks, the newest few.
shape_catalogues: Final = sa.Table(
    "shape_catalogues",
    metadata,
    # How its runtimes are set beside the usual: "ratio" or "delta".
    sa.Column("normalisation", sa.Text, primary_key=True),
    sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("made_s", sa.Double, nullable=False),
    sa.Column("document", sa.Text, nullable=False),
)

# One row: the oldest step of the schema whose code may use this one (migrations/__init__.py).
compatibility: Final = sa.Table(
    "compatibility",
    metadata,
    sa.Column("oldest", sa.Text, primary_key=True),
)
