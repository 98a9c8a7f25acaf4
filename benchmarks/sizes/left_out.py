"""Each trace with the constants that the others choose: part of `make bench-sizes` if asked for.

    PYTHONPATH=. .venv/bin/python -P -m benchmarks.sizes.left_out
        [--traces FOLDER] [--quick] [--start]

Every configuration of GRID plays every trace, which takes a while: it prints how far it is, and
--kept FILE goes on where an earlier call ended. For each trace it chooses the constants that do
best on the others; docs/replay.md gives the measure.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from statistics import geometric_mean
from types import MappingProxyType
from typing import Any, Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks.public_traces import TRACES_FOLDER, trace_paths
from benchmarks.sizes.bars import BASELINES, OWN
from benchmarks.sizes.kept import SERVED_WORDS, Figures, Found, Kept
from benchmarks.sizes.unseen import RULES
from plimsoll_predictor.core.durations import words_for_duration
from plimsoll_predictor.knowledge.measured_constants import SERVED, Constants
from plimsoll_predictor.replay.sizes.engine import DecideAt, replay
from plimsoll_predictor.replay.sizes.policies import LIVE, POLICIES
from plimsoll_predictor.replay.sizes.sizer import Knobs
from plimsoll_predictor.replay.sizes.traces import Trace, read_trace, trace_name

GRID: Final[Mapping[str, Sequence[float]]] = MappingProxyType(
    {
        "burst_share": (0.1, 0.5),
        "burst_runs": (1, 4),
        "outlasting_runs": (1, 6),
        "outlasting_share": (0.2, 0.6),
        "outlasting_room": (1.2, 2.2),
        "price_runtimes": (1.0, 6.0),
        "restart_s": (20.0, 180.0),
        "most_restart_runtimes": (1.0, 1000.0),
        "most_failing": (0.01, 0.03),
        "short_s": (60.0, 600.0),
        "young_margin": (0.4, 0.6, 1.0),
    }
)
"""Constant -> values to try instead of the served one; one is changed at a time."""
OVERHEADS_S: Final = (1200.0, 4800.0)
"""Values to try instead of the served default price of a failed attempt."""
FAILURES_WEIGHT: Final = 0.1
"""The weight of a logarithm of failed attempts against one of waste: half of them is worth 7%."""
WORKERS: Final = 2
WIDTH: Final = 130


@dataclass(frozen=True, slots=True)
class Tried:
    """One configuration. overhead_s: None for the policy's default."""

    words: str
    constants: Constants
    overhead_s: float | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """A policy on a trace; tried: None for a rule."""

    path: Path
    policy: str
    decide_at: DecideAt
    tried: Tried | None

    @property
    def words(self) -> str:
        """The configuration, or the rule."""
        return self.policy if self.tried is None else self.tried.words


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A trace, the configuration that the others choose, and the one it would choose itself."""

    trace: str
    chosen: str
    found: Figures
    served: Figures
    own: str
    best_own: Figures
    best_rule_gb_h: float
    best_rule_warm_gb_h: float
    live: Figures | None = None
    """With the chosen constants and live bounds; None if it was not played."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Playing:
    """How the replays are played.

    kept: the file with the figures of an earlier call; None keeps nothing. workers: processes.
    minutes: no further configuration starts after that; None plays all. A table has the
        configurations that every trace has played.
    """

    kept: Path | None = None
    workers: int = WORKERS
    minutes: float | None = None


def configurations() -> list[Tried]:
    """The served one first, then each change of one constant."""
    changed = [
        Tried(f"{name} {value:g}", _with(name, value))
        for name, values in GRID.items()
        for value in values
    ]
    prices = [Tried(f"overhead {each:g} s", SERVED, each) for each in OVERHEADS_S]
    return [Tried(SERVED_WORDS, SERVED), *changed, *prices]


def _with(name: str, value: float) -> Constants:
    changed: dict[str, Any] = {name: value}
    return replace(SERVED, **changed)


def main(arguments: Sequence[str] | None = None) -> int:
    """Play, choose, print, write."""
    parser = argparse.ArgumentParser(prog="benchmarks.sizes.left_out", description=__doc__)
    parser.add_argument("--traces", type=Path, default=TRACES_FOLDER, help="folder with the traces")
    parser.add_argument("--quick", action="store_true", help="two small traces")
    parser.add_argument("--start", action="store_true", help="decide at start, not at submission")
    parser.add_argument("--json", type=Path, help="where the figures go, too")
    parser.add_argument("--kept", type=Path, help="figures of an earlier time, to go on from")
    parser.add_argument("--workers", type=int, default=WORKERS, help="processes")
    parser.add_argument("--minutes", type=float, help="start no replay after so long")
    given = parser.parse_args(arguments)
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    moment = DecideAt.START if given.start else DecideAt.SUBMIT
    playing = Playing(kept=given.kept, workers=given.workers, minutes=given.minutes)
    paths = trace_paths(given.traces, quick=given.quick)
    tables, lines = left_out_tables(paths, moment, console, playing)
    for table in tables:
        console.print(table)
    if given.json is not None:
        given.json.write_text(json.dumps([asdict(line) for line in lines], indent=2) + "\n")
        console.print(f"written to {given.json}", markup=False)
    return 0


def left_out_tables(
    paths: Sequence[Path], decide_at: DecideAt, console: Console, playing: Playing = Playing()
) -> tuple[list[Table], list[LeftOut]]:
    """Play all configurations; return the tables, and the result of leaving each trace out."""
    found = _played(paths, decide_at, console, playing)
    traces = [trace_name(path) for path in paths]
    lines = _with_live(left_out(found, traces), paths, decide_at, playing)
    tables = [_table(lines, decide_at, played(found, traces)), _each(found, traces, decide_at)]
    return tables, lines


def _with_live(
    lines: Sequence[LeftOut], paths: Sequence[Path], decide_at: DecideAt, playing: Playing
) -> list[LeftOut]:
    """Play each trace with the configuration that the others chose, now with live bounds."""
    tried = {each.words: each for each in configurations()}
    jobs = [
        Job(path, LIVE.name, decide_at, tried[line.chosen])
        for path, line in zip(paths, lines, strict=True)
    ]
    with ProcessPoolExecutor(playing.workers, multiprocessing.get_context("spawn")) as pool:
        return [
            replace(line, live=figures)
            for line, figures in zip(lines, pool.map(_work, jobs), strict=True)
        ]


def played(found: Found, traces: Sequence[str]) -> list[str]:
    """The configurations that every trace has played, in words; the served one is among them."""
    return [
        each.words
        for each in configurations()
        if all((trace, each.words) in found for trace in traces)
    ]


def left_out(found: Found, traces: Sequence[str]) -> list[LeftOut]:
    """For each trace, the configuration that the others would choose for it."""
    names = played(found, traces)
    lines = []
    for trace in traces:
        others = [each for each in traces if each != trace]
        chosen = min(names, key=lambda name: sum(_cost(found, each, name) for each in others))
        own = min(names, key=lambda name: _cost(found, trace, name))
        lines.append(
            LeftOut(
                trace=trace,
                chosen=chosen,
                found=found[trace, chosen],
                served=found[trace, names[0]],
                own=own,
                best_own=found[trace, own],
                best_rule_gb_h=_best_rule(found, trace).waste_gb_h,
                best_rule_warm_gb_h=min(found[trace, rule].warm_gb_h for rule in RULES),
            )
        )
    return lines


def _best_rule(found: Found, trace: str) -> Figures:
    return min((found[trace, rule] for rule in RULES), key=lambda each: each.waste_gb_h)


def _cost(found: Found, trace: str, name: str) -> float:
    """A configuration's waste on a trace over the best rule's, and its failures, in logarithms.

    Failures are compared with those of max-seen: the best rule may be the request, without any.
    """
    figures, rule = found[trace, name], _best_rule(found, trace)
    failed = (figures.failed_attempts + 1) / (found[trace, "max-seen-1.1"].failed_attempts + 1)
    waste = figures.waste_gb_h / rule.waste_gb_h
    return math.log(waste) + FAILURES_WEIGHT * math.log(failed)


def _jobs(paths: Sequence[Path], decide_at: DecideAt) -> tuple[list[Job], list[Job], list[Job]]:
    """The served one, the rules, and one configuration after the other."""
    first, *others = configurations()
    return (
        [Job(path, OWN, decide_at, first) for path in paths],
        [Job(path, rule, decide_at, None) for rule in BASELINES for path in paths],
        [Job(path, OWN, decide_at, each) for each in others for path in paths],
    )


def _played(
    paths: Sequence[Path], decide_at: DecideAt, console: Console, playing: Playing
) -> Found:
    kept = Kept(playing.kept, decide_at.value)
    served, rules, others = _jobs(paths, decide_at)
    all_of_them = len(served) + len(rules) + len(others)
    began_s = time.monotonic()
    ends_s = math.inf if playing.minutes is None else began_s + 60 * playing.minutes
    with ProcessPoolExecutor(playing.workers, multiprocessing.get_context("spawn")) as pool:
        # The served one is played to its end first: it shows which kept figures are still valid.
        for part, until_s in ((served, math.inf), (rules, math.inf), (others, ends_s)):
            left = [job for job in part if (trace_name(job.path), job.words) not in kept.found]
            for job, figures in _as_they_end(pool, left, playing.workers, until_s):
                trace = trace_name(job.path)
                turned = kept.add(trace, job.words, figures)
                passed = words_for_duration(time.monotonic() - began_s)
                words = f"left out, at {decide_at.value}: {trace}, {job.words}: {_words(figures)}"
                words += f" ({len(kept.found)} of {all_of_them} in {passed})"
                if turned:
                    words += f"; {abs(turned)} older figures {'hold' if turned > 0 else 'dropped'}"
                console.print(words, markup=False, soft_wrap=True)
    return kept.found


def _as_they_end(
    pool: ProcessPoolExecutor, jobs: Sequence[Job], workers: int, until_s: float
) -> Iterator[tuple[Job, Figures]]:
    """Play jobs, no more at a time than there are workers; none starts after until_s."""
    waiting, running = iter(jobs), dict[Future[Figures], Job]()
    while True:
        while len(running) < workers and time.monotonic() < until_s:
            job = next(waiting, None)
            if job is None:
                break
            running[pool.submit(_work, job)] = job
        if not running:
            return
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            yield running.pop(future), future.result()


def _work(job: Job) -> Figures:
    knobs = Knobs()
    if job.tried is not None:
        knobs = Knobs(constants=job.tried.constants, strictness=job.tried.overhead_s)
    sizer = POLICIES[job.policy].make(knobs)
    ended = replay(_trace(job.path).rows, sizer, decide_at=job.decide_at).rows
    return Figures(
        waste_gb_h=sum(each.waste_gb_h for each in ended),
        failed_attempts=sum(each.failed_attempts for each in ended),
        warm_gb_h=sum(each.waste_gb_h for each in ended if not each.cold),
    )


@cache
def _trace(path: Path) -> Trace:
    return read_trace(path)


def _each(found: Found, traces: Sequence[str], decide_at: DecideAt) -> Table:
    """Each configuration over all traces, in the order of GRID."""
    table = Table(
        title=f"Each configuration over all of {len(traces)} traces, at {decide_at}",
        caption=f"÷: geometric means over the best of {', '.join(BASELINES)}",
        title_justify="left",
        caption_justify="left",
        box=SIMPLE_HEAD,
    )
    table.add_column("configuration", no_wrap=True)
    for heading in ("all waste ÷", "warm waste ÷", "failed attempts"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name in played(found, traces):
        failed = sum(found[trace, name].failed_attempts for trace in traces)
        means = (_to_best(found, traces, name, what) for what in ("waste_gb_h", "warm_gb_h"))
        table.add_row(name, *(f"{mean:.3f}" for mean in means), f"{failed:,}")
    return table


def _to_best(found: Found, traces: Sequence[str], name: str, what: str) -> float:
    """The geometric mean over traces of a waste over the best baseline's."""
    return geometric_mean(
        getattr(found[trace, name], what)
        / min(getattr(found[trace, rule], what) for rule in BASELINES)
        for trace in traces
    )


def _table(lines: Sequence[LeftOut], decide_at: DecideAt, names: Sequence[str]) -> Table:
    table = Table(
        title=f"Constants that the other traces choose for the one left out, at {decide_at}",
        caption=(
            "GB·h wasted / failed attempts; ÷: of the chosen, over the best of"
            f" {', '.join(RULES)}. One constant is changed at a time:"
            f" {', '.join(names[1:])}"
        ),
        title_justify="left",
        caption_justify="left",
        box=SIMPLE_HEAD,
    )
    table.add_column("left out", no_wrap=True)
    table.add_column("chosen by the others")
    for heading in ("with these", "÷", "with live bounds", "as served"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("it would choose")
    table.add_column("with these", justify="right", no_wrap=True)
    for line in lines:
        table.add_row(
            line.trace,
            line.chosen,
            _words(line.found),
            f"{line.found.waste_gb_h / line.best_rule_gb_h:.3f}",
            "" if line.live is None else _words(line.live),
            _words(line.served),
            line.own,
            _words(line.best_own),
        )
    return table


def _words(figures: Figures) -> str:
    return f"{figures.waste_gb_h:,.1f} / {figures.failed_attempts:,}"


if __name__ == "__main__":
    sys.exit(main())
