"""The events of a Spark log that are read, each a JSON document of one line; others are skipped.

``org.apache.spark.util.JsonProtocol`` writes them. Fields are named as there. A missing field
counts as not measured: older versions lack some, and a log may come from anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Final

import msgspec

_KIND: Final = re.compile(rb'\s*\{\s*"Event"\s*:\s*"([^"\\]{1,200})"')
_PREFIX: Final = "SparkListener"

Count = Annotated[int, msgspec.Meta(ge=0, le=2**60)]
Id = Annotated[int, msgspec.Meta(ge=-1, le=2**60)]
Properties = dict[str, Any]


class _Part(msgspec.Struct, rename=lambda name: name.replace("_", " ").title()):
    """Fields are named as in the class, in capitals and with blanks."""


class LogStart(_Part):
    """The first line."""

    spark_version: str = ""


class ApplicationStart(msgspec.Struct):
    """Times are Unix milliseconds of the driver, as in all events."""

    name: str = msgspec.field(name="App Name", default="")
    app_id: str | None = msgspec.field(name="App ID", default=None)
    at_ms: Count = msgspec.field(name="Timestamp", default=0)


class ApplicationEnd(msgspec.Struct):
    """The last line, if the driver ended as it should."""

    at_ms: Count = msgspec.field(name="Timestamp", default=0)


class EnvironmentUpdate(_Part):
    """What was set when the application began, from any source."""

    spark_properties: Properties = msgspec.field(default_factory=dict)


class AdaptiveUpdate(msgspec.Struct):
    """A query's plan changed while it ran: adaptive execution is on, whatever the settings say."""


class ExecutorInfo(_Part):
    """What an executor is given."""

    total_cores: Count = 0


class ExecutorAdded(msgspec.Struct):
    """An executor registered."""

    executor: str = msgspec.field(name="Executor ID")
    at_ms: Count = msgspec.field(name="Timestamp", default=0)
    info: ExecutorInfo = msgspec.field(name="Executor Info", default_factory=ExecutorInfo)


class ExecutorRemoved(msgspec.Struct):
    """An executor is gone."""

    executor: str = msgspec.field(name="Executor ID")
    at_ms: Count = msgspec.field(name="Timestamp", default=0)
    reason: str = msgspec.field(name="Removed Reason", default="")


class StageInfo(msgspec.Struct):
    """A stage's attempt."""

    stage: Id = msgspec.field(name="Stage ID")
    attempt: Id = msgspec.field(name="Stage Attempt ID", default=0)
    name: str = msgspec.field(name="Stage Name", default="")
    tasks: Count = msgspec.field(name="Number of Tasks", default=0)
    submitted_ms: Count | None = msgspec.field(name="Submission Time", default=None)
    completed_ms: Count | None = msgspec.field(name="Completion Time", default=None)


class StageSubmitted(msgspec.Struct):
    """A stage begins. For a query it lists all settings of its session, also later ones."""

    info: StageInfo = msgspec.field(name="Stage Info")
    properties: Properties | None = msgspec.field(name="Properties", default=None)


class StageCompleted(msgspec.Struct):
    """A stage ended."""

    info: StageInfo = msgspec.field(name="Stage Info")


class TaskInfo(msgspec.Struct):
    """When and where a task ran."""

    executor: str = msgspec.field(name="Executor ID", default="")
    launched_ms: Count = msgspec.field(name="Launch Time", default=0)
    finished_ms: Count = msgspec.field(name="Finish Time", default=0)
    failed: bool = msgspec.field(name="Failed", default=False)
    killed: bool = msgspec.field(name="Killed", default=False)


class ShuffleRead(_Part):
    """How much a task read of others' results, in bytes."""

    remote_bytes_read: Count = 0
    local_bytes_read: Count = 0


class Input(_Part):
    """How much a task read of files, in bytes."""

    bytes_read: Count = 0


class TaskMetrics(_Part):
    """What a task used. Peak execution memory: for sorts, hash tables and joins, in bytes.

    Spilled data counts twice: by its size in memory, and by its size on disk.
    """

    peak_execution_memory: Count = 0
    memory_bytes_spilled: Count = 0
    disk_bytes_spilled: Count = 0
    shuffle_read_metrics: ShuffleRead = msgspec.field(default_factory=ShuffleRead)
    input_metrics: Input = msgspec.field(default_factory=Input)


class ExecutorMetrics(msgspec.Struct):
    """Peaks of an executor in bytes, each by itself; 0 and -1 mean not measured."""

    heap: int = msgspec.field(name="JVMHeapMemory", default=0)
    beside_heap: int = msgspec.field(name="JVMOffHeapMemory", default=0)
    on_heap_unified: int = msgspec.field(name="OnHeapUnifiedMemory", default=0)
    direct: int = msgspec.field(name="DirectPoolMemory", default=0)
    python_rss: int = msgspec.field(name="ProcessTreePythonRSSMemory", default=0)
    other_rss: int = msgspec.field(name="ProcessTreeOtherRSSMemory", default=0)


class TaskEnd(msgspec.Struct):
    """A task ended, well or not; a task lost with its executor has no metrics."""

    stage: Id = msgspec.field(name="Stage ID")
    attempt: Id = msgspec.field(name="Stage Attempt ID", default=0)
    task: TaskInfo | None = msgspec.field(name="Task Info", default=None)
    peaks: ExecutorMetrics | None = msgspec.field(name="Task Executor Metrics", default=None)
    metrics: TaskMetrics | None = msgspec.field(name="Task Metrics", default=None)


class StageExecutorMetrics(msgspec.Struct):
    """An executor's peaks in one stage; written if spark.eventLog.logStageExecutorMetrics is on."""

    executor: str = msgspec.field(name="Executor ID")
    peaks: ExecutorMetrics = msgspec.field(name="Executor Metrics")


Event = (
    LogStart
    | ApplicationStart
    | ApplicationEnd
    | EnvironmentUpdate
    | AdaptiveUpdate
    | ExecutorAdded
    | ExecutorRemoved
    | StageSubmitted
    | StageCompleted
    | TaskEnd
    | StageExecutorMetrics
)
_KINDS: Final[Mapping[str, type[Event]]] = {
    "LogStart": LogStart,
    "ApplicationStart": ApplicationStart,
    "ApplicationEnd": ApplicationEnd,
    "EnvironmentUpdate": EnvironmentUpdate,
    "SQLAdaptiveExecutionUpdate": AdaptiveUpdate,
    "ExecutorAdded": ExecutorAdded,
    "ExecutorRemoved": ExecutorRemoved,
    "StageSubmitted": StageSubmitted,
    "StageCompleted": StageCompleted,
    "TaskEnd": TaskEnd,
    "StageExecutorMetrics": StageExecutorMetrics,
}
_DECODERS: Final = {name: msgspec.json.Decoder(kind) for name, kind in _KINDS.items()}


class BadEvent(ValueError):
    """A line that is no event of Spark."""


def read_event(line: bytes) -> Event | None:
    """Read one line; None for an event of a kind that tells nothing here.

    Raises:
        BadEvent: for a line that is no event, or one of a known kind that makes no sense.
    """
    named = _KIND.match(line)
    if named is None:
        raise BadEvent("no event of Spark")
    kind = named[1].decode("utf-8", "replace").rpartition(".")[2].removeprefix(_PREFIX)
    decoder = _DECODERS.get(kind)
    if decoder is None:
        return None
    try:
        return decoder.decode(line)
    except (ValueError, RecursionError) as error:
        raise BadEvent(f"{kind}: {str(error)[:200]}") from error
