"""How far a what-if can be trusted: on made-up tasks of known truth, and on logs.

    TRACES=folder PYTHONPATH=. .venv/bin/python -P -m benchmarks.what_if.coverage

docs/what-if.md says how to read the tables.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.what_if.load import (
    LoadEffect,
    arrays_of,
    busy_against_quiet,
    median_load_of,
    tasks_of,
)
from benchmarks.what_if.worlds import NEW, WORLDS, World
from plimsoll_predictor.replay.runtimes.log_reading import read_log
from plimsoll_predictor.runtimes.runs.log_run import LogRun
from plimsoll_predictor.runtimes.what_if.change import Direction, Evidence, change_of
from plimsoll_predictor.runtimes.what_if.contrast import HeldOut, contrast, held_out
from plimsoll_predictor.runtimes.what_if.estimating import estimate
from plimsoll_predictor.runtimes.what_if.measures import MEASURES, Measure, log_outlier_of
from plimsoll_predictor.runtimes.what_if.scenario import Scenario
from plimsoll_predictor.runtimes.what_if.time_blocks import matched

ROOT: Final = Path(__file__).resolve().parents[2]
SEEDS: Final = 40
MOST_TASKS: Final = 150
"""How many tasks of each log are used, those with the most runs."""
MOST_RUNS: Final = 2_000


@dataclass(slots=True)
class Tally:
    """The results of many answers to one measure. told: those that had an interval."""

    told: int = 0
    held_truth: int = 0
    cannot_tell: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.told + other.told,
            self.held_truth + other.held_truth,
            self.cannot_tell + other.cannot_tell,
        )

    def __str__(self) -> str:
        return f"{self.held_truth / self.told:.2f} / {self.cannot_tell / self.told:.2f}"


@dataclass(frozen=True, slots=True)
class Known:
    """How intervals did in one world whose truth is known."""

    world: str
    tallies: dict[Measure, Tally]
    held_out: HeldOut


@dataclass(frozen=True, slots=True)
class Unknown:
    """The answers of a log's tasks about a busy cluster, each by itself."""

    log: str
    tasks: int
    verdicts: dict[Measure, Counter[Direction]]
    held_out: HeldOut


def tables(traces: Path, console: Console, *, seeds: int = SEEDS) -> list[dict[str, Any]]:
    """Print the results; return the same as rows of plain JSON types.

    traces: a folder with runtime-*.csv.gz; without one only the made-up tasks are reported. seeds:
    how many tasks are made up of each kind.
    """
    known = [in_world(name, world, seeds) for name, world in WORLDS.items()]
    console.print(_known_table(known, seeds))
    rows = [_known_row(each) for each in known]
    effects: list[LoadEffect] = []
    unknown: list[Unknown] = []
    for path in sorted(traces.glob("runtime-*.csv*")):
        log = read_log(path)
        if not tasks_of(log.runs):
            continue
        effects += busy_against_quiet(log.name, log.runs)
        unknown.append(_of_log(log.name, log.runs))
    if unknown:
        console.print(_load_table(effects), _unknown_table(unknown))
    rows += [{"method": "what-if: busy against quiet", **asdict(effect)} for effect in effects]
    return rows + [_unknown_row(each) for each in unknown]


def in_world(name: str, world: World, seeds: int) -> Known:
    """Answer for the world's task as drawn with each seed, and compare with the truth."""
    truth = world.truth()
    tallies = {measure: Tally() for measure in MEASURES}
    checked = within = 0
    for seed in range(seeds):
        answer = estimate(world.drawn(seed), Scenario(node_type=NEW))
        checked += answer.held_out.checked
        within += answer.held_out.within
        for change in answer.changes:
            if change.low is None or change.high is None:
                continue
            true = truth[change.measure]
            if change.measure is not Measure.OUTLIERS:
                true = float(np.expm1(true))
            tally = tallies[change.measure]
            tally.told += 1
            tally.held_truth += change.low <= true <= change.high
            tally.cannot_tell += change.direction is Direction.CANNOT_TELL
    return Known(name, tallies, HeldOut(checked, within))


def _of_log(name: str, runs: Sequence[LogRun]) -> Unknown:
    verdicts: dict[Measure, Counter[Direction]] = {measure: Counter() for measure in MEASURES}
    checked = within = 0
    recurring = tasks_of(runs)
    median_load = median_load_of(runs)
    most = sorted(recurring.values(), key=len, reverse=True)[:MOST_TASKS]
    for of_task in most:
        logs, loads, times_s = arrays_of(of_task[-MOST_RUNS:])
        compared = matched(logs, times_s, (loads > median_load).astype(np.int8))
        outlier = log_outlier_of(logs)
        effects = contrast(compared, outlier)
        agreed = held_out(compared, outlier)
        checked += agreed.checked
        within += agreed.within
        for measure in MEASURES:
            direction = Direction.TOO_FEW
            if measure in effects:
                direction = change_of(effects[measure], Evidence.OWN, 0).direction
            verdicts[measure][direction] += 1
    return Unknown(name, len(most), verdicts, HeldOut(checked, within))


def _known_table(known: Sequence[Known], seeds: int) -> Table:
    table = Table(
        title=f"Made-up tasks, {seeds} of each: 95% intervals that hold the truth / that hold no "
        "change",
        title_justify="left",
    )
    for column in ("task", *(str(measure) for measure in MEASURES), "held out"):
        table.add_column(column, justify="left" if column == "task" else "right")
    for each in known:
        told = [str(tally) if tally.told else "-" for tally in each.tallies.values()]
        table.add_row(each.world, *told, _share(each.held_out))
    together = [sum((each.tallies[of] for each in known), Tally()) for of in MEASURES]
    told = [f"{tally.held_truth / tally.told:.3f}" if tally.told else "-" for tally in together]
    table.add_section()
    table.add_row("all of them: hold the truth", *told, "")
    return table


def _load_table(effects: Sequence[LoadEffect]) -> Table:
    table = Table(
        title="Runs submitted while the cluster was busier than its median, against the others: "
        "interquartile range of ln(runtime)",
        title_justify="left",
    )
    for column in ("log", "all runs pooled", "least runs a side", "same task and week", "tasks"):
        table.add_column(column, justify="left" if column == "log" else "right")
    for effect in effects:
        table.add_row(
            effect.log,
            f"{effect.pooled:+.3f}",
            str(effect.fewest_runs),
            f"{effect.change:+.3f} [{effect.low:+.2f}, {effect.high:+.2f}]",
            str(effect.tasks),
        )
    return table


def _unknown_table(unknown: Sequence[Unknown]) -> Table:
    table = Table(
        title="Each task by itself: tasks that had less / more when busy, that cannot tell, "
        "with too few runs",
        title_justify="left",
    )
    for column in ("log", *(str(measure) for measure in MEASURES), "held out"):
        table.add_column(column, justify="left" if column == "log" else "right")
    for each in unknown:
        counts = [
            f"{of[Direction.LESS]} / {of[Direction.MORE]}, {of[Direction.CANNOT_TELL]}, "
            f"{of[Direction.TOO_FEW]}"
            for of in each.verdicts.values()
        ]
        table.add_row(each.log, *counts, _share(each.held_out))
    return table


def _known_row(known: Known) -> dict[str, Any]:
    row: dict[str, Any] = {"method": "what-if: known truth", "world": known.world}
    for measure, tally in known.tallies.items():
        row[str(measure)] = asdict(tally)
    return row | {"held_out": asdict(known.held_out)}


def _unknown_row(unknown: Unknown) -> dict[str, Any]:
    row: dict[str, Any] = {"method": "what-if: busy against quiet, by task", "log": unknown.log}
    row["tasks"] = unknown.tasks
    for measure, verdicts in unknown.verdicts.items():
        row[str(measure)] = {str(verdict): verdicts[verdict] for verdict in Direction}
    return row | {"held_out": asdict(unknown.held_out)}


def _share(held_out: HeldOut) -> str:
    return f"{held_out.within / held_out.checked:.3f}" if held_out.checked else "-"


def _main() -> None:
    traces = Path(os.environ.get("TRACES", ROOT.parent / "shared" / "traces"))
    tables(traces, Console(width=None if sys.stdout.isatty() else 110))


if __name__ == "__main__":
    _main()
