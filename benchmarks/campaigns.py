"""How many scenarios a campaign needs: most to learn next, and the plain order. SYNTHETIC data.

    .venv/bin/python -P benchmarks/campaigns.py [--seeds N] [--scenarios N] [--json FILE]

The scenarios are rows of the two heavy tasks of docs/thesis.md, drawn by a seed. Each order runs
all of them. Two things are asked after each run. The estimate is the campaign's own figure. The
served improvement is the truth: every scenario of the task, run or not, is served by what is known
by then, and a size that is too small is charged as an attempt that fails and is repeated with the
template's request.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from typing import Final

# Run as a file by `python -P`: the checkout is where benchmarks.* are found.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.thesis_situation import the_situation
from benchmarks.thesis_tasks import HEAVY_1, HEAVY_2, TaskRows, the_tasks
from plimsoll_predictor.campaigns.findings import best_bins, estimated_improvement
from plimsoll_predictor.campaigns.needs import Array, axes_of, fit, least_certain, needs_of
from plimsoll_predictor.campaigns.runs import CampaignRun, RunState

SITUATION_SEED: Final = 4
"""As of benchmarks/thesis.py."""
WITHIN: Final = 0.02
"""An order has reached an improvement once it stays within this of it, or above."""
SIGMAS: Final = 1.0

Choose = Callable[[Sequence[CampaignRun], Sequence[CampaignRun]], CampaignRun]


@dataclass(frozen=True, slots=True)
class Course:
    """How one order went: after each run, what was estimated and what would have been served."""

    estimated: tuple[float, ...]
    served: tuple[float, ...]


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
    for turn in range(len(truth)):
        waiting = [run for run in runs.values() if run.state is RunState.REGISTERED]
        chosen = choose(list(runs.values()), waiting)
        done = replace(truth[chosen.scenario], state=RunState.LEARNED, ended_s=float(turn))
        runs[chosen.scenario] = done
        learned = [run for run in runs.values() if run.state is RunState.LEARNED]
        estimated.append(estimated_improvement(learned, reference_bytes) or 0.0)
        served.append(served_improvement(learned, truth, reference_bytes))
    return Course(tuple(estimated), tuple(served))


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
    """After how many runs it stays at the goal, within WITHIN."""
    below = [place for place, each in enumerate(course) if each < goal - WITHIN]
    return (below[-1] + 2) if below else 1


def _in_order(_: Sequence[CampaignRun], waiting: Sequence[CampaignRun]) -> CampaignRun:
    return min(waiting, key=lambda run: run.key)


@dataclass(frozen=True, slots=True)
class Compared:
    """One task and seed: after how many runs each order reached the plain order's final figure."""

    task: str
    seed: int
    plain_estimated: int
    chosen_estimated: int
    plain_served: int
    chosen_served: int
    final_estimated: float
    final_served: float


def compare(rows: TaskRows, count: int, seed: int) -> Compared:
    """Run both orders on the same scenarios."""
    truth = scenarios_of(rows, count, seed)
    plain = course_of(truth, rows.reference_bytes, _in_order)
    chosen = course_of(truth, rows.reference_bytes, least_certain)
    estimate, served = plain.estimated[-1], plain.served[-1]
    return Compared(
        rows.kind.name,
        seed,
        reached(plain.estimated, estimate),
        reached(chosen.estimated, estimate),
        reached(plain.served, served),
        reached(chosen.served, served),
        estimate,
        served,
    )


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--scenarios", type=int, default=60)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    tasks = the_tasks(the_situation(SITUATION_SEED))
    found = [
        compare(tasks[name], asked.scenarios, seed)
        for name in (HEAVY_1, HEAVY_2)
        for seed in range(asked.seeds)
    ]
    table = Table("task", "seed", "plain est.", "chosen est.", "plain served", "chosen served")
    for each in found:
        table.add_row(*list(map(str, asdict(each).values()))[:6])
    for name in (HEAVY_1, HEAVY_2):
        ours = [asdict(each) for each in found if each.task == name]
        middles = [median(each[key] for each in ours) for key in list(ours[0])[2:]]
        table.add_row(name, "median", *(f"{each:g}" for each in middles[:4]), style="bold")
        print(f"{name}: final estimate {middles[4]:.3f}, final served {middles[5]:.3f}")
    Console().print(table)
    if asked.json is not None:
        asked.json.write_text(json.dumps([asdict(each) for each in found], indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
