"""Collects all findings about an application, or says why there is nothing to gain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from plimsoll_predictor.splitting.spark.application import Application
from plimsoll_predictor.splitting.spark.memory import (
    HeapUnused,
    Killed,
    OverheadShort,
    Spilled,
    heap_unused,
    killed,
    overhead_short,
    spilled,
)
from plimsoll_predictor.splitting.spark.small_tasks import (
    SmallTasks,
    small_partitions,
    small_splits,
)

Finding = SmallTasks | Spilled | HeapUnused | OverheadShort | Killed


class TimeVerdict(StrEnum):
    """How much time another split of the work would gain."""

    FOUND = "found"
    ADAPTIVE = "adaptive execution chooses partitions; counts change nothing beyond noise"
    LITTLE = "less than what the same run differs by"
    STREAM = "streams keep their partitions in their checkpoints, without adaptive execution"
    NO_QUERY = "no query of Spark SQL shuffled; programs over RDDs choose their partitions"


@dataclass(frozen=True, slots=True)
class Found:
    """Findings, those about time first; and the verdict on time if there is none."""

    findings: Sequence[Finding]
    time: TimeVerdict


def findings_of(application: Application) -> Found:
    """Return what to set, at most one property per finding."""
    times = [small_partitions(application), small_splits(application)]
    memory = [
        spilled(application),
        overhead_short(application),
        killed(application),
        heap_unused(application),
    ]
    found: list[Finding] = [each for each in (*times, *memory) if each is not None]
    return Found(found, _time(application, found=any(each is not None for each in times)))


def _time(application: Application, *, found: bool) -> TimeVerdict:
    if found:
        return TimeVerdict.FOUND
    shuffles = [each for each in application.stages if each.query and each.shuffle_bytes]
    if not shuffles:
        return TimeVerdict.NO_QUERY
    by_setting = [each for each in shuffles if each.by_setting]
    if not by_setting:
        return TimeVerdict.STREAM
    if all(each.settings.coalesces for each in by_setting):
        return TimeVerdict.ADAPTIVE
    return TimeVerdict.LITTLE
