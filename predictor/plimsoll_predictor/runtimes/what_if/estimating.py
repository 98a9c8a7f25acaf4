"""How other conditions would change a task's runtime, from its own past runs under them.

The paper (section 7) changes conditions by hand and asks a predictor that learned from all jobs
together, so its answer depends on which jobs ran under those conditions. Here a run is compared
only with runs of the same task at the same time, and every answer has an interval. If the interval
includes no change, or if there are too few runs, the answer says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

import numpy as np

from plimsoll_predictor.runtimes.shapes.variation_summary import RuntimeSummary, summarise
from plimsoll_predictor.runtimes.what_if.change import Evidence, MeasureChange, change_of
from plimsoll_predictor.runtimes.what_if.contrast import (
    FEWEST_RUNS,
    Effect,
    combined,
    contrast,
    held_out,
    pooled,
)
from plimsoll_predictor.runtimes.what_if.measures import (
    MEASURES,
    FloatArray,
    Measure,
    levels,
    log_outlier_of,
)
from plimsoll_predictor.runtimes.what_if.past_run import PastRun
from plimsoll_predictor.runtimes.what_if.scenario import UNKNOWN, Scenario, Sides
from plimsoll_predictor.runtimes.what_if.time_blocks import FEWEST_BLOCKS, Matched, matched
from plimsoll_predictor.runtimes.what_if.what_if import Counts, WhatIf

MOST_RUNS: Final = 10_000
"""The most runs of a task that are looked at, the newest."""
MOST_OTHERS: Final = 30
MOST_RUNS_OF_OTHERS: Final = 1_000
FEWEST_OTHERS: Final = 5
SHORTEST_RUNTIME_S: Final = 1.0
"""Clocks of whole seconds show nothing shorter."""


def estimate(
    runs: Sequence[PastRun],
    scenario: Scenario,
    others: Mapping[str, Sequence[PastRun]] | None = None,
) -> WhatIf:
    """The changes under a scenario, as far as past runs can tell.

    runs: of one task, in any order. others: further tasks of its owner by name, each compared with
    itself: they are evidence, too, if the task has few runs.
    It takes less than a second for 10,000 runs.
    """
    own = _Task.of(runs, scenario, MOST_RUNS)
    effects = contrast(own.matched, own.log_outlier)
    expected = _expected(scenario, others or {})
    changes = tuple(
        _change(effects.get(measure), own.expecting(measure, expected.get(measure)), measure)
        for measure in MEASURES
    )
    return WhatIf(
        scenario=scenario,
        counts=own.counts,
        changes=changes,
        held_out=held_out(own.matched, own.log_outlier),
        now=own.summary(asked=0),
        then=own.summary(asked=1),
    )


_Others: TypeAlias = tuple[Effect, int]
"""The effect expected from other tasks, and how many tasks they are."""


@dataclass(frozen=True, slots=True, eq=False)
class _Task:
    """One task's runs in order of time, and which of them can be compared."""

    log_runtimes: FloatArray
    sides: Sides
    log_outlier: float
    matched: Matched

    @classmethod
    def of(cls, runs: Sequence[PastRun], scenario: Scenario, most: int) -> _Task:
        newest = sorted(runs, key=lambda run: run.submitted_s)[-most:]
        runtimes_s = np.array([run.runtime_s for run in newest], dtype=np.float64)
        logs = np.log(np.maximum(runtimes_s, SHORTEST_RUNTIME_S))
        sides = scenario.sides(newest)
        times_s = np.array([run.submitted_s for run in newest], dtype=np.float64)
        outlier = log_outlier_of(logs) if newest else 0.0
        return cls(logs, sides, outlier, matched(logs, times_s, sides))

    @property
    def counts(self) -> Counts:
        """Runs by side, and how many of them could be compared."""
        asked = int(self.matched.as_asked.sum())
        return Counts(
            as_asked=int((self.sides == 1).sum()),
            otherwise=int((self.sides == 0).sum()),
            untold=int((self.sides == UNKNOWN).sum()),
            compared_as_asked=asked,
            compared_otherwise=self.matched.as_asked.size - asked,
            blocks=self.matched.blocks,
            block_s=self.matched.block_s,
        )

    def expecting(self, measure: Measure, others: _Others | None) -> _Others | None:
        """Others' effect, applied to this task's own level if enough of its runs show that level.

        Only runtimes scale from task to task; a spread or a share of outliers may be 0.
        """
        if others is None or measure not in {Measure.P50, Measure.P95}:
            return others
        runs = np.sort(self.log_runtimes[self.sides == 0])
        if runs.size < FEWEST_RUNS[measure]:
            return others
        own = levels(runs, np.ones(runs.size), self.log_outlier)
        return replace(others[0], otherwise=float(own[MEASURES.index(measure)])), others[1]

    def summary(self, *, asked: int) -> RuntimeSummary | None:
        """How the runtimes of one side vary, oldest first; None if it has no runs."""
        of_side = np.exp(self.log_runtimes[self.sides == asked])
        return summarise(of_side) if of_side.size else None


def _expected(
    scenario: Scenario, others: Mapping[str, Sequence[PastRun]]
) -> dict[Measure, _Others]:
    """The effects expected for a further task, from other tasks."""
    tasks = [_Task.of(others[name], scenario, MOST_RUNS_OF_OTHERS) for name in sorted(others)]
    comparable = [task for task in tasks if task.matched.n_groups >= FEWEST_BLOCKS]
    comparable.sort(key=lambda task: -task.matched.effective_runs)
    of_tasks = [contrast(task.matched, task.log_outlier) for task in comparable[:MOST_OTHERS]]
    expected = {}
    for measure in MEASURES:
        of_measure = [effects[measure] for effects in of_tasks if measure in effects]
        if len(of_measure) >= FEWEST_OTHERS:
            expected[measure] = pooled(of_measure), len(of_measure)
    return expected


def _change(own: Effect | None, others: _Others | None, measure: Measure) -> MeasureChange:
    """The task's own evidence if there is any, combined with others' if theirs is more certain."""
    if others is None:
        if own is None:
            return MeasureChange(measure=measure, evidence=Evidence.NONE)
        return change_of(own, Evidence.OWN, 0)
    expected, tasks = others
    if own is None:
        return change_of(expected, Evidence.OTHERS, tasks)
    if expected.half_width >= own.half_width:
        return change_of(own, Evidence.OWN, 0)
    return change_of(combined(own, expected), Evidence.BOTH, tasks)
