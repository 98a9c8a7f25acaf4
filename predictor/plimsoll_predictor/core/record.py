"""The record of one attempt, which is the training data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, Final

from plimsoll_predictor.core.task import TaskId

FeatureValue = float | str
"""A number or a category. Dates are text in ISO 8601; the feature schema splits them."""

Features = Mapping[str, FeatureValue]
"""Facts known before an attempt starts. A missing feature is absent, never NaN or None."""


class Outcome(StrEnum):
    """The end of an attempt, which the operator's truth table decides (attempts/truth_table.py)."""

    SUCCEEDED = "succeeded"
    OOM_KILLED = "oom-killed"
    FAILED = "failed"
    """Ended badly for a reason of its own; its peak is a lower bound at best and is not learned."""
    EVICTED = "evicted"
    """Ended by the node's trouble (eviction, node memory pressure, lost node); teaches no need."""
    DELETED = "deleted"
    """Taken away before it ended."""


class Cause(StrEnum):
    """Why an attempt did not succeed, which the operator's truth table decides, too.

    The predicates say what follows for the size; a cause that fits none is not about memory.
    """

    OWN_LIMIT = "own-limit"
    """The kernel killed the main process at the container's limit."""
    CHILD = "child"
    """The kernel killed a child process at the container's limit."""
    NEAR_LIMIT = "near-limit"
    """SIGKILL without the word OOMKilled, with the last reading near the limit."""
    JVM = "jvm"
    SPARK = "spark"
    DOTNET = "dotnet"
    NODEJS = "nodejs"
    PYTHON = "python"
    """The program ended itself because its own heap, which may follow the limit, was full."""
    ALLOCATION = "allocation"
    """The program ended itself because it was refused memory; nobody knows its runtime."""
    CUDA = "cuda"
    """A GPU's memory was full; more memory of the host would not help."""
    KILLED = "killed"
    """SIGKILL from outside, or so it seems: no reading was near the limit."""
    OWN_MISTAKE = "own-mistake"
    """It failed, and nobody knows why."""
    NEVER_STARTED = "never-started"
    DEADLINE = "deadline"
    """Its pod's activeDeadlineSeconds were over."""
    NODE_PRESSURE = "node-pressure"
    """Its node, not its limit, ran out of memory."""
    EVICTED = "evicted"
    PREEMPTED = "preempted"
    NODE_LOST = "node-lost"
    """Its node went away, or would not have it."""
    DELETED = "deleted"

    @property
    def outcome(self) -> Outcome:
        """The outcome of an attempt with this cause."""
        return Outcome.OOM_KILLED if self.is_kill else _OUTCOMES.get(self, Outcome.FAILED)

    @property
    def is_kill(self) -> bool:
        """Whether the limit ended it for sure, or nearly: its need is more than its allocation."""
        return self in _KILLS

    @property
    def is_own_heap(self) -> bool:
        """Whether the program said that its memory did not suffice, and ended itself."""
        return self in _OWN_HEAPS

    @property
    def is_unknown(self) -> bool:
        """Whether nobody knows: only other attempts, at other sizes, say if the limit did it."""
        return self in _UNKNOWN


_KILLS: Final = frozenset({Cause.OWN_LIMIT, Cause.CHILD, Cause.NEAR_LIMIT})
_OWN_HEAPS: Final = frozenset(
    {Cause.JVM, Cause.SPARK, Cause.DOTNET, Cause.NODEJS, Cause.PYTHON, Cause.ALLOCATION}
)
_UNKNOWN: Final = frozenset({Cause.KILLED, Cause.OWN_MISTAKE})
_OUTCOMES: Final = {
    Cause.NODE_PRESSURE: Outcome.EVICTED,
    Cause.EVICTED: Outcome.EVICTED,
    Cause.PREEMPTED: Outcome.EVICTED,
    Cause.NODE_LOST: Outcome.EVICTED,
    Cause.DELETED: Outcome.DELETED,
}
"""The outcomes of attempts that neither the limit nor the program itself ended."""


class PeakSource(StrEnum):
    """The source that measured a peak."""

    AGENT = "agent"
    METRICS = "metrics"
    IMPORTED = "imported"


class Unit(StrEnum):
    """The unit of a column decides how the column is stored, exported and imported."""

    BYTES = "bytes"
    CORES = "cores"
    SHARE = "share"
    """A share of all there is: 1 is full."""
    SECONDS = "seconds"
    TIME = "time"
    """Unix seconds."""
    PODS = "pods"
    EXIT_CODE = "exit code"
    CAUSE = "cause"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class Column:
    """A field of an observation that is stored as it is.

    exported: whether a history file has it, by the same name.
    """

    name: str
    unit: Unit
    exported: bool


def column(unit: Unit, *, exported: bool = True) -> Any:
    """A field that is a column; None if unknown."""
    return field(default=None, metadata={"unit": unit, "exported": exported})


@dataclass(frozen=True, slots=True)
class Need:
    """The smallest allocation that would have sufficed.

    size_bytes: the need itself, or what it is known to exceed when censored.
    censored: True after an OOM kill: the need is *more than* size_bytes.
    """

    size_bytes: int
    censored: bool


def is_lowered_limit(limit_bytes: int | None, written_bytes: int) -> bool:
    """Whether a limit is lower than its author's. None, or 0 as written: no limit.

    >>> is_lowered_limit(64, 0), is_lowered_limit(64, 64), is_lowered_limit(None, 64)
    (True, False, False)
    """
    return bool(limit_bytes) and (not written_bytes or (limit_bytes or 0) < written_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One attempt, as training data. Identified by ``attempt_uid``: the pod's UID.

    A column is added here, and by a migration: the store's table, what is exported and what is
    imported follow from its unit. Times are Unix seconds; None where the cluster never said.
    """

    attempt_uid: str
    task: TaskId
    run: str
    """The execution of the task that it belongs to: attempts of one run share it."""
    attempt: int = 1
    """1 for a run's first pod."""
    features: Features = field(default_factory=dict)
    outcome: Outcome
    submitted_s: float | None = column(Unit.TIME)
    started_s: float | None = column(Unit.TIME)
    finished_s: float | None = column(Unit.TIME)
    request_bytes: int | None = column(Unit.BYTES)
    """The memory that the user asked for; None if they asked for nothing."""
    allocation_bytes: int | None = column(Unit.BYTES)
    """The limit the attempt ran under; None if it had none."""
    peak_bytes: int | None = column(Unit.BYTES)
    """Memory the attempt was seen to use, page cache told apart; None if not measured."""
    peak_source: PeakSource | None = None
    kernel_peak_bytes: int | None = column(Unit.BYTES, exported=False)
    """The kernel's own peak; counts page cache, so an upper bound of the need."""
    working_set_peak_bytes: int | None = column(Unit.BYTES, exported=False)
    """Highest sampled usage less inactive file pages; misses spikes, so a lower bound."""
    anon_peak_bytes: int | None = column(Unit.BYTES, exported=False)
    cpu_s: float | None = column(Unit.SECONDS)
    peak_cores: float | None = column(Unit.CORES)
    """Cores of the minute that used most; None if not measured, or it ended within one."""
    request_cores: float | None = column(Unit.CORES)
    """CPU the user asked for, in cores; None if nothing."""
    allocated_cores: float | None = column(Unit.CORES)
    """CPU request the attempt ran under, in cores; None if none."""
    node: str | None = column(Unit.TEXT)
    node_type: str | None = column(Unit.TEXT)
    image: str | None = column(Unit.TEXT)
    exit_code: int | None = column(Unit.EXIT_CODE)
    model_version: str | None = column(Unit.TEXT, exported=False)
    """The model that sized it; None if no model did."""
    node_memory_bytes: int | None = column(Unit.BYTES, exported=False)
    """Memory allocated on its node when it started."""
    node_cpu: float | None = column(Unit.CORES, exported=False)
    """CPU cores allocated on its node when it started."""
    neighbours: tuple[str, ...] = ()
    """Tasks that ran beside it when it started, as ``namespace/name``."""
    beside: Mapping[str, float] | None = None
    """How many of each task ran beside it on average; None if nobody saw all of its time.

    Under ``placing.kinds.UNLABELLED``: cores that pods of no task used there, if an agent said."""
    workflow_run: str | None = column(Unit.TEXT)
    """The run of a workflow it was part of; None if nobody said. Not ``run``, the task's own."""
    item: str | None = column(Unit.TEXT)
    """The sample, partition or date that it worked on; None if nobody said."""
    request_memory_ran_bytes: int | None = column(Unit.BYTES)
    """Memory request it ran under, after sizing; None if none."""
    limit_cores: float | None = column(Unit.CORES)
    """CPU limit it ran under, in cores; None if none."""
    requested_s: float | None = column(Unit.SECONDS)
    """Seconds that it might run at most (activeDeadlineSeconds); None if nobody said."""
    node_memory_share: float | None = column(Unit.SHARE)
    """Share of its node's allocatable memory that watched pods had at its start, with itself."""
    node_cpu_share: float | None = column(Unit.SHARE)
    """The same share of the node's CPU."""
    cluster_memory_share: float | None = column(Unit.SHARE)
    """Share of all nodes' allocatable memory that watched pods had when it started."""
    cluster_cpu_share: float | None = column(Unit.SHARE)
    """The same share of all nodes' CPU."""
    waiting_pods: int | None = column(Unit.PODS)
    """Watched pods that waited for a node, or to begin, when it started."""
    submitted_memory_share: float | None = column(Unit.SHARE)
    """``cluster_memory_share`` when it was submitted; no node is known then."""
    submitted_cpu_share: float | None = column(Unit.SHARE)
    """``cluster_cpu_share`` when it was submitted."""
    submitted_waiting_pods: int | None = column(Unit.PODS)
    """``waiting_pods`` when it was submitted, without itself."""
    node_use_cpu_share: float | None = column(Unit.SHARE)
    """Share of its node's CPU that was busy when it started, as the node's agent read it.

    All that runs there counts; None if no agent reported it."""
    node_use_memory_share: float | None = column(Unit.SHARE)
    """Share of its node's memory that was in use and could not be reclaimed, likewise."""
    cause: Cause | None = column(Unit.CAUSE)  # noqa: RUF009 - it is fixed, as numbers are
    """Why it did not succeed; None if it did, or if it was written before causes were kept."""

    written_limit_bytes: int | None = column(Unit.BYTES)
    """The memory limit as its author wrote it; 0 if there was none, None if nobody said."""

    @property
    def reserved_bytes(self) -> int | None:
        """Memory that its node kept free for it: the request that it ran with.

        A limit keeps nothing free. It stands in only for attempts that were recorded before that
        request was. None if nothing was requested.
        """
        if self.request_memory_ran_bytes is not None:
            return self.request_memory_ran_bytes
        return self.request_bytes if self.allocation_bytes is None else self.allocation_bytes

    @property
    def is_lowered(self) -> bool:
        """Whether it ran under a lower limit than its author wrote."""
        limit_bytes, written_bytes = self.allocation_bytes, self.written_limit_bytes
        if written_bytes is None:
            # Only Plimsoll writes a limit below the request.
            return bool(limit_bytes) and (limit_bytes or 0) < (self.request_bytes or 0)
        return is_lowered_limit(limit_bytes, written_bytes)

    @property
    def failed_by_itself(self) -> bool:
        """Whether its program ended itself, and more memory may have carried it."""
        if self.outcome is not Outcome.FAILED or not self.exit_code:
            return False
        return self.cause is None or self.cause.is_own_heap or self.cause.is_unknown

    @property
    def runtime_s(self) -> float | None:
        """Seconds it ran. None if unknown, or if the clock jumped backwards meanwhile."""
        if self.started_s is None or self.finished_s is None or self.finished_s < self.started_s:
            return None
        return self.finished_s - self.started_s

    @property
    def mean_cores(self) -> float | None:
        """Cores it used on average. None if not measured, or it took no time that shows."""
        runtime_s = self.runtime_s
        return self.cpu_s / runtime_s if runtime_s and self.cpu_s is not None else None

    @property
    def killed_below_request(self) -> bool:
        """Whether it was killed at a limit below what the user asked for.

        An attempt ended by its node's lack of memory counts too, if its request was lowered.
        """
        return self.was_pressed_out or (
            self.outcome is Outcome.OOM_KILLED
            and None not in (self.request_bytes, self.allocation_bytes)
            and (self.allocation_bytes or 0) < (self.request_bytes or 0)
        )

    @property
    def was_pressed_out(self) -> bool:
        """Whether its node ran out of memory and ended it, at a lower request than its author's.

        If a node is short of memory, the kubelet and the kernel first end pods that use more than
        they request. With its author's request, it might have stayed.
        """
        return (
            self.cause is Cause.NODE_PRESSURE
            and None not in (self.request_bytes, self.request_memory_ran_bytes)
            and (self.request_memory_ran_bytes or 0) < (self.request_bytes or 0)
        )

    @property
    def need(self) -> Need | None:
        """The need that this attempt teaches; None if it teaches nothing."""
        if self.outcome is Outcome.SUCCEEDED and self.peak_bytes is not None:
            return Need(self.peak_bytes, censored=False)
        if self.outcome is Outcome.OOM_KILLED and self.allocation_bytes is not None:
            return Need(self.allocation_bytes, censored=True)
        return None


COLUMNS: Final = tuple(
    Column(each.name, each.metadata["unit"], each.metadata["exported"])
    for each in fields(Observation)
    if each.metadata
)
"""The fields of an observation that are stored as they are, in its order."""
