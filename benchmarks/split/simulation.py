"""Splitting in simulation: `make bench-split`.

    PYTHONPATH=. .venv/bin/python -P -m benchmarks.split.simulation [--seeds 20] [--runs 4]

docs/splitting.md has the protocol. It writes bench-split.json.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import groupby, product
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.split.bars import MEMORY_BARS, TIME_BARS
from benchmarks.split.memory import MemoryFigures, memory_figures
from benchmarks.split.plays import KINDS, Figures, Play, played, summed
from plimsoll_predictor.splitting.strategies.strategy import Cut

ROOT = Path(__file__).resolve().parents[2]
WORKERS = 2
WIDTH = 190
MEMORY_SEEDS = 10


def main(arguments: Sequence[str] | None = None) -> int:
    """Play, print and write. Returns 0 if all bars hold."""
    given = _parser().parse_args(arguments)
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    plays = [
        Play(kind, cut, given.runs, seed)
        for kind, cut, seed in product(KINDS, Cut, range(given.seeds))
    ]
    with ProcessPoolExecutor(WORKERS) as pool:
        results = track(pool.map(played, plays), "playing", total=len(plays), console=console)
        done = dict(zip(plays, results, strict=True))
    rows = [
        figures
        for cut, kind in product(Cut, KINDS)
        for figures in summed(
            kind, cut, [task for play, task in done.items() if (play.kind, play.cut) == (kind, cut)]
        )
    ]
    memory = list(memory_figures(MEMORY_SEEDS))
    console.print(*(_times(rows, cut, given.seeds) for cut in Cut), _memory(memory), sep="\n")
    judged = [*_judged(rows, memory)]
    console.print(_bars(judged))
    documents = [*(row.document() for row in rows), *(row.document() for row in memory)]
    given.json.write_text(json.dumps(documents, indent=1) + "\n")
    console.print(f"written to {given.json}", markup=False, soft_wrap=True)
    return 0 if all(holds for *_, holds in judged) else 1


def _times(rows: Sequence[Figures], cut: Cut, seeds: int) -> Table:
    """A row per job, a column per strategy: its first run, and those after it."""
    of_mode = [row for row in rows if row.mode == cut.value]
    table = Table(
        "job",
        "share, s",
        "one each, s",
        "best even, s",
        "of items",
        "bound, s",
        *dict.fromkeys(row.strategy for row in of_mode),
        box=SIMPLE_HEAD,
        title=f"{cut.value}: first run / later runs over the best even chunk, {seeds} tasks",
    )
    for job, of_job in groupby(of_mode, _job):
        each = list(of_job)
        table.add_row(
            job,
            f"{each[0].default_s:.1f}",
            f"{each[0].one_s:.1f}",
            f"{each[0].best_s:.1f}",
            str(each[0].best_items),
            f"{each[0].bound_s:.1f}",
            *(f"{row.first:.3f} / {row.later:.3f}" for row in each),
        )
    return table


def _job(row: Figures) -> str:
    return row.job


def _memory(rows: Sequence[MemoryFigures]) -> Table:
    table = Table(
        "job",
        "share, MB",
        "share, s",
        "in half, s",
        "kills",
        "proposed, MB",
        "tuned, s",
        "kills",
        "memory × time",
        box=SIMPLE_HEAD,
        title=f"memory and chunk together, {MEMORY_SEEDS} tasks",
    )
    for row in rows:
        table.add_row(
            row.job,
            f"{row.peak_default_mb:.0f}",
            f"{row.default_s:.1f}",
            f"{row.half_s:.1f}",
            str(row.half_kills),
            f"{row.peak_tuned_mb:.0f}",
            f"{row.tuned_s:.1f}",
            str(row.kills),
            f"{row.memory_time:.2f}",
        )
    return table


def _judged(
    rows: Sequence[Figures], memory: Sequence[MemoryFigures]
) -> Iterator[tuple[str, str, float, float, bool]]:
    """Return the worst row of each bar: bar, job, found, asked, whether it holds."""
    for bar in TIME_BARS:
        worst = max(filter(bar.judges, rows), key=bar.value)
        found = bar.value(worst)
        yield bar.words, worst.job, found, bar.most, found <= bar.most
    for memory_bar in MEMORY_BARS:
        largest = max(memory, key=memory_bar.value)
        found = memory_bar.value(largest)
        yield memory_bar.words, largest.job, found, memory_bar.most, found <= memory_bar.most


def _bars(judged: Sequence[tuple[str, str, float, float, bool]]) -> Table:
    table = Table("bar", "worst job", "found", "asked", "", box=SIMPLE_HEAD, title="what serves")
    for words, job, found, most, holds in judged:
        says = "holds" if holds else "falls short"
        table.add_row(words, job, f"{found:.3f}", f"≤ {most:g}", says)
    return table


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks.split.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=20, help="tasks of each kind")
    parser.add_argument("--runs", type=int, default=4, help="of each task")
    parser.add_argument("--json", type=Path, default=ROOT / "bench-split.json")
    return parser


if __name__ == "__main__":
    sys.exit(main())
