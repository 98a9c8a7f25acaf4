"""Forecasts of runtimes on public logs, against their bars: `make bench-forecast`.

    PYTHONPATH=. .venv/bin/python -P -m benchmarks.forecast.comparison
        [--traces FOLDER] [--quick] [--no-peers] [--json F]

docs/forecast-benchmark.md says what the figures mean, and where the logs come from. Every
runtime-*.csv in the folder is replayed, and its nf-core traces together. The exit status is 1 if
a bar is missed or could not be measured.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from benchmarks.bar import Bar, bars_table, below
from benchmarks.forecast.bars import (
    MB_OF_100_000_TASKS,
    NFCORE,
    NFCORE_FILES,
    OWN,
    bars,
    by_log_and_method,
    shape_bars,
)
from benchmarks.forecast.left_out import SETTINGS, judge_setting, left_out, left_out_table
from benchmarks.forecast.memory import measured_mb
from benchmarks.forecast.peers import PEERS, judge_peer
from benchmarks.forecast.tables import figures_table
from benchmarks.progress import progress_on
from benchmarks.public_traces import ROOT, TRACES_FOLDER
from benchmarks.what_if.coverage import tables as what_ifs
from plimsoll_predictor.replay.runtimes.judging import METHODS, Judged, judge
from plimsoll_predictor.replay.runtimes.log_reading import LogError, read_logs
from plimsoll_predictor.replay.sizes.traces import trace_name
from plimsoll_predictor.runtimes.runs.log_run import RuntimeLog

QUICK: Final = ("runtime-llnl-thunder", NFCORE)
WORKERS: Final = 1
"""One log at a time: two at once slow each other's forecasts, whose microseconds have a bar."""
WHAT_IF_SEEDS: Final = 12
"""Tasks made up of each kind; its own program makes up more."""
WIDTH: Final = 130
"""Width of the tables without a terminal."""
KEYS: Final = (
    "log",
    "method",
    "pin_runs",
    "pin_tasks",
    "p95_coverage",
    "p99_coverage",
    "skill_2x",
    "skill_10x",
    "us_per_forecast",
    "bytes_per_task",
)


@dataclass(frozen=True, slots=True)
class Source:
    """A log and its files."""

    name: str
    paths: tuple[Path, ...]

    def bytes(self) -> int:
        """The size of all files."""
        return sum(path.stat().st_size for path in self.paths)


@dataclass(frozen=True, slots=True)
class Job:
    """One method, or one setting of the product's, on one log."""

    source: Source
    method: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Replay, print, write. Returns 0 if every bar holds."""
    given = _parser().parse_args(arguments)
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    methods = [*METHODS, *(() if given.no_peers else PEERS)]
    try:
        sources = log_sources(given.traces, quick=given.quick)
        figures = _replayed(sources, methods, console)
    except LogError as error:
        console.print(f"benchmarks.forecast.comparison: {error}", markup=False, soft_wrap=True)
        return 2
    written = [{key: each[key] for key in KEYS} for each in figures]
    given.json.write_text(json.dumps(written, indent=2) + "\n")
    console.print(figures_table(figures))
    if not given.no_left_out:
        console.print(left_out_table(left_out(_settings_judged(sources))))
    lines = [*bars(by_log_and_method(figures)), _memory(console)]
    if not given.no_shapes:
        lines += _shapes(given.traces, console)
        what_ifs(given.traces, console, seeds=WHAT_IF_SEEDS)
    console.print(bars_table(lines))
    console.print(f"written to {given.json}", markup=False)
    return 0 if all(line.holds for line in lines) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks.forecast.comparison", description=__doc__)
    parser.add_argument("--traces", type=Path, default=TRACES_FOLDER, help="folder with the logs")
    parser.add_argument("--quick", action="store_true", help="two small logs")
    parser.add_argument("--no-peers", action="store_true", help="no forest, no boosted quantiles")
    parser.add_argument("--no-left-out", action="store_true", help="no settings by other logs")
    parser.add_argument("--no-shapes", action="store_true", help="no shapes, no what-ifs")
    parser.add_argument("--json", type=Path, default=ROOT / "bench-forecast.json")
    return parser


def log_sources(folder: Path, *, quick: bool) -> list[Source]:
    """Every log of runtimes in a folder, and its nf-core traces as one log; the largest first.

    Raises LogError if there is none.
    """
    found = [
        Source(trace_name(path), (path,))
        for path in sorted(folder.glob("runtime-*"))
        if {".csv", ".parquet"} & set(path.suffixes)
    ]
    nfcore = tuple(folder / f"{name}.csv.gz" for name in NFCORE_FILES)
    if all(path.is_file() for path in nfcore):
        found.append(Source(NFCORE, nfcore))
    if quick:
        found = [source for source in found if source.name in QUICK]
    if not found:
        raise LogError(
            f"{folder} has no runtime-*.csv, nor the nf-core traces; set TRACES to a folder with"
            " logs (docs/forecast-benchmark.md says where they come from)"
        )
    return sorted(found, key=Source.bytes, reverse=True)


def _replayed(
    sources: Sequence[Source], methods: Sequence[str], console: Console
) -> list[dict[str, Any]]:
    """The figures of all logs and methods."""
    jobs = [Job(source, method) for source in sources for method in methods]
    context = multiprocessing.get_context("spawn")
    with (
        ProcessPoolExecutor(WORKERS, mp_context=context) as pool,
        progress_on(console) as progress,
    ):
        futures = [pool.submit(_work, job) for job in jobs]
        bar = progress.add_task("replaying", total=len(futures))
        for done in as_completed(futures):
            done.result()
            progress.advance(bar)
    return [future.result() for future in futures]


def _settings_judged(sources: Sequence[Source]) -> list[dict[str, Any]]:
    """The figures of each log with each setting that could have been chosen."""
    jobs = [Job(source, setting) for source in sources for setting in SETTINGS]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(WORKERS, mp_context=context) as pool:
        return list(pool.map(_with_setting, jobs))


def _with_setting(job: Job) -> dict[str, Any]:
    return judge_setting(_log(job.source), job.method)


def _work(job: Job) -> dict[str, Any]:
    log = _log(job.source)
    return _judged(log, job.method).to_dict()


def _judged(log: RuntimeLog, method: str) -> Judged:
    if method in PEERS:
        return judge_peer(log, method)
    return judge(log, METHODS[method])


@cache
def _log(source: Source) -> RuntimeLog:
    return read_logs(source.paths, source.name)


def _memory(console: Console) -> Bar:
    with console.status("measuring the memory of 100,000 tasks"):
        mb = measured_mb()
    return below(f"{OWN}: MB of 100,000 tasks", mb, MB_OF_100_000_TASKS, "{:.0f}")


def _shapes(folder: Path, console: Console) -> list[Bar]:
    from benchmarks.shapes.logs import tables

    return shape_bars(tables(folder, console))


if __name__ == "__main__":
    sys.exit(main())
