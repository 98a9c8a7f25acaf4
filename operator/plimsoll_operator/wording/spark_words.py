"""Words for what a Spark event log shows: what was found, what it costs, what to set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from plimsoll_operator.wording.figure_words import number_words, words_for_gb_h
from plimsoll_predictor.core.durations import words_for_duration
from plimsoll_predictor.core.units import counted, words_for_bytes
from plimsoll_predictor.splitting.spark.application import Application, Reading
from plimsoll_predictor.splitting.spark.findings import Finding, Found, TimeVerdict
from plimsoll_predictor.splitting.spark.memory import HeapUnused, Killed, OverheadShort, Spilled
from plimsoll_predictor.splitting.spark.settings import ADAPTIVE, SPLIT
from plimsoll_predictor.splitting.spark.small_tasks import SmallTasks


def words_for_application(application: Application, found: Found) -> Mapping[str, str]:
    """Return a line for each thing that is known of an application, by its name."""
    span_s, stages = application.span_s, len(application.stages)
    took = "unknown" if span_s is None else words_for_duration(span_s)
    lines = {
        "Spark": application.version or "unknown",
        "ran": (
            f"{took}; {counted(stages, 'stage')} in {words_for_duration(application.stage_s)},"
            f" {counted(application.slots, 'task')} at once at most"
        ),
        "memory": _words_for_memory(application),
    }
    if found.time is not TimeVerdict.FOUND:
        lines["time"] = f"nothing to gain: {found.time.value}"
    if not found.findings:
        lines["found"] = "nothing to set"
    notes = _words_for_reading(application.reading)
    return {**lines, "log": "; ".join(notes)} if notes else lines


def _words_for_memory(application: Application) -> str:
    settings, heap = application.settings, application.peaks.heap
    peak = "its use was not measured" if heap is None else f"{words_for_bytes(heap)} were used"
    if settings.local:
        return f"the driver's alone, of which {peak}" if heap else f"the driver's alone; {peak}"
    full = application.lost.full_heaps
    ended = f"; {counted(full, 'executor')} ended with a full heap" if full else ""
    return (
        f"{words_for_bytes(settings.container_bytes)} an executor,"
        f" {words_for_bytes(settings.heap_bytes)} of it heap; {peak}{ended}"
    )


def _words_for_reading(reading: Reading) -> Sequence[str]:
    notes = [] if reading.ended else ["ends early: the application still ran, or was killed"]
    if reading.compacted:
        notes.append("was compacted: executors that are gone and tasks of ended jobs are not in it")
    if reading.bad:
        notes.append(f"{counted(reading.bad, 'line')} could not be read")
    if reading.long:
        notes.append(f"{counted(reading.long, 'line')} left out as too long")
    if reading.stages_left_out:
        notes.append(f"{counted(reading.stages_left_out, 'stage')} left out as too many")
    return notes


def words_for_finding(finding: Finding) -> tuple[str, str]:
    """Return what was found, and what it costs with the arithmetic."""
    match finding:
        case SmallTasks():
            return _small_tasks(finding)
        case Spilled():
            return _spilled(finding)
        case OverheadShort():
            return _overhead_short(finding)
        case Killed():
            return _killed(finding)
        case HeapUnused():
            return _heap_unused(finding)


def _small_tasks(found: SmallTasks) -> tuple[str, str]:
    tasks, enough = f"{counted(found.tasks, 'task')}", f"{found.enough:,}"
    where = f"in {counted(found.stages, 'stage')}"
    if found.setting == SPLIT:
        what = f"files read in small pieces: {tasks} {where}, where {enough} would do"
    else:
        off = "adaptive execution" if found.setting == ADAPTIVE else "coalescing of partitions"
        what = f"{off} is off: {tasks} {where}, where {enough} would do"
    own = _span(*found.own_s)
    return what, (
        f"{_span(*found.saves_s)}: {found.tasks - found.enough:,} tasks"
        f" × {own} that a task takes whatever it does ÷ {number_words(found.at_once)} at once"
    )


def _spilled(found: Spilled) -> tuple[str, str]:
    return (
        f"stage {found.stage} has {counted(found.tasks, 'partition')} that do not fit into memory;"
        f" {found.enough:,} do",
        f"{words_for_bytes(found.disk_bytes)} written to disk and read again: a task had"
        f" {words_for_bytes(found.peak_bytes)}, and needs {words_for_bytes(found.whole_bytes)}",
    )


def _overhead_short(found: OverheadShort) -> tuple[str, str]:
    used = found.python_bytes + found.jvm_bytes + found.other_bytes
    return (
        f"{words_for_bytes(used)} beside the heap, where"
        f" {words_for_bytes(used - found.short_bytes)} are foreseen",
        f"{words_for_bytes(found.short_bytes)} too little, for which an executor may be killed:"
        f" Python {words_for_bytes(found.python_bytes)} + JVM {words_for_bytes(found.jvm_bytes)}"
        f" + others {words_for_bytes(found.other_bytes)}, each at its most",
    )


def _killed(found: Killed) -> tuple[str, str]:
    return (
        f"{counted(found.executors, 'executor')} of {words_for_bytes(found.container_bytes)}"
        " killed as for memory; what grew was not measured",
        f"{words_for_duration(found.busy_s)} of {counted(found.tasks, 'task')} that went with them",
    )


def _heap_unused(found: HeapUnused) -> tuple[str, str]:
    return (
        f"of {words_for_bytes(found.heap_bytes)} heap {words_for_bytes(found.peak_bytes)}"
        " were used at most",
        f"{words_for_bytes(found.saves_bytes)} × {counted(found.executors, 'executor')},"
        f" {words_for_gb_h(found.memory_gb_h)} of this run",
    )


def _span(low_s: float, high_s: float) -> str:
    low, high = words_for_duration(low_s), words_for_duration(high_s)
    return low if low == high else f"{low} to {high}"
