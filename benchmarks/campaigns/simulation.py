"""How many scenarios a campaign needs: most to learn next, and the plain order. SYNTHETIC data.

    PYTHONPATH=. .venv/bin/python -P -m benchmarks.campaigns.simulation
        [--seeds N] [--scenarios N] [--json FILE]

The scenarios are rows of the two heavy tasks of docs/thesis.md, drawn by a seed. Each order runs
all of them. Two things are asked after each run. The estimate is the campaign's own figure
(EST-SAVED). The served improvement is the truth: every scenario of the task, run or not, is served
by what is known by then, and a size that is too small is charged as an attempt that fails and is
repeated with the template's request. The medians of the seeds are in bench-scale.json, under
"campaigns". The exit status is 1 if the estimate of most to learn next does not reach the plain
order's final one with half of the scenarios, in the median of the seeds.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from statistics import median
from typing import Final

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.scale import results_file
from benchmarks.thesis.situation import the_situation
from benchmarks.thesis.tasks import HEAVY_1, HEAVY_2, TaskRows, the_tasks
from plimsoll_predictor.campaigns.needs import Array, axes_of, fit, least_certain, needs_of
from plimsoll_predictor.campaigns.runs import CampaignRun, RunState
from plimsoll_predictor.campaigns.saving import best_bins, learned_of, saving_of
from plimsoll_predictor.campaigns.settled import moves_no_more

SITUATION_SEED: Final = 4
"""The same as in benchmarks/thesis/comparison.py."""
WITHIN: Final = 0.02
"""An order has reached an improvement when it stays within this distance of it."""
BAR: Final = 0.5
"""Most to learn next must reach the plain order's estimate with this share of the scenarios."""
STOP_CHANGE: Final = 0.01
STOP_RUNS: Final = 5
"""The stop rule of docs/campaigns.md."""
SIGMAS: Final = 1.0

Choose = Callable[[Sequence[CampaignRun], Sequence[CampaignRun]], CampaignRun]


@dataclass(frozen=True, slots=True)
class Course:
    """The course of one order: after each run, the estimate and the served improvement.

    stopped: after how many runs the stop rule would have ended it.
    """

    estimated: tuple[float, ...]
    served: tuple[float, ...]
    stopped: int


def scenarios_of(rows: TaskRows, count: int, seed: int) -> list[CampaignRun]:
    """Some rows of a task as scenarios, each with the need that a run of it would show."""
    places = np.random.default_rng(seed).choice(len(rows.features), count, replace=False)
    return [
        CampaignRun(
            scenario=number,
            values={name: str(value) for name, value in rows.features[place].items()},
            memory_bytes=rows.reference_bytes,
            peak_bytes=int(rows.need_bytes[place]),
            runtime_s=float(rows.runtime_s[place]),
        )
        for number, place in enumerate(places)
    ]


def course_of(truth: Sequence[CampaignRun], reference_bytes: int, choose: Choose) -> Course:
    """Run all scenarios in an order."""
    runs = {run.scenario: replace(run, peak_bytes=None, runtime_s=None) for run in truth}
    estimated: list[float] = []
    served: list[float] = []
    stopped: int | None = None
    for turn in range(len(truth)):
        waiting = [run for run in runs.values() if run.state is RunState.REGISTERED]
        chosen = choose(list(runs.values()), waiting)
        done = replace(truth[chosen.scenario], state=RunState.LEARNED, ended_s=float(turn))
        runs[chosen.scenario] = done
        every = list(runs.values())
        saving = saving_of(every, reference_bytes)
        estimated.append(saving.expected if saving else 0.0)
        served.append(served_improvement(learned_of(every), truth, reference_bytes))
        if stopped is None and moves_no_more(every, reference_bytes, STOP_CHANGE, STOP_RUNS):
            stopped = turn + 1
    return Course(tuple(estimated), tuple(served), stopped or len(truth))


def served_improvement(
    learned: Sequence[CampaignRun], truth: Sequence[CampaignRun], reference_bytes: int
) -> float:
    """The share of the requested memory-time that is saved on all scenarios, failures charged."""
    option = best_bins(learned, reference_bytes)
    if option is None:
        return 0.0
    axes = axes_of([run.values for run in truth])
    fitted = fit(axes, learned)
    expected, widths = fitted.predict(axes.of([run.values for run in truth]))
    # The width is between the tenth and the ninetieth hundredth: 2 x 1.28 standard deviations.
    ceilings: Array = np.asarray(option.bins.ceilings_bytes, dtype=np.float64)
    sizes = ceilings[option.bins.labels(expected + SIGMAS * widths / 2.56)]
    needs, runtimes = needs_of(truth), np.asarray([run.runtime_s or 0.0 for run in truth])
    failed = sizes < needs
    costs = (sizes + failed * reference_bytes) * runtimes
    return float(1.0 - costs.sum() / (reference_bytes * runtimes.sum()))


def reached(course: Sequence[float], goal: float) -> int:
    """After how many runs it stays within WITHIN of the goal."""
    apart = [place for place, each in enumerate(course) if abs(each - goal) > WITHIN]
    return (apart[-1] + 2) if apart else 1


def _in_order(_: Sequence[CampaignRun], waiting: Sequence[CampaignRun]) -> CampaignRun:
    return min(waiting, key=lambda run: run.key)


@dataclass(frozen=True, slots=True)
class Compared:
    """One task and seed, in both orders: the plain one, and most to learn next (chosen).

    estimated, served: after how many runs it reached the plain order's final figure. stopped: see
    Course. lost: how much less than the plain order's final figure is served by then. wrong: how
    far the estimate is from that figure with half of the scenarios.
    """

    task: str
    seed: int
    plain_estimated: int
    chosen_estimated: int
    plain_served: int
    chosen_served: int
    plain_stopped: int
    chosen_stopped: int
    plain_lost: float
    chosen_lost: float
    plain_wrong: float
    chosen_wrong: float
    final_estimated: float
    final_served: float


def compare(rows: TaskRows, count: int, seed: int) -> Compared:
    """Run both orders on the same scenarios."""
    truth = scenarios_of(rows, count, seed)
    plain = course_of(truth, rows.reference_bytes, _in_order)
    chosen = course_of(truth, rows.reference_bytes, least_certain)
    estimate, served, half = plain.estimated[-1], plain.served[-1], int(count * BAR) - 1
    return Compared(
        task=rows.kind.name,
        seed=seed,
        plain_estimated=reached(plain.estimated, estimate),
        chosen_estimated=reached(chosen.estimated, estimate),
        plain_served=reached(plain.served, served),
        chosen_served=reached(chosen.served, served),
        plain_stopped=plain.stopped,
        chosen_stopped=chosen.stopped,
        plain_lost=served - plain.served[plain.stopped - 1],
        chosen_lost=served - chosen.served[chosen.stopped - 1],
        plain_wrong=abs(plain.estimated[half] - served),
        chosen_wrong=abs(chosen.estimated[half] - served),
        final_estimated=estimate,
        final_served=served,
    )


def main() -> int:
    """Print the table; 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--scenarios", type=int, default=60)
    parser.add_argument("--situation", type=int, default=SITUATION_SEED)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    tasks = the_tasks(the_situation(asked.situation))
    seeds = range(asked.first_seed, asked.first_seed + asked.seeds)
    found = [
        compare(tasks[name], asked.scenarios, seed) for name in (HEAVY_1, HEAVY_2) for seed in seeds
    ]
    Console(width=120).print(_table(found))
    results_file.keep(
        {"campaigns": {"scenarios": asked.scenarios, "seeds": len(seeds), **medians_of(found)}}
    )
    if asked.json is not None:
        asked.json.write_text(json.dumps([asdict(each) for each in found], indent=2))
    bar = asked.scenarios * BAR
    missed = False
    for name, middles in medians_of(found).items():
        runs = middles["chosen_estimated"]
        missed |= runs > bar
        words = "met" if runs <= bar else "MISSED"
        print(f"{name}: most to learn next reaches the plain order's final estimate with {runs:g}")
        print(f"  of {asked.scenarios} scenarios, median of {asked.seeds}; bar {bar:g}: {words}")
    return 1 if missed else 0


def medians_of(found: Sequence[Compared]) -> dict[str, dict[str, float]]:
    """The median of each figure, by task."""
    return {
        name: {
            key: median(asdict(each)[key] for each in found if each.task == name)
            for key in _FIGURES
        }
        for name in dict.fromkeys(each.task for each in found)
    }


def _table(found: Sequence[Compared]) -> Table:
    """One row for each task and seed, and medians. Each pair is plain, and most to learn."""
    heads = ("estimated", "served", "stopped", "lost then", "wrong at half")
    table = Table("task", "seed", *heads, "final est.", "final served")
    for each in found:
        table.add_row(each.task, str(each.seed), *_cells(asdict(each)))
    for name, middles in medians_of(found).items():
        table.add_row(name, "median", *_cells(middles), style="bold")
    return table


def _cells(figures: Mapping[str, float]) -> list[str]:
    runs = [f"{figures[f'plain_{of}']:g}, {figures[f'chosen_{of}']:g}" for of in _OF_RUNS]
    shares = [f"{figures[f'plain_{of}']:.3f}, {figures[f'chosen_{of}']:.3f}" for of in _OF_SHARES]
    return [
        *runs,
        *shares,
        f"{figures['final_estimated']:.3f}",
        f"{figures['final_served']:.3f}",
    ]


_OF_RUNS: Final = ("estimated", "served", "stopped")
_OF_SHARES: Final = ("lost", "wrong")
_FIGURES: Final = tuple(each.name for each in fields(Compared) if each.name not in {"task", "seed"})


if __name__ == "__main__":
    sys.exit(main())
