"""Traces cut and joined so that tasks change: a task's need moves to another level. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from types import MappingProxyType
from typing import Final

from plimsoll_predictor.replay.sizes.rows import TraceRow

LEAST_RUNS: Final = 32
"""A task with fewer runs is left as it is: there must be a before and an after."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shifted:
    """A trace in which some tasks change.

    after: lines of the runs that come after their task's change, in order of submission.
    """

    rows: Sequence[TraceRow]
    after: Mapping[str, Sequence[int]]


def unchanged(rows: Sequence[TraceRow]) -> Shifted:
    """The trace as it is."""
    return Shifted(rows=rows, after=MappingProxyType({}))


def scaled(rows: Sequence[TraceRow], factor: float) -> Shifted:
    """From the middle of each task on, its runs need ``factor`` times as much."""
    after = {
        task: [row.line for row in runs[len(runs) // 2 :]]
        for task, runs in _by_task(rows).items()
        if len(runs) >= LEAST_RUNS
    }
    moved = {line for lines in after.values() for line in lines}
    changed = [
        replace(row, peak_bytes=max(1, round(row.peak_bytes * factor)))
        if row.line in moved
        else row
        for row in rows
    ]
    return Shifted(rows=changed, after=after)


def joined(rows: Sequence[TraceRow]) -> Shifted:
    """Two tasks' histories under one name: a task that becomes another program.

    Pairs are neighbours in the number of runs. The second history begins when the first has ended,
    and has the same request: nobody has looked at the request again.
    """
    tasks = [runs for runs in _by_task(rows).values() if len(runs) >= LEAST_RUNS]
    tasks.sort(key=lambda runs: (len(runs), runs[0].task))
    pairs = list(zip(tasks[::2], tasks[1::2], strict=False))
    moved: dict[int, TraceRow] = {}
    after: dict[str, Sequence[int]] = {}
    for first, second in pairs:
        name = first[0].task
        later_s = max(0.0, max(r.complete_s for r in first) - second[0].submit_s) + 1.0
        preset_bytes = _usual_preset_bytes(first)
        for row in second:
            moved[row.line] = replace(
                row,
                task=name,
                preset_bytes=preset_bytes,
                submit_s=row.submit_s + later_s,
                start_s=row.start_s + later_s,
                complete_s=row.complete_s + later_s,
            )
        after[name] = [row.line for row in second]
    return Shifted(rows=[moved.get(row.line, row) for row in rows], after=after)


def _usual_preset_bytes(runs: Sequence[TraceRow]) -> int | None:
    presets = [row.preset_bytes for row in runs if row.preset_bytes is not None]
    return round(median(presets)) if presets else None


def _by_task(rows: Sequence[TraceRow]) -> dict[str, list[TraceRow]]:
    """Each task's runs in order of submission."""
    tasks: dict[str, list[TraceRow]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: (row.submit_s, row.line)):
        tasks[row.task].append(row)
    return tasks
