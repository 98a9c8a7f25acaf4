"""Finds memory of an application that is too little, too much, or in a container's wrong part."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Final

from plimsoll_predictor.core.units import MIB, gb_hours
from plimsoll_predictor.splitting.spark.application import Application, Stage
from plimsoll_predictor.splitting.spark.settings import (
    ADVISORY,
    HEAP,
    LEAST_PARTITION_BYTES,
    OVERHEAD,
    PARTITIONS,
    PROCESS_TREE,
    Settings,
)

HEADROOM: Final = 1.25
"""A size that is lowered or set keeps this many times the largest use seen."""
LEAST_SHARE: Final = 0.25
"""The least share of the heap that is worth a restart."""
LEAST_SAMPLES: Final = 30
"""Readings of heaps that are needed before their largest is trusted as the need."""
_RESERVED_BYTES: Final = 300 * MIB
"""Spark keeps so much of the heap for itself."""
_LEAST_HEAP_BYTES: Final = 512 * MIB
"""Spark does not start with less than 450 MiB."""
_STEP_BYTES: Final = 64 * MIB
_MOST_PARTITIONS: Final = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Spilled:
    """Partitions that did not fit, so tasks wrote them to disk and read them again.

    disk_bytes: how much was written. peak_bytes: the most that a task had in memory. whole_bytes:
    how much it would have had without writing. tasks: partitions now; enough: so many that each
    fits.
    """

    stage: int
    disk_bytes: int
    peak_bytes: int
    whole_bytes: int
    tasks: int
    enough: int
    setting: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HeapUnused:
    """A heap that was never filled. Bytes are of one executor; memory_gb_h is of all."""

    heap_bytes: int
    peak_bytes: int
    saves_bytes: int
    executors: int
    memory_gb_h: float
    setting: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OverheadShort:
    """The container has too little room beside the heap: the kernel may kill it.

    python_bytes, other_bytes: resident. jvm_bytes: the JVM's memory beside its heap.
    """

    overhead_bytes: int
    python_bytes: int
    jvm_bytes: int
    other_bytes: int
    short_bytes: int
    setting: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Killed:
    """Executors that were killed for memory, without a measurement of which part grew.

    busy_s: time of the tasks that were lost with them.
    """

    executors: int
    tasks: int
    busy_s: float
    container_bytes: int
    setting: str
    value: str


def spilled(application: Application) -> Spilled | None:
    """Return the stage that wrote most to disk because its partitions were too large."""
    stages = [each for each in application.stages if _can_be_cut(each)]
    worst = max(stages, key=lambda each: each.disk_bytes, default=None)
    if worst is None:
        return None
    whole = worst.peak_bytes + worst.spilled_bytes // worst.tasks
    # Half of a task's memory now: this leaves room for tasks that get more than the mean.
    enough = min(_MOST_PARTITIONS, ceil(worst.tasks * 2 * whole / worst.peak_bytes))
    each_bytes = max(LEAST_PARTITION_BYTES, worst.shuffle_bytes // enough)
    adaptive = _coalesced(worst)
    return Spilled(
        stage=worst.number,
        disk_bytes=worst.disk_bytes,
        peak_bytes=worst.peak_bytes,
        whole_bytes=whole,
        tasks=worst.tasks,
        enough=enough,
        setting=ADVISORY if adaptive else PARTITIONS,
        value=f"{each_bytes // MIB}m" if adaptive else str(enough),
    )


def _can_be_cut(stage: Stage) -> bool:
    """Whether a property sets its number of partitions, and it wrote some of them to disk."""
    written = stage.by_setting and stage.disk_bytes and stage.peak_bytes
    return bool(written) and (_coalesced(stage) or stage.tasks == stage.settings.partitions)


def _coalesced(stage: Stage) -> bool:
    return stage.settings.coalesces and stage.tasks < stage.settings.partitions


def heap_unused(application: Application) -> HeapUnused | None:
    """Return the heap that executors did not need; None if it is little, or not measured."""
    settings, peaks, lost = application.settings, application.peaks, application.lost
    if settings.local or peaks.heap is None or lost.executors or lost.full_heaps:
        return None
    if peaks.samples < LEAST_SAMPLES or application.reading.compacted:
        return None
    heap = settings.heap_bytes
    # Used heap includes garbage, so the real need is at most this.
    room = _RESERVED_BYTES + HEADROOM * (peaks.unified or 0) / settings.fraction
    enough = _rounded(max(HEADROOM * peaks.heap, room, _LEAST_HEAP_BYTES))
    saved = heap - enough
    if saved < LEAST_SHARE * heap:
        return None
    return HeapUnused(
        heap_bytes=heap,
        peak_bytes=peaks.heap,
        saves_bytes=saved,
        executors=application.executors,
        memory_gb_h=gb_hours(saved, application.executor_s),
        setting=HEAP,
        value=f"{enough // MIB}m",
    )


def overhead_short(application: Application) -> OverheadShort | None:
    """Return the memory beside the heap if it exceeds its room."""
    settings, peaks = application.settings, application.peaks
    if not settings.contained or not (peaks.python or peaks.other):
        return None
    jvm, python, other = peaks.beside_heap or 0, peaks.python or 0, peaks.other or 0
    short = jvm + python + other - _room_bytes(settings)
    if short <= 0:
        return None
    return OverheadShort(
        overhead_bytes=settings.overhead_bytes,
        python_bytes=python,
        jvm_bytes=jvm,
        other_bytes=other,
        short_bytes=short,
        setting=OVERHEAD,
        value=f"{_rounded(HEADROOM * (jvm + python + other)) // MIB}m",
    )


def _room_bytes(settings: Settings) -> int:
    return settings.container_bytes - settings.heap_bytes


def killed(application: Application) -> Killed | None:
    """Return what kills cost if no measurement says which part of the container grew."""
    lost = application.lost
    if not lost.executors or application.peaks.python or application.peaks.other:
        return None
    return Killed(
        executors=lost.executors,
        tasks=lost.tasks,
        busy_s=lost.busy_s,
        container_bytes=application.settings.container_bytes,
        setting=PROCESS_TREE,
        value="true",
    )


def _rounded(size_bytes: float) -> int:
    return ceil(size_bytes / _STEP_BYTES) * _STEP_BYTES
