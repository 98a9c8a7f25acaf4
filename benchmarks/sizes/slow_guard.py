"""The slow guard on and off: on the public traces, and on a task where everything fails.

    PYTHONPATH=. .venv/bin/python -P -m benchmarks.sizes.slow_guard [--traces FOLDER] [--quick]

docs/adr/0021-slow-guard.md has the figures.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.public_traces import TRACES_FOLDER, trace_paths
from benchmarks.sizes.comparison import WORKERS
from plimsoll_predictor.core.units import GIB, MIB, gb_hours
from plimsoll_predictor.experts import guard
from plimsoll_predictor.replay.sizes.engine import DecideAt, replay
from plimsoll_predictor.replay.sizes.product import ProductSizer
from plimsoll_predictor.replay.sizes.rows import TraceRow
from plimsoll_predictor.replay.sizes.sizer import Knobs
from plimsoll_predictor.replay.sizes.traces import read_trace, trace_name

NEVER: Final = 10**9
GUARDS: Final = {
    "none": (NEVER, guard.ROOM),
    "after 20 runs, no room": (20, 1.0),
    "after 50 runs, 1.05": (50, 1.05),
    "chosen": (guard.LEAST_RUNS, guard.ROOM),
}
RUNTIME_S: Final = 600.0
BLOCK: Final = 250
BLOCKS: Final = 4
EASY_BYTES: Final = 50 * MIB


@dataclass(frozen=True, slots=True)
class Job:
    """One trace, decided at one moment, under one guard."""

    path: Path
    decide_at: DecideAt
    guard: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Play and print."""
    parser = argparse.ArgumentParser(prog="benchmarks.sizes.slow_guard", description=__doc__)
    parser.add_argument("--traces", type=Path, default=TRACES_FOLDER, help="folder with the traces")
    parser.add_argument("--quick", action="store_true", help="two small traces")
    given = parser.parse_args(arguments)
    for name in ("none", "chosen"):
        print(f"everything fails, guard {name}: {'; '.join(hostile(name))}")
    paths = trace_paths(given.traces, quick=given.quick)
    jobs = [Job(path, moment, name) for path in paths for moment in DecideAt for name in GUARDS]
    with ProcessPoolExecutor(WORKERS, multiprocessing.get_context("spawn")) as pool:
        for line in pool.map(played, jobs):
            print(line, flush=True)
    return 0


def played(job: Job) -> str:
    """One line of a trace's figures."""
    guard.LEAST_RUNS, guard.ROOM = GUARDS[job.guard]  # type: ignore[misc]
    sizer = ProductSizer(Knobs())
    ended = replay(read_trace(job.path).rows, sizer, decide_at=job.decide_at).rows
    waste_gb_h = sum(each.waste_gb_h for each in ended)
    failed = sum(each.failed_attempts for each in ended)
    where = f"{trace_name(job.path)}, at {job.decide_at.value}, guard {job.guard}"
    return f"{where}: {waste_gb_h:,.1f} GB·h, {failed} failed attempts"


def hostile(name: str) -> list[str]:
    """Play a task whose runs need a little more than their next size; return its figures."""
    guard.LEAST_RUNS, guard.ROOM = GUARDS[name]  # type: ignore[misc]
    sizer, told = ProductSizer(Knobs()), []
    for block in range(BLOCKS):
        held_gb_h, failed = 0.0, 0
        for place in range(BLOCK):
            run_gb_h, run_failed = _hostile_run(sizer, block * BLOCK + place)
            held_gb_h, failed = held_gb_h + run_gb_h, failed + run_failed
        asked_gb_h = BLOCK * gb_hours(GIB, RUNTIME_S)
        told.append(f"{held_gb_h:.1f} of {asked_gb_h:.1f} GB·h, {failed} failed")
    return told


def _hostile_run(sizer: ProductSizer, number: int) -> tuple[float, int]:
    now_s = 10.0 * RUNTIME_S * number
    given_bytes = sizer.decide(_row(number, now_s, MIB).asked, now_s)
    need_bytes = int(1.02 * given_bytes)
    row = _row(number, now_s, need_bytes if need_bytes < GIB else EASY_BYTES)
    held_gb_h, failed = 0.0, 0
    while given_bytes < row.peak_bytes:
        held_gb_h, failed = held_gb_h + gb_hours(given_bytes, RUNTIME_S), failed + 1
        sizer.failed(row.asked, given_bytes, failed, now_s)
        given_bytes = sizer.lift(row.asked, given_bytes, failed, now_s)
    sizer.completed(row, given_bytes, now_s)
    return held_gb_h + gb_hours(given_bytes, RUNTIME_S), failed


def _row(number: int, now_s: float, need_bytes: int) -> TraceRow:
    return TraceRow(
        line=number + 2,
        run=str(number),
        task="hostile",
        item=None,
        submit_s=now_s,
        start_s=now_s,
        complete_s=now_s + RUNTIME_S,
        runtime_s=RUNTIME_S,
        cpus=None,
        preset_bytes=GIB,
        input_bytes=None,
        features={},
        peak_bytes=need_bytes,
    )


if __name__ == "__main__":
    sys.exit(main())
