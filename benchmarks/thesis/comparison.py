"""The thesis's tables on SYNTHETIC data of its situation, and what Plimsoll serves on it.

    PYTHONPATH=. .venv/bin/python -P -m benchmarks.thesis.comparison
        [--quick] [--budget S] [--seed N] [--json FILE]

docs/thesis.md says how the data is made and how to read the tables. The exit status is 1 if the bar
is missed over both heavy tasks together: the classifier's waste at most half of max-seen's, with at
most one failed attempt per 100 runs.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from benchmarks.progress import progress_on
from benchmarks.thesis import groups, tables
from benchmarks.thesis.facts import Fact, facts, optimal_improvements
from benchmarks.thesis.models import ModelFigures, ModelJob, figures_of, model_jobs
from benchmarks.thesis.printed import BINNINGS
from benchmarks.thesis.served import (
    CLASSIFIER,
    RULES,
    Effort,
    Served,
    served_by_classifier,
    served_by_rule,
)
from benchmarks.thesis.situation import the_situation
from benchmarks.thesis.tasks import TaskRows, the_tasks

SEED: Final = 4
"""Among the first eight seeds, the one whose Table 6 comes closest to the thesis's; it was chosen
by that alone, before any model was made."""
BUDGET_S, QUICK_BUDGET_S = 200.0, 30.0
WORKERS: Final = 2
MODELS_SHARE: Final = 0.5
"""The share of the budget for the 18 models of each heavy task, both ways."""
TRAINING_SHARE: Final = 0.1
"""The share of the budget that one training in the replay may take. On an idle machine none takes
that long, so what is served does not depend on the speed of training."""
WASTE_BAR, FAILURE_BAR = 0.5, 0.01
BOTH: Final = "both heavy tasks"
MAX_SEEN: Final = ("max-seen", "max-seen-1.1")
WIDTH: Final = 150
"""Width of the tables without a terminal."""

_tasks: dict[int, dict[str, TaskRows]] = {}


@dataclass(frozen=True, slots=True)
class ServedJob:
    """One policy to be replayed on one heavy task."""

    seed: int
    task: str
    policy: str
    effort: Effort


Job = ModelJob | ServedJob


@dataclass(frozen=True, slots=True)
class Bar:
    """The classifier against max-seen, over the last 70% of the runs of a heavy task or of both."""

    task: str
    waste_ratio: float
    failure_rate: float

    @property
    def holds(self) -> bool:
        """Whether both parts of the bar are kept."""
        return self.waste_ratio <= WASTE_BAR and self.failure_rate <= FAILURE_BAR


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the tables. Returns 0 if the bar holds over both heavy tasks, or is not judged."""
    given = _parser().parse_args(arguments)
    budget_s = given.budget or (QUICK_BUDGET_S if given.quick else BUDGET_S)
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    situation = the_situation(given.seed)
    tasks = the_tasks(situation)
    stated = facts(situation, tasks)
    console.print(tables.facts_table(stated))
    jobs = _jobs(given.seed, budget_s, quick=given.quick)
    found = _done(jobs, console)
    models = [figures for figures in found if isinstance(figures, ModelFigures)]
    served = [figures for figures in found if isinstance(figures, Served)]
    savings = groups.table_12(tasks, _predicted(models, tasks))
    run = groups.table_13(savings, tasks)
    _print(console, tasks, models, served)
    console.print(tables.table_12(savings), tables.table_13(run))
    bars = _bars(served)
    for bar in bars:
        console.print(_in_words(bar), highlight=False)
    if given.json is not None:
        written = _document(given.seed, stated, (models, served, savings + run, bars))
        given.json.write_text(json.dumps(written, indent=2) + "\n")
    # So few trainings only check that all of it runs; they measure nothing.
    return 0 if given.quick or bars[-1].holds else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks.thesis.comparison", description=__doc__)
    parser.add_argument("--seed", type=int, default=SEED, help="of the generated data")
    parser.add_argument("--budget", type=float, help=f"seconds, about (default {BUDGET_S:g})")
    parser.add_argument(
        "--quick", action="store_true", help="fewer trials and trainings; the bar is not judged"
    )
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    return parser


def _jobs(seed: int, budget_s: float, *, quick: bool) -> list[Job]:
    effort = Effort(growth=2.0, iterations=2) if quick else Effort()
    effort = replace(effort, training_s=TRAINING_SHARE * budget_s)
    policies = (CLASSIFIER, *RULES)
    # The longest first.
    served: list[Job] = [
        ServedJob(seed, task, policy, effort) for policy in policies for task in BINNINGS
    ]
    made_s = MODELS_SHARE * budget_s * WORKERS / len(BINNINGS) / 2
    iterations = 2 if quick else 8
    models: list[Job] = [
        replace(job, shuffled=shuffled)
        for task in BINNINGS
        for job in model_jobs(task, seed=seed, iterations=iterations, budget_s=made_s)
        for shuffled in (False, True)
    ]
    return served + models


def _done(jobs: Iterable[Job], console: Console) -> list[ModelFigures | Served]:
    """The figures of all jobs, in their order."""
    context = multiprocessing.get_context("spawn")
    with (
        ProcessPoolExecutor(WORKERS, mp_context=context) as pool,
        progress_on(console) as progress,
    ):
        futures: list[Future[ModelFigures | Served]] = [pool.submit(_work, job) for job in jobs]
        bars = {
            kind: progress.add_task(words, total=sum(isinstance(job, kind) for job in jobs))
            for kind, words in ((ServedJob, "policies replayed"), (ModelJob, "models made"))
        }
        for done in as_completed(futures):
            kind = ServedJob if isinstance(done.result(), Served) else ModelJob
            progress.advance(bars[kind])
        return [future.result() for future in futures]


def _work(job: Job) -> ModelFigures | Served:
    # It comes with scikit-learn and ships no types.
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    tasks = _tasks.setdefault(job.seed, {})
    if not tasks:
        tasks.update(the_tasks(the_situation(job.seed)))
    with threadpool_limits(limits=1):
        if isinstance(job, ModelJob):
            return figures_of(job, tasks[job.task])
        if job.policy == CLASSIFIER:
            return served_by_classifier(tasks[job.task], job.effort, seed=job.seed)
        return served_by_rule(tasks[job.task], job.policy)


def _predicted(models: Sequence[ModelFigures], tasks: dict[str, TaskRows]) -> dict[str, float]:
    """What Table 12 takes from Table 11: the three-bin set-ups, here in time order."""
    predicted = {}
    for name, binnings in BINNINGS.items():
        ceilings = next(binning for binning in binnings if len(binning) == 3)
        figures = tables.best(models, task=name, ceilings_gb=ceilings, shuffled=False).likeliest
        optimal = optimal_improvements(tasks[name], ceilings)[1]
        predicted[name] = tables.estimated(optimal, figures) / 100
    return predicted


def _print(
    console: Console,
    tasks: dict[str, TaskRows],
    models: Sequence[ModelFigures],
    served: Sequence[Served],
) -> None:
    console.print(
        tables.table_6(tasks),
        *tables.tables_7_8(models),
        *tables.tables_9_10(models),
        tables.table_11(models, tasks),
        tables.candidates_table(served),
        tables.served_table(served),
        tables.reliability_table(served),
    )


def _bars(served: Sequence[Served]) -> list[Bar]:
    """For each heavy task, as information, and for both together, which is the bar."""
    each = [_bar(name, (name,), served) for name in BINNINGS]
    return [*each, _bar(BOTH, tuple(BINNINGS), served)]


def _bar(words: str, tasks: tuple[str, ...], served: Sequence[Served]) -> Bar:
    later = {(found.task, found.policy): found.later for found in served}
    waste, runs, failed = (
        sum(getattr(later[task, CLASSIFIER], figure) for task in tasks)
        for figure in ("waste_gb_h", "runs", "failed_attempts")
    )
    # The better of the two for each task.
    max_seen = sum(min(later[task, name].waste_gb_h for name in MAX_SEEN) for task in tasks)
    return Bar(words, waste / max_seen, failed / runs)


def _in_words(bar: Bar) -> str:
    return (
        f"{'pass' if bar.holds else 'FALLS SHORT'}: {bar.task}: the classifier wastes "
        f"{bar.waste_ratio:.2f} of what max-seen does (bar {WASTE_BAR}), "
        f"{bar.failure_rate:.2%} failed attempts per run (bar {FAILURE_BAR:.0%})"
    )


def _document(
    seed: int,
    stated: Sequence[Fact],
    found: tuple[
        Sequence[ModelFigures],
        Sequence[Served],
        Sequence[groups.Saving],
        Sequence[Bar],
    ],
) -> dict[str, Any]:
    models, served, savings, bars = found
    return {
        "data": "synthetic",
        "seed": seed,
        "facts": [asdict(fact) for fact in stated],
        "models": [figures.to_dict() for figures in models],
        "served": [figures.to_dict() for figures in served],
        "savings": [asdict(saving) for saving in savings],
        "bars": [{**asdict(bar), "holds": bar.holds} for bar in bars],
    }


if __name__ == "__main__":
    sys.exit(main())
