"""Whether load widens runtimes: by pooled runs, and by each task's own runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from plimsoll_predictor.runtimes.runs.log_run import LogRun
from plimsoll_predictor.runtimes.what_if.measures import FloatArray

FEWEST_RUNS_OF_TASK: Final = 20
FEWEST_RUNS_OF_SIDE: Final = (5, 6)
"""Two numbers, because the sign of a small effect depends on them."""
WEEK_S: Final = 604_800.0
RESAMPLES: Final = 2_000
SEED: Final = 1996


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadEffect:
    """Interquartile range of ln(runtime) of busy runs minus that of quiet ones.

    pooled: over all runs, each over its task's median. change, low, high: the mean over tasks of
    the mean over weeks with ``fewest_runs`` on either side, with a 95% interval from resampling
    tasks.
    """

    log: str
    fewest_runs: int
    pooled: float
    change: float
    low: float
    high: float
    tasks: int


def tasks_of(runs: Sequence[LogRun]) -> Mapping[str, list[LogRun]]:
    """The runs of each task that recurs, in their order, where the load is known."""
    found: dict[str, list[LogRun]] = {}
    for run in runs:
        if run.busy is not None:
            found.setdefault(run.task, []).append(run)
    return {task: of for task, of in found.items() if len(of) >= FEWEST_RUNS_OF_TASK}


def busy_against_quiet(log: str, runs: Sequence[LogRun]) -> list[LoadEffect]:
    """One effect for each of FEWEST_RUNS_OF_SIDE; none if the log has no loads."""
    tasks = [arrays_of(of_task) for of_task in tasks_of(runs).values()]
    if not tasks:
        return []
    median_load = median_load_of(runs)
    levelled = np.concatenate([logs - np.median(logs) for logs, _, _ in tasks])
    busy = np.concatenate([loads > median_load for _, loads, _ in tasks])
    pooled = _range(levelled[busy]) - _range(levelled[~busy])
    effects = []
    for fewest in FEWEST_RUNS_OF_SIDE:
        of_tasks = [_within_weeks(task, median_load, fewest) for task in tasks]
        means = np.array([np.mean(weeks) for weeks in of_tasks if weeks])
        if not means.size:
            continue
        low, high = _resampled(means)
        effects.append(
            LoadEffect(
                log=log,
                fewest_runs=fewest,
                pooled=pooled,
                change=float(means.mean()),
                low=low,
                high=high,
                tasks=int(means.size),
            )
        )
    return effects


Arrays: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]
"""ln(runtime), load and time of submission in seconds; (n_runs,) each."""


def arrays_of(runs: Sequence[LogRun]) -> Arrays:
    """Runs of known loads as arrays, in their order."""
    logs = np.log(np.maximum([run.runtime_s for run in runs], 1.0))
    loads = np.array([run.busy for run in runs], dtype=np.float64)
    return logs, loads, np.array([run.submitted_s for run in runs])


def median_load_of(runs: Sequence[LogRun]) -> float:
    """The median load at submission over a log's runs; at least one must be known."""
    return float(np.median([run.busy for run in runs if run.busy is not None]))


def _within_weeks(task: Arrays, median_load: float, fewest: int) -> list[float]:
    logs, loads, times_s = task
    weeks = np.floor(times_s / WEEK_S)
    found = []
    for week in np.unique(weeks):
        inside = weeks == week
        busy, quiet = logs[inside & (loads > median_load)], logs[inside & (loads <= median_load)]
        if min(busy.size, quiet.size) >= fewest:
            found.append(_range(busy) - _range(quiet))
    return found


def _range(logs: FloatArray) -> float:
    low, high = np.percentile(logs, [25, 75])
    return float(high - low)


def _resampled(means: FloatArray) -> tuple[float, float]:
    random = np.random.default_rng(SEED)
    drawn = random.choice(means, (RESAMPLES, means.size)).mean(axis=1)
    low, high = np.percentile(drawn, [2.5, 97.5])
    return float(low), float(high)
