"""Every policy on every trace, against its bars: `make bench-sizes`.

    PYTHONPATH=. .venv/bin/python -P -m benchmarks.sizes.comparison
        [--traces FOLDER] [--quick] [--json FILE]

docs/replay.md says what the figures mean, and where the traces come from. The exit status is 1 if
a bar is missed or could not be measured.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks.bar import Bar, bars_table, below
from benchmarks.progress import progress_on
from benchmarks.public_traces import ROOT, TRACES, TRACES_FOLDER, trace_paths
from benchmarks.sizes import early, left_out, synthetic
from benchmarks.sizes.bars import BASELINES, OPT_IN, OWN, Parity, bars, by_setting, parity
from benchmarks.sizes.left_out_bars import left_out_bars
from benchmarks.sizes.unseen import LIVE, unseen_bars
from plimsoll_predictor.replay.sizes.engine import DecideAt
from plimsoll_predictor.replay.sizes.playing import Setting, play
from plimsoll_predictor.replay.sizes.policies import NAMED
from plimsoll_predictor.replay.sizes.sizer import Trainings
from plimsoll_predictor.replay.sizes.traces import Trace, TraceError, read_trace, trace_name

REPLAY_S, REPLAY_MB = 90.0, 700.0
WORKERS: Final = 2
WIDTH: Final = 130
"""Width of the tables without a terminal."""
PLAYED: Final = (OWN, *(name for name in NAMED if name.startswith(LIVE)), *BASELINES)
TRAINED: Final = f"{OWN} with trainings"
TRAINED_TRACE: Final = "nfcore-eager"
"""Trainings take a minute or more per trace: one shows what models add."""
KEYS: Final = (
    "trace",
    "policy",
    "decide",
    "first_size",
    "rows",
    "waste_gb_h",
    "cold_gb_h",
    "warm_gb_h",
    "failed_attempts",
    "lost_h",
    "ms_per_decision",
)


@dataclass(frozen=True, slots=True)
class Job:
    """One policy on one trace."""

    path: Path
    policy: str
    setting: Setting


def main(arguments: Sequence[str] | None = None) -> int:
    """Replay, print, write. Returns 0 if every bar holds."""
    given = _parser().parse_args(arguments)
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    try:
        paths = trace_paths(given.traces, quick=given.quick)
        figures = _replayed(_jobs(paths), console)
    except TraceError as error:
        console.print(f"benchmarks.sizes.comparison: {error}", markup=False, soft_wrap=True)
        return 2
    given.json.write_text(json.dumps(figures, indent=2) + "\n")
    console.print(_figures_table(figures))
    console.print(_parity_table(parity(by_setting(figures))))
    lines = bars(by_setting(figures)) + unseen_bars(by_setting(figures))
    lines += _whole_command(paths, console)
    if not given.traces_only:
        with console.status("measuring: synthetic tasks"):
            found = synthetic.all_measured(quick=given.quick)
        console.print(synthetic.figures_table(found))
        console.print(early.table())
        lines += synthetic.bars(found)
        for name in OTHER_BARS:
            lines += _other(name, console, quick=given.quick)
    if given.leave_one_out:
        playing = left_out.Playing(kept=given.kept)
        for moment in DecideAt:
            tables, left = left_out.left_out_tables(paths, moment, console, playing)
            for table in tables:
                console.print(table)
            lines += left_out_bars(left, moment)
            beside = given.json.with_name(f"{given.json.stem}-left-out-{moment.value}.json")
            beside.write_text(json.dumps([asdict(each) for each in left], indent=2) + "\n")
    console.print(bars_table(lines))
    console.print(f"written to {given.json}", markup=False)
    return 0 if all(line.holds for line in lines) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks.sizes.comparison", description=__doc__)
    parser.add_argument("--traces", type=Path, default=TRACES_FOLDER, help="folder with the traces")
    parser.add_argument("--quick", action="store_true", help="two small traces")
    parser.add_argument(
        "--traces-only", action="store_true", help="no synthetic tasks, thesis, SAP builds"
    )
    parser.add_argument(
        "--leave-one-out", action="store_true", help="choose constants on the other traces, too"
    )
    parser.add_argument(
        "--kept", type=Path, help="a file of what --leave-one-out has played, to go on from"
    )
    parser.add_argument("--json", type=Path, default=ROOT / "bench-sizes.json")
    return parser


def _jobs(paths: Sequence[Path]) -> list[Job]:
    """The jobs, the longest first."""
    sizes = sorted(paths, key=lambda path: path.stat().st_size, reverse=True)
    settings = [
        Setting(decide_at=moment, first_size=share)
        for moment in DecideAt
        for share in (1.0, OPT_IN)
    ]
    trained = [
        Job(path, OWN, Setting(decide_at=DecideAt.SUBMIT, trainings=Trainings()))
        for path in sizes
        if trace_name(path) == TRAINED_TRACE
    ]
    return trained + [
        Job(path, name, setting)
        for name in PLAYED
        for path in sizes
        for setting in settings
        if name in NAMED and (setting.first_size == 1.0 or not name.startswith(LIVE))
    ]


def _replayed(jobs: Sequence[Job], console: Console) -> list[dict[str, Any]]:
    """The figures of all jobs, by trace, policy, moment and first size."""
    context = multiprocessing.get_context("spawn")
    with (
        ProcessPoolExecutor(WORKERS, mp_context=context) as pool,
        progress_on(console) as progress,
    ):
        futures = [pool.submit(_work, job) for job in jobs]
        bar = progress.add_task("replaying", total=len(futures))
        for _ in as_completed(futures):
            progress.advance(bar)
        found = [future.result() for future in futures]
    places = {name: place for place, name in enumerate((*TRACES, TRAINED, *PLAYED))}
    found.sort(key=lambda each: (places.get(each["trace"], -1), places[each["policy"]]))
    return found


def _work(job: Job) -> dict[str, Any]:
    played = play(_trace(job.path), NAMED[job.policy], job.setting)
    figures = played.to_dict()
    if job.setting.trainings is not None:
        figures["policy"] = TRAINED
    return {key: figures[key] for key in KEYS}


@cache
def _trace(path: Path) -> Trace:
    return read_trace(path)


def _whole_command(paths: Sequence[Path], console: Console) -> list[Bar]:
    """Time and memory of the largest trace through the command itself, alone on the machine."""
    if OWN not in NAMED:
        return [Bar(what=OWN, measured="not measured", bar="a policy that is replayed", holds=None)]
    path = max(paths, key=lambda each: each.stat().st_size)
    with tempfile.TemporaryDirectory() as folder, console.status("timing the largest trace"):
        out = Path(folder) / "out.json"
        command = ["-m", "plimsoll_operator", "replay", str(path), "--policy", OWN]
        started_s = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, "-P", *command, "--json", str(out)], stdout=subprocess.DEVNULL
        )
        _, status, usage = os.wait4(process.pid, 0)
        took_s = time.monotonic() - started_s
    name = trace_name(path)
    if status != 0:
        return [Bar(what=f"plimsoll replay {name}", measured="failed", bar="ends", holds=False)]
    # Linux reports kilobytes of 1024.
    peak_mb = usage.ru_maxrss * 1024 / 1e6
    return [
        below(f"{name}: seconds of `plimsoll replay --policy {OWN}`", took_s, REPLAY_S, "{:.1f}"),
        below(f"{name}: MB of the same, at most", peak_mb, REPLAY_MB, "{:.1f}"),
    ]


def _other(name: str, console: Console, *, quick: bool) -> list[Bar]:
    """The bars of another folder's comparison, which writes them as a list of its own."""
    with tempfile.TemporaryDirectory() as folder, console.status(f"measuring: {name}"):
        out = Path(folder) / "out.json"
        command = [
            sys.executable,
            "-P",
            "-m",
            f"benchmarks.{name}.comparison",
            "--json",
            str(out),
        ]
        said = subprocess.run(
            [*command, *(["--quick"] if quick else [])], capture_output=True, text=True, check=False
        )
        if not out.is_file():
            console.print(said.stderr[-2000:], markup=False)
            return [Bar(what=name, measured="not measured", bar="", holds=None)]
        document = json.loads(out.read_text())
    return OTHER_BARS[name](document)


def _thesis(document: Any) -> list[Bar]:
    lines: list[Bar] = []
    for each in document["bars"]:
        task = f"thesis (synthetic), {each['task']}"
        lines.append(below(f"{task}: classifier's waste ÷ max-seen's", each["waste_ratio"], 0.5))
        rate = 100 * each["failure_rate"]
        lines.append(below(f"{task}: failed attempts per 100 runs", rate, 1.0))
    return lines


def _sap(document: Any) -> list[Bar]:
    return [
        below(f"SAP builds: score, {each['policy']}", each["score"], each["bar"], "{:.1f}")
        for each in document["policies"]
        if each["bar"] is not None
    ]


OTHER_BARS: Final[Mapping[str, Callable[[Any], list[Bar]]]] = {"thesis": _thesis, "sap": _sap}


def _figures_table(figures: Sequence[dict[str, Any]]) -> Table:
    table = Table(title="Waste in GB·h", title_justify="left", box=SIMPLE_HEAD)
    for heading in ("trace", "policy", "decided at", "first size"):
        table.add_column(heading)
    for heading in ("waste", "cold", "warm", "failed", "hours lost", "ms a decision"):
        table.add_column(heading, justify="right")
    previous = None
    for each in figures:
        if each["policy"] != OWN and (each["decide"], each["first_size"]) != ("submit", 1.0):
            continue  # the best of these stands in the table of equals
        if previous not in (None, each["trace"]):
            table.add_section()
        table.add_row(
            "" if previous == each["trace"] else each["trace"],
            each["policy"],
            each["decide"],
            f"{each['first_size']:g}",
            *(f"{each[key]:,.1f}" for key in ("waste_gb_h", "cold_gb_h", "warm_gb_h")),
            f"{each['failed_attempts']:,}",
            f"{each['lost_h']:,.1f}",
            f"{each['ms_per_decision']:.4f}",
            style="bold" if each["policy"] == OWN else "",
        )
        previous = each["trace"]
    return table


def _parity_table(lines: Sequence[Parity]) -> Table:
    title = "Plimsoll beside the best rule that decides at the same moment from the same first size"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    for heading in ("trace", "decided at", "first size"):
        table.add_column(heading)
    for heading in ("Plimsoll", "failed", "best rule", "failed", "÷"):
        table.add_column(heading, justify="right")
    table.add_column("which")
    for line in lines:
        table.add_row(
            line.trace,
            line.decide,
            f"{line.first_size:g}",
            *(f"{line.own['waste_gb_h']:,.1f}", f"{line.own['failed_attempts']:,}"),
            *(f"{line.rival['waste_gb_h']:,.1f}", f"{line.rival['failed_attempts']:,}"),
            f"{line.ratio:.3f}",
            line.rival["policy"],
            style="" if line.ratio <= 1 else "bold",
        )
    return table


if __name__ == "__main__":
    sys.exit(main())
