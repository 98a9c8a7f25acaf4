"""Placing in simulation, on public co-location matrices: `make bench-placing`.

    PYTHONPATH=. .venv/bin/python -P -m benchmarks.placing.simulation
        [--traces FOLDER] [--seeds 20] [--quick]

docs/placing.md has the protocol. It writes bench-placing.json.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.placing.bars import BARS, Bar
from benchmarks.placing.plays import (
    FAIR,
    LOADS,
    SYNTHETIC,
    Figures,
    Play,
    played,
    summed,
    world_of,
)
from benchmarks.public_traces import TRACES_FOLDER
from plimsoll_predictor.placing.policies.catalogue import OWN

ROOT = Path(__file__).resolve().parents[2]
WORKERS = 2
WIDTH = 120


def main(arguments: Sequence[str] | None = None) -> int:
    """Play, print and write. Returns 0 if all bars hold, 2 without matrices."""
    given = _parser().parse_args(arguments)
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    paths = sorted(given.traces.glob("colocation-*.csv"))
    if not paths:
        console.print(
            f"benchmarks.placing.simulation: no colocation-*.csv in {given.traces}", markup=False
        )
        return 2
    sources = [*map(str, paths), SYNTHETIC]
    plays = [
        Play(source, load, seed, 400 if given.quick else 2000)
        for source, load, seed in product(sources, (None, *LOADS), range(given.seeds))
    ]
    with ProcessPoolExecutor(WORKERS) as pool:
        results = track(pool.map(played, plays), "playing", total=len(plays), console=console)
        done = dict(zip(plays, results, strict=True))
    rows = [
        figures
        for source, load in product(sources, (None, *LOADS))
        for figures in summed(
            world_of(source, 0), load, [done[play] for play in plays if play.of(source, load)]
        )
    ]
    console.print(_backlog(rows, given.seeds), _possible(rows), _arrivals(rows), sep="\n")
    bars = list(_bars(rows))
    console.print(_judged(bars))
    given.json.write_text(json.dumps([row.document() for row in rows], indent=1) + "\n")
    console.print(f"written to {given.json}", markup=False, soft_wrap=True)
    return 0 if all(bar.holds(bar.value(row)) for bar, row in bars) else 1


def _backlog(rows: Sequence[Figures], seeds: int) -> Table:
    table = Table(
        "world",
        "policy",
        "slowdown, %",
        "± SE",
        "÷ best mix",
        "÷ fair mix",
        "÷ best pairs",
        "worst kind, %",
        "overtaken",
        box=SIMPLE_HEAD,
        title=f"A backlog on 20 nodes: mean slowdown against first in, first out ({seeds} seeds)",
    )
    for row in rows:
        if row.load is None:
            table.add_row(
                row.world,
                row.policy,
                f"{100 * row.gain:.2f}",
                f"{100 * row.error:.2f}",
                f"{row.of_best_mix:.2f}",
                f"{row.of_fair_mix:.2f}",
                f"{row.of_best_pairs:.2f}",
                f"{100 * row.worst_kind:+.1f} ± {100 * row.worst_kind_error:.1f}",
                str(row.overtaken),
            )
    return table


def _possible(rows: Sequence[Figures]) -> Table:
    table = Table(
        "world",
        "best pairs, %",
        "best mix, %",
        "fair mix, %",
        "fair mix ÷ best pairs",
        box=SIMPLE_HEAD,
        title=f"What no order of a backlog can beat; fair: no kind over {FAIR:g} times chance",
    )
    for row in rows:
        if row.load is None and row.policy == OWN:
            shares = row.of_best_pairs, row.of_best_mix, row.of_fair_mix
            of_pairs = row.of_best_pairs / row.of_fair_mix
            gains = (f"{100 * row.gain / share:.2f}" for share in shares)
            table.add_row(row.world, *gains, f"{of_pairs:.3f}")
    return table


def _arrivals(rows: Sequence[Figures]) -> Table:
    table = Table(
        "world",
        "load",
        "policy",
        "slowdown, %",
        "± SE",
        "worst kind, %",
        box=SIMPLE_HEAD,
        title="A node of 100 for each job as it comes: mean slowdown against spreading",
    )
    for row in rows:
        if row.load is not None:
            table.add_row(
                row.world,
                f"{row.load:.2f}",
                row.policy,
                f"{100 * row.gain:.2f}",
                f"{100 * row.error:.2f}",
                f"{100 * row.worst_kind:+.1f}",
            )
    return table


def _bars(rows: Sequence[Figures]) -> Iterator[tuple[Bar, Figures]]:
    for bar in BARS:
        for row in rows:
            if bar.judges(row):
                yield bar, row


def _judged(bars: Sequence[tuple[Bar, Figures]]) -> Table:
    table = Table(
        "world", "bar", "found", "asked", "", box=SIMPLE_HEAD, title=f"{OWN}, against its bars"
    )
    for bar, row in bars:
        found = bar.value(row)
        where = row.world if row.load is None else f"{row.world}, load {row.load}"
        says = "holds" if bar.holds(found) else "falls short"
        error = bar.error(row)
        of_error = "" if error is None else f" ± {error:.3f}"
        table.add_row(where, bar.words, f"{found:.3f}{of_error}", bar.asked, says)
    return table


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks.placing.simulation", description=__doc__)
    parser.add_argument("--traces", type=Path, default=TRACES_FOLDER, help="folder with matrices")
    parser.add_argument("--seeds", type=int, default=20, help="paired repetitions")
    parser.add_argument("--quick", action="store_true", help="a fifth of the jobs")
    parser.add_argument("--json", type=Path, default=ROOT / "bench-placing.json")
    return parser


if __name__ == "__main__":
    sys.exit(main())
