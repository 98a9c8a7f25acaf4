"""A Spark application as its event log describes it: frozen records of bounded size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from plimsoll_predictor.splitting.spark.settings import Settings

_KILLED: Final = (
    "137",
    "oomkilled",
    "out of memory",
    "for exceeding memory limits",
    "for exceeding physical memory limits",
)
"""Words in the reason for an executor's removal: exit 137 follows from a cgroup's kill, and YARN
kills by itself."""
_HEAP_FULL: Final = ("code 52", "status 52", "jvm oom", "outofmemoryerror")
"""Words in the reason if the JVM ended by itself, because its heap was full."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """An attempt at a stage, with one similar task for each partition.

    tasks: those that succeeded. busy_s: time of all tasks together, by the driver's clock. quick_s,
    median_s: nine of ten tasks took longer, and half of them; to 5%. began_s, wall_s: None if the
    log does not say, or its clock went back. query: whether it belongs to Spark SQL. streaming:
    whether to a stream, too. peak_bytes: the most that one task held for sorts, joins and hash
    tables. spilled_bytes: how much of that all tasks together wrote to disk, by its size in memory;
    disk_bytes: by its size on disk.
    """

    number: int
    name: str
    tasks: int
    busy_s: float
    quick_s: float
    median_s: float
    began_s: float | None
    wall_s: float | None
    input_bytes: int
    shuffle_bytes: int
    spilled_bytes: int
    disk_bytes: int
    peak_bytes: int
    query: bool
    settings: Settings
    streaming: bool = False

    @property
    def by_setting(self) -> bool:
        """Whether properties decide how many partitions of a shuffle it has.

        Spark itself turns adaptive execution off for a stream, and keeps the first number of
        partitions in its checkpoint. Programs over RDDs choose theirs.
        """
        return self.query and self.shuffle_bytes > 0 and not self.streaming

    @property
    def at_once(self) -> float:
        """How many of its tasks ran at a time, on average; at least 1."""
        return max(1.0, self.busy_s / self.wall_s) if self.wall_s else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Peaks:
    """The most that any executor had, each figure by itself, in bytes; None if not measured.

    beside_heap: metaspace, code, buffers. unified: execution and storage, part of the heap.
    samples: how many tasks ended with a reading of the heap; Spark takes one every ten seconds.
    """

    heap: int | None = None
    beside_heap: int | None = None
    unified: int | None = None
    python: int | None = None
    other: int | None = None
    samples: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """Executors that were killed for memory, and the tasks that were lost with them.

    full_heaps: further executors, which ended because their own heaps were full.
    """

    executors: int
    tasks: int
    busy_s: float
    full_heaps: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How much of a log could be read. bad: lines that are no event. long: lines left out.

    stages_left_out: those beyond the limit. ended: whether the log has its last line. compacted:
    whether Spark left out executors that are gone, and tasks of jobs that had ended.
    """

    lines: int
    bad: int
    long: int
    stages_left_out: int
    ended: bool
    compacted: bool = False

    @property
    def whole(self) -> bool:
        """Whether it has all that the application did."""
        return self.ended and not self.compacted and not self.stages_left_out


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """What an application was, and what it did.

    span_s: None if the clock went back. slots, executors: the most tasks and executors at a time.
    executor_s: the time of all executors, added up.
    """

    name: str
    app_id: str
    version: str
    span_s: float | None
    slots: int
    executors: int
    executor_s: float
    settings: Settings
    adapted: bool
    stages: Sequence[Stage]
    peaks: Peaks
    lost: Lost
    reading: Reading

    @property
    def stage_s(self) -> float:
        """The seconds in which at least one stage ran."""
        spans = sorted(
            (each.began_s, each.began_s + each.wall_s)
            for each in self.stages
            if each.began_s is not None and each.wall_s is not None
        )
        total, until = 0.0, 0.0
        for began, ended in spans:
            total += max(0.0, ended - max(began, until))
            until = max(until, ended)
        return total


def killed_for_memory(reason: str) -> bool:
    """Whether an executor was killed for memory, by the reason given for its removal.

    >>> killed_for_memory("exited with exit code 137(SIGKILL, possible container OOM)")
    True
    >>> killed_for_memory("Executor heartbeat timed out after 125137 ms")
    False
    """
    return _says(reason, _KILLED)


def heap_was_full(reason: str) -> bool:
    """Whether an executor ended because its own heap was full, by the reason for its removal.

    >>> heap_was_full("The executor with id 1 exited with exit code 52(JVM OOM).")
    True
    """
    return _says(reason, _HEAP_FULL)


def _says(reason: str, any_of: Sequence[str]) -> bool:
    spaced = "".join(each if each.isalnum() else " " for each in reason.lower())
    words = f" {' '.join(spaced.split())} "
    return any(f" {each} " in words for each in any_of)
