"""Event logs of Spark: real ones, and artificial ones line by line.

The real logs are from Spark 4.0.1 (JRE 17): a join in local[2] with adaptive execution off at 200
partitions, and with it on; and two executors (local-cluster), one of which was killed. Long parts
that say nothing here, and facts about the machine, are left out: starts of tasks, accumulables,
plans, hosts, classpaths, other properties. The rest is as Spark wrote it.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from plimsoll_predictor.core.units import GIB
from plimsoll_predictor.splitting.spark.settings import ADAPTIVE, QUERY, STREAM

LOGS = Path(__file__).parent / "spark_event_logs"
OFF = LOGS / "join-adaptive-off-200.gz"
ON = LOGS / "join-adaptive-on.gz"
KILLED = LOGS / "executor-killed.gz"

START_MS = 1_760_000_000_000


def real_lines(log: Path) -> list[bytes]:
    return gzip.decompress(log.read_bytes()).splitlines(keepends=True)


def line(kind: str, **fields: Any) -> bytes:
    """An event. Blanks in its fields' names are written as _."""
    named = {name.replace("_", " "): value for name, value in fields.items()}
    return json.dumps({"Event": f"SparkListener{kind}", **named}).encode() + b"\n"


def a_start(
    properties: Mapping[str, str] | None = None,
    version: str = "3.5.1",
    executors: int = 2,
    cores: int = 2,
) -> list[bytes]:
    """The first lines of a log. By default: from a cluster of Kubernetes."""
    set_ = {"spark.master": "k8s://https://cluster", **(properties or {})}
    return [
        line("LogStart", Spark_Version=version),
        line("EnvironmentUpdate", Spark_Properties=set_),
        line("ApplicationStart", App_Name="etl", App_ID="spark-1", Timestamp=START_MS),
        *(
            line(
                "ExecutorAdded",
                Timestamp=START_MS,
                Executor_ID=str(number),
                Executor_Info={"Total Cores": cores},
            )
            for number in range(1, executors + 1)
        ),
    ]


def a_task(
    stage: int,
    took_ms: int,
    at_ms: int = 0,
    executor: str = "1",
    peaks: Mapping[str, int] | None = None,
    failed: bool = False,
    **metrics: Any,
) -> bytes:
    """The end of a task. metrics: as Spark names them, blanks as _."""
    launched = START_MS + at_ms
    return line(
        "TaskEnd",
        Stage_ID=stage,
        Stage_Attempt_ID=0,
        Task_Info={
            "Executor ID": executor,
            "Launch Time": launched,
            "Finish Time": launched + took_ms,
            "Failed": failed,
        },
        Task_Executor_Metrics=dict(peaks or {}),
        Task_Metrics={name.replace("_", " "): value for name, value in metrics.items()},
    )


def a_stage(
    number: int,
    tasks: list[bytes],
    wall_ms: int,
    at_ms: int = 0,
    query: bool = True,
    properties: Mapping[str, str] | None = None,
) -> list[bytes]:
    info = {
        "Stage ID": number,
        "Stage Attempt ID": 0,
        "Stage Name": f"stage {number}",
        "Number of Tasks": len(tasks),
        "Submission Time": START_MS + at_ms,
    }
    given = {**({QUERY: "0"} if query else {}), **(properties or {})}
    done = {**info, "Completion Time": START_MS + at_ms + wall_ms}
    return [
        line("StageSubmitted", Stage_Info=info, Properties=given),
        *tasks,
        line("StageCompleted", Stage_Info=done),
    ]


def an_end(at_ms: int) -> bytes:
    return line("ApplicationEnd", Timestamp=START_MS + at_ms)


FILLED = {"JVMHeapMemory": GIB}
STREAMING = {ADAPTIVE: "false", STREAM: "8f2b"}
"""The session of a stream's batches: Spark itself turns adaptive execution off in it."""


def a_shuffle(
    tasks: int = 200,
    took_ms: int = 20,
    read_bytes: int = 1000,
    query: bool = True,
    session: Mapping[str, str] | None = None,
    **metrics: Any,
) -> list[bytes]:
    """A stage of tasks that read a shuffle, four at a time, and had all of the heap.

    session: what was set in the query's session alone.
    """
    made = [
        a_task(
            1,
            took_ms,
            peaks=FILLED,
            Shuffle_Read_Metrics={"Local Bytes Read": read_bytes},
            **metrics,
        )
        for _ in range(tasks)
    ]
    wall_ms = tasks * took_ms // 4
    return a_stage(1, made, wall_ms=wall_ms, query=query, properties=session)
