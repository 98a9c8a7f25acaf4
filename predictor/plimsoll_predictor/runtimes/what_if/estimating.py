"""What would change a task's runtime, from its own past runs under other conditions.

The paper (section 7) asks its predictor about conditions it changes by hand. A predictor that
learned from all jobs together answers with what went along with those conditions, whoever ran
under them. Here a run is compared only with runs of the same task at the same time, every answer
has an interval, and where it includes no change, or runs are too few, that is the answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

import numpy as np

from plimsoll_predictor.runtimes.shapes.summary import RuntimeSummary, summarise
from plimsoll_predictor.runtimes.what_if.change import Evidence, MeasureChange, change_of
from plimsoll_predictor.runtimes.what_if.contrast import (
    FEWEST_RUNS,
    Effect,
    HeldOut,
    combined,
    contrast,
    held_out,
    pooled,
)
from plimsoll_predictor.runtimes.what_if.matching import FEWEST_BLOCKS, Matched, matched
from plimsoll_predictor.runtimes.what_if.measures import (
    MEASURES,
    FloatArray,
    Measure,
    levels,
    log_outlier_of,
)
from plimsoll_predictor.runtimes.what_if.past_run import PastRun
from plimsoll_predictor.runtimes.what_if.scenario import UNTOLD, Scenario, Sides
from plimsoll_predictor.runtimes.what_if.what_if import Counts, WhatIf

MOST_RUNS: Final = 10_000
"""The newest so many runs of a task are looked at."""
MOST_OTHERS: Final = 30
MOST_RUNS_OF_OTHERS: Final = 1_000
FEWEST_OTHERS: Final = 5
SHORTEST_RUNTIME_S: Final = 1.0
"""Clocks of whole seconds tell nothing shorter."""


def estimate(
    runs: Sequence[PastRun],
    scenario: Scenario,
    others: Mapping[str, Sequence[PastRun]] | None = None,
) -> WhatIf:
    """What the scenario would change, as far as past runs can tell.

    runs: of one task, in any order. others: further tasks of its owner by name; each is compared
    with itself, and what they have in common widens the evidence where the task has few runs.
    Time grows with the runs looked at: below a second for 10,000.
    """
    own = _Task.of(runs, scenario, MOST_RUNS)
    effects = {} if own.matched is None else contrast(own.matched, own.log_outlier)
    expected = _expected(scenario, others or {})
    changes = tuple(
        _change(effects.get(measure), own.expecting(measure, expected.get(measure)), measure)
        for measure in MEASURES
    )
    checked = HeldOut(0, 0) if own.matched is None else held_out(own.matched, own.log_outlier)
    return WhatIf(
        scenario=scenario,
        counts=own.counts,
        changes=changes,
        held_out=checked,
        now=own.summary(asked=0),
        then=own.summary(asked=1),
    )


_Others: TypeAlias = tuple[Effect, int]
"""What other tasks lead to expect, and how many they are."""


@dataclass(frozen=True, slots=True, eq=False)
class _Task:
    """One task's runs in order of time, and which of them can be compared."""

    log_runtimes: FloatArray
    sides: Sides
    log_outlier: float
    matched: Matched | None

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
        """How many runs of each side there are, and how many of them could be compared."""
        asked = 0 if self.matched is None else int(self.matched.as_asked.sum())
        return Counts(
            as_asked=int((self.sides == 1).sum()),
            otherwise=int((self.sides == 0).sum()),
            untold=int((self.sides == UNTOLD).sum()),
            compared_as_asked=asked,
            compared_otherwise=0 if self.matched is None else self.matched.as_asked.size - asked,
            blocks=0 if self.matched is None else self.matched.blocks,
            block_s=None if self.matched is None else self.matched.block_s,
        )

    def expecting(self, measure: Measure, others: _Others | None) -> _Others | None:
        """Others' effect on this task's own level, where enough of its runs show that.

        Only runtimes scale from task to task; a spread or a share of outliers may have none to
        lose.
        """
        if others is None or measure not in {Measure.P50, Measure.P95}:
            return others
        runs = np.sort(self.log_runtimes[self.sides == 0])
        if runs.size < FEWEST_RUNS[measure]:
            return others
        found = levels(runs, np.ones(runs.size), self.log_outlier)
        level = float(found[MEASURES.index(measure)])
        return replace(others[0], otherwise=level), others[1]

    def summary(self, *, asked: int) -> RuntimeSummary | None:
        """How the runtimes of one side vary, oldest first; None if it has no runs."""
        of_side = np.exp(self.log_runtimes[self.sides == asked])
        return summarise(of_side) if of_side.size else None


def _expected(
    scenario: Scenario, others: Mapping[str, Sequence[PastRun]]
) -> dict[Measure, _Others]:
    """What other tasks lead to expect of a further one."""
    tasks = [_Task.of(others[name], scenario, MOST_RUNS_OF_OTHERS) for name in sorted(others)]
    comparable = [task for task in tasks if task.matched and task.matched.n_groups >= FEWEST_BLOCKS]
    comparable.sort(key=lambda task: -task.matched.effective_runs if task.matched else 0.0)
    found = [
        contrast(task.matched, task.log_outlier)
        for task in comparable[:MOST_OTHERS]
        if task.matched
    ]
    expected = {}
    for measure in MEASURES:
        of_measure = [effects[measure] for effects in found if measure in effects]
        if len(of_measure) >= FEWEST_OTHERS:
            expected[measure] = pooled(of_measure), len(of_measure)
    return expected


def _change(own: Effect | None, others: _Others | None, measure: Measure) -> MeasureChange:
    """Its own evidence where it has any; with others', where those are more certain."""
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
