"""The store's tables. Migrations make them; a test compares both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import sqlalchemy as sa

from plimsoll_predictor.core.record import COLUMNS, Unit
from plimsoll_predictor.store.database.columns import (
    index_where,
    key,
    optional,
    required,
    serial,
    written_at,
)

NAMES: Final = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}
"""Past steps of the schema use these, too: they may never change."""
metadata: Final = sa.MetaData(naming_convention=NAMES)

_STORED: Final[Mapping[Unit, type[sa.types.TypeEngine[Any]]]] = {
    Unit.BYTES: sa.BigInteger,
    Unit.CORES: sa.Double,
    Unit.SHARE: sa.Double,
    Unit.SECONDS: sa.Double,
    Unit.TIME: sa.Double,
    Unit.PODS: sa.Integer,
    Unit.EXIT_CODE: sa.Integer,
    Unit.CAUSE: sa.Text,
    Unit.TEXT: sa.Text,
}


observations: Final = sa.Table(
    "observations",
    metadata,
    serial("id"),
    sa.Column("attempt_uid", sa.Text, nullable=False, unique=True),
    *required(sa.Text, "task", "run"),
    *required(sa.Integer, "attempt"),
    # When it ended, else started, else was submitted, else was recorded: the order of learning.
    *required(sa.Double, "ordered_s"),
    *required(sa.Text, "outcome", "features", "neighbours"),
    *optional(sa.Text, "peak_source"),
    *(sa.Column(each.name, _STORED[each.unit]) for each in COLUMNS),
    # Share of its forecast at submission that its runtime reached.
    *optional(sa.Double, "forecast_share"),
    # Task -> how many of it ran beside it on average, as JSON; null if nobody saw all of its time.
    *optional(sa.Text, "beside"),
    # The median of that forecast; null if it knew too few runs of the task.
    *optional(sa.Double, "forecast_s"),
    sa.Index(None, "task", "ordered_s", "id"),
    sa.Index(None, "task", "run"),
    index_where("ix_observations_items", "item IS NOT NULL", "ordered_s", "id"),
)

# The totals of each task's observations: sums, and some maxima.
totals: Final = sa.Table(
    "totals",
    metadata,
    key("task"),
    *required(sa.BigInteger, "observations"),
    # Runs with a known need.
    *required(sa.BigInteger, "runs_known", "oom_kills", "failed"),
    *optional(sa.BigInteger, "max_need_bytes"),
    *required(sa.Double, "requested_gb_h", "allocated_gb_h", "peak_gb_h"),
    *optional(sa.Double, "last_finished_s"),
    # Runs that succeeded, were timed and measured: their sums, and their number.
    *required(sa.BigInteger, "used_runs"),
    *required(sa.Double, "used_runtime_s", "request_bytes_sum"),
    *required(sa.BigInteger, "request_bytes_count"),
    *required(sa.Double, "used_bytes_sum", "request_cores_sum"),
    *required(sa.BigInteger, "request_cores_count"),
    *required(sa.Double, "used_cores_sum"),
    *required(sa.BigInteger, "used_cores_count"),
    *optional(sa.BigInteger, "most_bytes"),
    *optional(sa.Double, "most_cores"),
    # CpuUse of its newest runs, as JSON; null if not measured.
    *optional(sa.Text, "cpu"),
)

trainings: Final = sa.Table(
    "trainings",
    metadata,
    serial("id"),
    *required(sa.Text, "task"),
    *required(sa.Double, "at_s"),
    *optional(sa.Integer, "observations", "runs", "oom_kills"),
    # Why it failed; null if it succeeded, and then the columns below are filled.
    *optional(sa.Text, "failure", "champion", "version", "report", "model"),
    # Why the model cannot be read; set by the first reader that found out.
    *optional(sa.Text, "damage"),
    # The tracking server's name of it, or why it does not want it; null while it is not logged.
    *optional(sa.Text, "tracked"),
    sa.Index(None, "task", "id"),
    sa.Index(None, "tracked", "id"),
    index_where("ix_trainings_serving", "failure IS NULL", "task", "id"),
)

# What a round of workers is to train, and the results until the leader has read them.
due_trainings: Final = sa.Table(
    "due_trainings",
    metadata,
    # "model NAMESPACE/NAME", "shapes" or "features".
    key("work"),
    # Empty if it belongs to no task.
    *required(sa.Text, "task", "why"),
    *optional(sa.Text, "policy"),
    # killed: 1 if an OOM kill asks for it. starts: how often a worker has begun it.
    *required(sa.Integer, "killed", "starts"),
    *required(sa.Double, "since_s"),
    # The round that it is part of; null while it waits.
    *optional(sa.Text, "round"),
    # The worker's index, and the place in that worker's order.
    *optional(sa.Integer, "shard", "place"),
    *optional(sa.Double, "began_s", "ended_s"),
    # again: why it is due once more, since its round began.
    *optional(sa.Text, "failure", "result", "again"),
    sa.Index(None, "round", "shard"),
    sa.Index(None, "task"),
)

lifts: Final = sa.Table(
    "lifts",
    metadata,
    key("task"),
    key("run"),
    *required(sa.BigInteger, "allocation_bytes"),
    *required(sa.Integer, "attempt"),
    *required(sa.BigInteger, "after_bytes"),
    # As ``Lift.written``.
    *optional(sa.Integer, "as_written"),
    written_at(),
)

retries: Final = sa.Table(
    "retries",
    metadata,
    key("attempt_uid"),
    *required(sa.Text, "namespace", "pod", "new_pod", "manifest"),
    *required(sa.Double, "planned_s"),
    *optional(sa.Text, "result"),
    sa.Column("closed_s", sa.Double, index=True),
)

peaks: Final = sa.Table(
    "peaks",
    metadata,
    key("pod_uid"),
    # Empty for the whole pod: a key cannot be null.
    key("container_id"),
    *required(sa.Text, "report"),
    written_at(),
)

decisions: Final = sa.Table(
    "decisions",
    metadata,
    key("attempt_uid"),
    *required(sa.Text, "task"),
    *required(sa.Double, "at_s"),
    *required(sa.Text, "words"),
    *optional(sa.BigInteger, "allocation_bytes", "request_bytes"),
    *required(sa.Text, "reason"),
    sa.Index(None, "task", "at_s"),
)

# Tasks that were given a past from outside, or forgotten: a running controller looks here.
imports: Final = sa.Table(
    "imports",
    metadata,
    key("task"),
    sa.Column("serial", sa.BigInteger, nullable=False, index=True),
    # 1 until a controller has noticed that people forgot the task.
    *optional(sa.Integer, "forgotten"),
)

# What each expert bid for an attempt when it was decided, until its lesson is folded.
bids: Final = sa.Table(
    "bids",
    metadata,
    key("attempt_uid"),
    *required(sa.Text, "task", "bids"),
    written_at(),
)

# What observations and trainings teach the experts, in the order it became known, until folded.
lessons: Final = sa.Table(
    "lessons",
    metadata,
    serial("serial"),
    *required(sa.Text, "task", "kind"),
    *optional(sa.Text, "run", "attempt_uid"),
    *optional(sa.BigInteger, "need_bytes"),
    # What a corrected need was taken for.
    *optional(sa.BigInteger, "before_bytes"),
    *optional(sa.Double, "runtime_s"),
    *optional(sa.BigInteger, "request_bytes"),
    *optional(sa.Text, "image", "cause"),
    # The limit it ran under, and 1 if that was lower than its author wrote.
    *optional(sa.BigInteger, "allocation_bytes"),
    *optional(sa.Integer, "lowered"),
    # The run's features; for a training, what it found about the experts by models.
    *required(sa.Text, "document"),
    # A serial is never given twice, though folded lessons are deleted.
    sqlite_autoincrement=True,
)

# The experts' state by task; under the empty name, what all tasks share.
standings: Final = sa.Table(
    "standings",
    metadata,
    key("task"),
    *required(sa.Text, "state"),
)

# What was seen of runs' times, in the order it became known, until folded into the forecaster.
sightings: Final = sa.Table(
    "sightings",
    metadata,
    serial("serial"),
    *required(sa.Text, "task", "kind", "attempt_uid"),
    *required(sa.Double, "at_s"),
    *optional(sa.Double, "runtime_s"),
    # A serial is never given twice, though folded sightings are deleted.
    sqlite_autoincrement=True,
)

# The forecaster's state in parts: "task/<namespace>/<name>", "owner/<namespace>", "shared"; and
# under "through" the last sighting folded into all of them.
forecaster: Final = sa.Table(
    "forecaster",
    metadata,
    key("key"),
    *required(sa.LargeBinary, "state"),
)

# The forecasts that open runs were given at their submission, to be scored at their end.
kept_forecasts: Final = sa.Table(
    "kept_forecasts",
    metadata,
    key("attempt_uid"),
    *required(sa.Text, "task"),
    written_at(),
    *optional(sa.Double, "started_s"),
    # When people were told that it runs long.
    *optional(sa.Double, "told_s"),
    *required(sa.Text, "forecast"),
    *required(sa.LargeBinary, "state"),
)

# Shapes that were learned over all tasks, the newest few.
shape_catalogues: Final = sa.Table(
    "shape_catalogues",
    metadata,
    # How its runtimes are set beside the usual: "ratio" or "delta".
    key("normalisation"),
    sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
    *required(sa.Double, "made_s"),
    *required(sa.Text, "document"),
)

# Profiling campaigns by the UID of their object: what outlives it.
campaigns: Final = sa.Table(
    "campaigns",
    metadata,
    key("uid"),
    *required(sa.Text, "namespace", "name", "task"),
    # Today's request of its task, to which savings are relative.
    *required(sa.BigInteger, "reference_bytes"),
    # Scenarios that were left out because others are the same.
    *required(sa.Integer, "duplicates"),
    *required(sa.Double, "began_s"),
    sa.Column("ended_s", sa.Double, index=True),
    # Why it ended; null while it has not.
    *optional(sa.Text, "ending"),
    sa.Index(None, "namespace", "name"),
)

# Attempts at a campaign's scenarios (campaigns/runs.py has the states).
campaign_runs: Final = sa.Table(
    "campaign_runs",
    metadata,
    key("campaign"),
    sa.Column("scenario", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("attempt", sa.Integer, primary_key=True, autoincrement=False),
    # Feature -> its text, as JSON.
    *required(sa.Text, "state", "features"),
    *required(sa.BigInteger, "memory_bytes"),
    *required(sa.Integer, "lifts"),
    *optional(sa.Double, "created_s", "ended_s"),
    *optional(sa.Text, "attempt_uid"),
    *optional(sa.BigInteger, "peak_bytes"),
    *optional(sa.Double, "runtime_s"),
    *required(sa.Text, "note"),
    # How many real runs the scenario stands for; null counts as one.
    *optional(sa.Integer, "weight"),
)

# Which pods have leased which items of a Job, while it runs: "<namespace>/<name>/<uid>".
leased_jobs: Final = sa.Table(
    "leased_jobs",
    metadata,
    key("job"),
    *required(sa.Text, "document"),
    written_at(),
)

# What chunks of a task's leased Jobs took, as its last one left it.
leased_tasks: Final = sa.Table(
    "leased_tasks",
    metadata,
    key("task"),
    *required(sa.Text, "document"),
    written_at(),
)

# The last transaction that each connection to PostgreSQL committed (postgresql.py). put_s has no
# index: it changes with every write.
last_writes: Final = sa.Table(
    "last_writes",
    metadata,
    key("connection_id"),
    # The server's number of the transaction.
    *required(sa.Text, "number"),
    *required(sa.Double, "put_s"),
)

# One row: the oldest step of the schema whose code may use this one (migrations/__init__.py).
compatibility: Final = sa.Table(
    "compatibility",
    metadata,
    key("oldest"),
)
