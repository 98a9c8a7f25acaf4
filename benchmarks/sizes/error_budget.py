"""What error budgets cost in waste, on every public trace: `make bench-budgets`.

    PYTHONPATH=. .venv/bin/python -P -m benchmarks.sizes.error_budget [--traces FOLDER]

docs/harm.md shows the table. Every size is decided at submission, with Plimsoll's defaults.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.public_traces import TRACES_FOLDER, trace_paths
from plimsoll_predictor.replay.sizes.engine import replay
from plimsoll_predictor.replay.sizes.product import ProductSizer
from plimsoll_predictor.replay.sizes.sizer import Knobs
from plimsoll_predictor.replay.sizes.traces import TraceError, read_trace, trace_name

BUDGETS: Final = (None, 0.05, 0.02, 0.01, 0.005)
WORKERS: Final = 2
WIDTH: Final = 110


@dataclass(frozen=True, slots=True)
class Figures:
    """A trace under a budget. killed: runs whose first attempt failed below their request."""

    runs: int
    waste_gb_h: float
    killed: int

    def __str__(self) -> str:
        return f"{self.waste_gb_h:,.0f} / {self.killed} ({self.killed / self.runs:.1%})"


def main(arguments: Sequence[str] | None = None) -> int:
    """Replay and print. Returns 2 if a trace is missing."""
    parser = argparse.ArgumentParser(prog="benchmarks.sizes.error_budget", description=__doc__)
    parser.add_argument("--traces", type=Path, default=TRACES_FOLDER, help="folder with the traces")
    given = parser.parse_args(arguments)
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    try:
        paths = trace_paths(given.traces, quick=False)
    except TraceError as error:
        console.print(f"benchmarks.sizes.error_budget: {error}", markup=False, soft_wrap=True)
        return 2
    jobs = list(product(paths, BUDGETS))
    with ProcessPoolExecutor(WORKERS) as pool:
        results = track(pool.map(_figures, jobs), "replaying", total=len(jobs), console=console)
        figures = dict(zip(jobs, results, strict=True))
    table = Table(
        "budget", *map(trace_name, paths), title="GB·h wasted / runs killed below request"
    )
    for budget in BUDGETS:
        words = "none" if budget is None else f"{budget:.1%}"
        table.add_row(words, *(str(figures[path, budget]) for path in paths))
    console.print(table)
    return 0


def _figures(job: tuple[Path, float | None]) -> Figures:
    path, budget = job
    rows = replay(read_trace(path).rows, ProductSizer(Knobs(error_budget=budget))).rows
    return Figures(
        runs=len(rows),
        waste_gb_h=sum(row.waste_gb_h for row in rows),
        killed=sum(row.killed_below_request for row in rows),
    )


if __name__ == "__main__":
    sys.exit(main())
