"""A store as after years of use: a million observations of thousands of tasks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import orjson
import sqlalchemy as sa

from benchmarks.admission.inputs import a_model
from plimsoll_predictor.core.record import FeatureValue
from plimsoll_predictor.experts.charging import EndedRun
from plimsoll_predictor.experts.standing import Ended
from plimsoll_predictor.experts.task_standings import TaskStandings
from plimsoll_predictor.knowledge.expert_names import CLASSIFIER
from plimsoll_predictor.model.task_model import Model
from plimsoll_predictor.store import Store
from plimsoll_predictor.store.attempts import totals
from plimsoll_predictor.store.database.database import Database
from plimsoll_predictor.store.database.schema import (
    decisions,
    observations,
    standings,
    trainings,
)

NOW_S: Final = 1_760_000_000.0
_SECONDS_APART: Final = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much a store holds.

    models: tasks with a model, of ``trees`` trees each. decisions: kept per task.
    """

    observations: int = 1_000_000
    tasks: int = 5_000
    models: int = 500
    decisions: int = 10


def task_name(number: int) -> str:
    """The name of one of the tasks, as the store writes it."""
    return f"team-{number % 40}/task-{number}"


def fill(url: str, size: Size) -> None:
    """Fill a new store; the database itself generates the rows."""
    Store.open(url).close()
    database = Database.connect(url, 60.0)
    with database.write_long() as connection:
        _fill_observations(connection, size)
        totals.add_up_all(connection)
        _fill_decisions(connection, size)
        _fill_trainings(connection, size)
        _fill_standings(connection, size)
    with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("ANALYZE")
    database.close()


def _numbers(connection: sa.Connection, count: int) -> str:
    if connection.dialect.name == "postgresql":
        return f"(SELECT n FROM generate_series(0, {count - 1}) AS n) AS numbers"
    return (
        f"(WITH RECURSIVE counted(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM counted"
        f" WHERE n < {count - 1}) SELECT n FROM counted) AS numbers"
    )


def _fill_observations(connection: sa.Connection, size: Size) -> None:
    """Few tasks run often and many seldom; one run in thirty-three was killed once before."""
    hashed = "((CAST(n AS BIGINT) * 7919) % 1000003) / 1000003.0"
    task = f"CAST(FLOOR({hashed} * {hashed} * {size.tasks}) AS INTEGER)"
    killed = "n % 33 = 0"
    end_s = f"{NOW_S - _SECONDS_APART * size.observations} + n * {_SECONDS_APART}.0"
    statement = f"""
INSERT INTO {observations.name} (attempt_uid, task, run, attempt, ordered_s, outcome, features,
    request_bytes, allocation_bytes, peak_bytes, peak_source, kernel_peak_bytes,
    working_set_peak_bytes, anon_peak_bytes, cpu_s, request_cores, submitted_s, started_s,
    finished_s, node, node_type, image, exit_code, model_version, node_memory_bytes, node_cpu,
    neighbours)
SELECT 'uid-' || n || '-0000-4000-8000-000000000000', 'team-' || (task % 40) || '/task-' || task,
    'job:' || (CASE WHEN {killed} THEN n + 1 ELSE n END), CASE WHEN n % 33 = 1 THEN 2 ELSE 1 END,
    {end_s}, CASE WHEN {killed} THEN 'oom-killed' ELSE 'succeeded' END,
    '{{"rows":' || (n % 9973) || '.0,"region":"eu","day":' || (n % 7) || '.0,"garments":18234.0}}',
    4294967296, 1073741824, 400000000 + (n % 1009) * 600000, 'agent', 450000000, 430000000,
    420000000, 60.0 + n % 60, 1.0, {end_s} - 400, {end_s} - 300, {end_s},
    'node-' || (n % 50), 'm5.4xlarge', 'registry.example/train:' || (n / 100000), 0, NULL,
    64000000000, 16.0, '["shop/join-sales"]'
FROM (SELECT n, {task} AS task FROM {_numbers(connection, size.observations)}) AS numbered
"""
    connection.execute(sa.text(statement.replace(":", "\\:")))


def _fill_decisions(connection: sa.Connection, size: Size) -> None:
    connection.execute(
        decisions.insert(),
        [
            {
                "attempt_uid": f"uid-{task}-{number}",
                "task": task_name(task),
                "at_s": NOW_S - number * 60.0,
                "words": f"task-{task}-{number}: 4 GB → 1 GB: the classifier chose bin 2 of 4",
                "allocation_bytes": 2**30,
                "request_bytes": 2**32,
                "reason": "predicted",
            }
            for task in range(size.tasks)
            for number in range(size.decisions)
        ],
    )


def _fill_trainings(connection: sa.Connection, size: Size) -> None:
    model = a_model()
    for task in range(size.models):
        mine: Model = replace(model, task=task_name(task))
        row = {
            "task": task_name(task),
            "at_s": NOW_S,
            "observations": 200,
            "runs": 190,
            "oom_kills": 6,
            "champion": CLASSIFIER,
            "version": mine.version,
            "report": '{"runs": 190}',
            "model": orjson.dumps(mine.to_dict(), option=orjson.OPT_SERIALIZE_NUMPY).decode(),
            "tracked": "run",
        }
        connection.execute(trainings.insert(), [row])


def _fill_standings(connection: sa.Connection, size: Size) -> None:
    state, pool = _learned()
    rows = [{"task": task_name(task), "state": state} for task in range(size.tasks)]
    connection.execute(standings.insert(), rows)
    connection.execute(
        standings.insert(),
        [{"task": "", "state": orjson.dumps({"through": 0, "pool": pool}).decode()}],
    )


def _learned() -> tuple[str, object]:
    """The experts of a task that ran 150 times, as they are stored, and the pool."""
    fleet = TaskStandings()
    for number in range(150):
        features: dict[str, FeatureValue] = {
            "rows": float(number % 40 * 100),
            "region": "eu",
            "day": float(number % 7),
        }
        bids = fleet.bids("t", 2.0**32, features)
        need_bytes = 4e8 + number % 40 * 1e7
        run = EndedRun(need_bytes=need_bytes, runtime_s=300.0, request_bytes=2.0**32)
        fleet.learn(
            "t",
            Ended(run=run, features=features, bids=bids, version="1", overhead_s=0.0),
        )
    state = orjson.dumps(fleet.standing("t").to_dict(), option=orjson.OPT_SERIALIZE_NUMPY)
    return state.decode(), fleet.pool.to_dict()
