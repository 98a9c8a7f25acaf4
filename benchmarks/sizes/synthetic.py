"""Plimsoll on synthetic tasks, against an oracle that knows their laws; part of `make bench-sizes`.

    PYTHONPATH=. .venv/bin/python -P -m benchmarks.sizes.synthetic [--quick] [--json FILE]

docs/replay.md says what the figures mean. The exit status is 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks.bar import Bar, bars_table, below
from benchmarks.sizes.bars import OWN
from plimsoll_predictor.core.units import gb_hours
from plimsoll_predictor.replay.sizes.engine import replay
from plimsoll_predictor.replay.sizes.figures import ReplayedRow
from plimsoll_predictor.replay.sizes.policies import POLICIES
from plimsoll_predictor.replay.sizes.sizer import Knobs
from plimsoll_predictor.replay.synthetic.elastic import shown_to
from plimsoll_predictor.replay.synthetic.worlds import (
    KNOWN_AFTER,
    RUNTIMES_S,
    Family,
    World,
    names_of,
    world,
)

ORACLE: Final = "oracle"
RULES: Final = ("preset", "max-seen-1.1", "last-20")
PLAYED: Final = (ORACLE, OWN, *RULES)
SEEDS: Final = 2
BAR_SEEDS: Final = 6
"""How often worlds with a bar are drawn: one draw has two failures, another none."""
WORKERS: Final = 2
WIDTH: Final = 140
TO_ORACLE: Final = 1.5
FAILED_PER_100: Final = 2.0
BAR_RUNTIMES: Final = ("20 s", "1 h")
NO_WORSE: Final = 1.02
LINEAR: Final = ("linear", "linear, exact")
# GB·h wasted in all before young tasks used features, on the same draws.
UNINFLUENCED_BEFORE: Final[Mapping[tuple[str, str], float]] = MappingProxyType(
    {
        ("steady", "20 s"): 0.2214,
        ("steady", "10 min"): 6.015,
        ("steady", "1 h"): 34.16,
        ("steady", "5 h"): 176.2,
        ("spread", "20 s"): 1.943,
        ("spread", "10 min"): 33.52,
        ("spread", "1 h"): 185.6,
        ("spread", "5 h"): 934.2,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """A policy's sums over some runs."""

    runs: int
    waste_gb_h: float
    failed_attempts: int

    @property
    def failed_per_100(self) -> float:
        """Failed attempts of a hundred runs."""
        return 100 * self.failed_attempts / max(1, self.runs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A synthetic world's figures, summed over its draws.

    later, overall: policy -> its sums over the runs after each task's tenth, and over all.
    later_need_gb_h, need_gb_h: the memory-time that these runs needed.
    """

    family: str
    name: str
    runtime: str
    draws: int
    later: Mapping[str, Sums]
    overall: Mapping[str, Sums]
    later_need_gb_h: float
    need_gb_h: float

    def to_oracle(self, policy: str, *, later: bool) -> float | None:
        """A policy's waste over the oracle's; None if the oracle wastes nothing."""
        sums = self.later if later else self.overall
        least = sums[ORACLE].waste_gb_h
        return sums[policy].waste_gb_h / least if least > 1e-6 * self.need_gb_h else None

    @property
    def rival(self) -> str:
        """The rule that wastes least over all runs."""
        return min(RULES, key=lambda name: self.overall[name].waste_gb_h)


@dataclass(frozen=True, slots=True)
class Job:
    """One world at one runtime."""

    family: Family
    name: str
    runtime: str
    draws: int


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw, replay, print, write. Returns 0 if every bar holds."""
    given = _parser().parse_args(arguments)
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    found = all_measured(quick=given.quick)
    lines = bars(found)
    console.print(figures_table(found))
    console.print(bars_table(lines))
    if given.json is not None:
        given.json.write_text(json.dumps(_document(found, lines), indent=2) + "\n")
        console.print(f"written to {given.json}", markup=False)
    return 0 if all(line.holds for line in lines) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks.sizes.synthetic", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="only what has a bar")
    parser.add_argument("--json", type=Path, help="where the figures go, too")
    return parser


def all_measured(*, quick: bool) -> list[Found]:
    """Every world, or only those that have a bar."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(WORKERS, mp_context=context) as pool:
        return list(pool.map(measured, _jobs(quick=quick)))


def _jobs(*, quick: bool) -> list[Job]:
    return [
        Job(family, name, runtime, BAR_SEEDS if _barred(family, name) else SEEDS)
        for family in Family
        for name in names_of(family)
        for runtime in RUNTIMES_S
        if not quick or _barred(family, name)
    ]


def _barred(family: Family, name: str) -> bool:
    return family is Family.UNINFLUENCED or (family is Family.FEATURE and name in LINEAR)


def measured(job: Job) -> Found:
    """Play a job's draws through every policy."""
    played: dict[str, list[ReplayedRow]] = {name: [] for name in PLAYED}
    later: dict[str, list[ReplayedRow]] = {name: [] for name in PLAYED}
    for seed in range(job.draws):
        drawn = world(job.family, job.name, RUNTIMES_S[job.runtime], seed=seed)
        for name in PLAYED:
            ended = _played(drawn, name)
            played[name] += ended
            later[name] += [each for each in ended if each.row.line in drawn.later]
    return Found(
        family=job.family.value,
        name=job.name,
        runtime=job.runtime,
        draws=job.draws,
        later={name: _sums(of_policy) for name, of_policy in later.items()},
        overall={name: _sums(of_policy) for name, of_policy in played.items()},
        later_need_gb_h=_need_gb_h(later[ORACLE]),
        need_gb_h=_need_gb_h(played[ORACLE]),
    )


def _played(drawn: World, policy: str) -> list[ReplayedRow]:
    sizer = drawn.oracle() if policy == ORACLE else POLICIES[policy].make(Knobs())
    return replay(drawn.rows, shown_to(sizer, drawn.shown)).rows


def _sums(ended: Sequence[ReplayedRow]) -> Sums:
    return Sums(
        runs=len(ended),
        waste_gb_h=sum(each.waste_gb_h for each in ended),
        failed_attempts=sum(each.failed_attempts for each in ended),
    )


def _need_gb_h(ended: Sequence[ReplayedRow]) -> float:
    return sum(gb_hours(each.row.peak_bytes, each.row.runtime_s) for each in ended)


def bars(found: Sequence[Found]) -> list[Bar]:
    """The bars of the measured worlds."""
    return [line for each in found for line in _bars_of(each)]


def _bars_of(each: Found) -> Iterator[Bar]:
    where = f"synthetic, {each.family}: {each.name}, {each.runtime} a run"
    if each.family == Family.FEATURE and each.name in LINEAR and each.runtime in BAR_RUNTIMES:
        for later, which in ((True, f"after the {KNOWN_AFTER}th run"), (False, "all runs")):
            ratio = each.to_oracle(OWN, later=later)
            if ratio is not None:
                yield below(f"{where}: waste ÷ oracle's, {which}", ratio, TO_ORACLE)
            sums = each.later[OWN] if later else each.overall[OWN]
            what = f"{where}: failed attempts per 100 runs, {which}"
            yield below(what, sums.failed_per_100, FAILED_PER_100, "{:.2f}")
    before_gb_h = UNINFLUENCED_BEFORE.get((each.name, each.runtime))
    if each.family == Family.UNINFLUENCED and before_gb_h is not None:
        ratio = each.overall[OWN].waste_gb_h / before_gb_h
        yield below(f"{where}: waste ÷ what it was before features came early", ratio, NO_WORSE)


def _document(found: Sequence[Found], lines: Sequence[Bar]) -> dict[str, Any]:
    return {"worlds": [asdict(each) for each in found], "bars": [asdict(line) for line in lines]}


def figures_table(found: Sequence[Found]) -> Table:
    """The figures next to the best rule's."""
    table = Table(
        title="Synthetic tasks: waste ÷ the oracle's, and failed attempts per 100 runs",
        caption=(
            f"÷: waste over the oracle's, in brackets over the need where that is nothing;"
            f" later: after each task's {KNOWN_AFTER}th run; rule: the best of {', '.join(RULES)}"
        ),
        title_justify="left",
        caption_justify="left",
        box=SIMPLE_HEAD,
    )
    table.add_column("task", no_wrap=True)
    table.add_column("a run", justify="right", no_wrap=True)
    for heading in (
        *("later: GB·h", "÷", "failed", "rule ÷", "failed"),
        *("all: GB·h", "÷", "failed", "rule ÷", "failed"),
    ):
        table.add_column(heading, justify="right", no_wrap=True)
    family, name = "", ""
    for each in found:
        if each.family != family:
            table.add_section()
            table.add_row(f"[bold]{each.family}[/]")
        same = (each.family, each.name) == (family, name)
        table.add_row("" if same else f"  {each.name}", each.runtime, *_cells(each))
        family, name = each.family, each.name
    return table


def _cells(each: Found) -> Iterator[str]:
    for later in (True, False):
        sums = each.later if later else each.overall
        yield _short(sums[OWN].waste_gb_h / each.draws)
        for policy in (OWN, each.rival):
            yield _ratio(each, policy, later=later)
            yield f"{sums[policy].failed_per_100:.1f}"


def _ratio(each: Found, policy: str, *, later: bool) -> str:
    ratio = each.to_oracle(policy, later=later)
    if ratio is not None:
        return _short(ratio)
    sums = each.later if later else each.overall
    need_gb_h = each.later_need_gb_h if later else each.need_gb_h
    return f"({_short(sums[policy].waste_gb_h / need_gb_h)})"


def _short(figure: float) -> str:
    """About three digits."""
    return f"{figure:,.{2 if figure < 10 else 1 if figure < 100 else 0}f}"


if __name__ == "__main__":
    sys.exit(main())
