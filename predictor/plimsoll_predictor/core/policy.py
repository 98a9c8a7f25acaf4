"""The policy that people set. The operator resolves it: pod, TaskProfile, SizingPolicy, chart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from plimsoll_predictor.core.documents import from_document, to_document
from plimsoll_predictor.core.units import MIB

LEAST_FIRST_SIZE: Final = 0.5
"""A policy with a smaller first size is refused: docs/cold-start.md has what shares cost."""


class Mode(StrEnum):
    """The changes that Plimsoll may make to a pod."""

    OFF = "off"
    RECOMMEND = "recommend"
    """Decide, write the decision down, change no resources."""
    ENFORCE = "enforce"


class Limits(StrEnum):
    """The memory limit beside a request that is set."""

    EQUAL = "equal"
    """limit = request = allocation."""
    KEEP = "keep"
    """The limit stays, raised only where it would fall below the request."""


class Retry(StrEnum):
    """The policy for a bare pod's next attempt, which Plimsoll may make."""

    AUTO = "auto"
    NEVER = "never"


class Lending(StrEnum):
    """The policy for the unused part of a request, in a running attempt of a task never seen."""

    AUTO = "auto"
    """Its request may be lowered in place while its memory is flat; its limit stays."""
    NEVER = "never"


class Rescue(StrEnum):
    """The policy for a running attempt that is about to reach its memory limit."""

    AUTO = "auto"
    """Its request and limit may be raised in place, before the kernel kills it."""
    NEVER = "never"


class Placing(StrEnum):
    """The policy for telling a new pod's scheduler on which nodes its task gets along."""

    NEVER = "never"
    RECOMMEND = "recommend"
    """Choose nodes and count what was chosen; the pod stays as it is."""
    ENFORCE = "enforce"
    """Write them on the pod, as a preference."""


class Order(StrEnum):
    """The policy for the order in which new pods of tasks start, while there is no room for all."""

    NEVER = "never"
    """As they come: the scheduler gets every pod at once."""
    ENFORCE = "enforce"
    """A new pod waits behind a gate until it is its turn."""


class JobsWait(StrEnum):
    """The policy for how a new Job waits, where pods start in an order."""

    GATED = "gated"
    """Each of its pods behind a gate."""
    SUSPENDED = "suspended"
    """All of it at once, suspended: it has no pods before its turn."""


class KilledAttempts(StrEnum):
    """The policy for a Job's attempts that fail at a size below what was written."""

    COUNT = "count"
    """They count against its backoffLimit, as any other."""
    IGNORE = "ignore"
    """The Job gets a podFailurePolicy, so that they do not count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuPolicy:
    """The policy for CPU requests, apart from memory; limits are never touched."""

    mode: Mode = Mode.RECOMMEND
    min_millicores: int = 10
    """No sized request is below it."""
    max_millicores: int | None = None
    """No sized request is above it; None leaves only the container's limit and the cluster."""
    headroom: float = 1.2
    """Factor over what the runs used; >= 1."""
    min_runs: int = 5
    """Measured runs before a request is changed; few runs get no more headroom than many."""


class Replaceable(StrEnum):
    """The properties of Spark that may be replaced where they stand in configuration."""

    PARTITIONS = "spark.sql.shuffle.partitions"


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkPolicy:
    """The policy for settings that drivers of Spark get where their user set none."""

    mode: Mode = Mode.OFF
    partitions: int | None = None
    """Partitions of a shuffle where adaptive execution is off, as ``plimsoll spark --teach`` found
    it; None where nothing was taught."""
    replaces: tuple[Replaceable, ...] = ()
    """Properties that count as not set where a file or an option sets them. Code still wins.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """One task's policy, all levels resolved."""

    mode: Mode = Mode.RECOMMEND
    paused: bool = False
    """Whether pods are left as they are written, whatever the mode and the pod itself say; their
    needs are still observed and learned."""
    min_bytes: int = 32 * MIB
    """No allocation is below it."""
    max_bytes: int | None = None
    """No size is raised above it, but a request above it stays; None leaves only the cluster's."""
    overhead_s: float | None = None
    """What a failed attempt costs beyond the memory-time it wasted, in seconds of its memory; 0 to
    86400. Prices the failed attempts of every expert: the knob between waste and failures. None
    prices them by the run (knowledge/measured_constants.py)."""
    penalty: float = 10.0
    """How many times worse a too small allocation is than a too large one (thesis 5.2.3); >= 1.
    Weighs the classifier's training, its u-score and the choice of a ceiling."""
    first_size: float = 1.0
    """First size of a task never seen, as a share of its request; 0.5 to 1."""
    error_budget: float | None = None
    """Share of a task's runs that may have an attempt killed at a size below their request; 0 to
    0.5. As it is spent, sizes move toward the request. None leaves it to the price of a failure."""
    critical: bool = False
    """Whether a task never seen gets its whole request, whatever ``first_size`` says."""
    max_bins: int = 8
    """1 to 8."""
    max_lifts: int = 3
    """Lifts per run before the task is marked Leaking; 0 never lifts."""
    attempts: int | None = None
    """All attempts that a workflow engine makes of each run, where its pods do not say it; None if
    unknown. A run that may have no second attempt is never sized below what was written."""
    min_runs: int = 1
    """Runs with a known need before anything is lowered below the user's request."""
    headroom: float = 1.1
    """Factor over the largest need seen: of the last ceiling, and where no expert serves yet."""
    limits: Limits = Limits.EQUAL
    retry: Retry = Retry.AUTO
    lending: Lending = Lending.NEVER
    rescue: Rescue = Rescue.NEVER
    placing: Placing = Placing.NEVER
    order: Order = Order.NEVER
    jobs_wait: JobsWait = JobsWait.GATED
    killed_attempts: KilledAttempts = KilledAttempts.COUNT
    feature_sources: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Feature name -> {"annotation"|"label"|"env"|"arg": where it is read from}."""
    memory_weight: float = 0.0
    """The weight of memory beside time where Jobs over items are cut or lease: time ×
    memory^weight is minimised; 0 to 1."""
    cpu: CpuPolicy = CpuPolicy()
    spark: SparkPolicy = SparkPolicy()

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types; ``from_dict`` reads it back."""
        document: dict[str, Any] = to_document(self)
        return document

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Policy:
        """Inverse of ``to_dict``; ValueError names a field that is wrong.

        A field that a newer version added is ignored: what an older one knows still holds.
        """
        return from_document(cls, data, "a policy")
