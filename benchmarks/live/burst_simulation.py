"""The node's burst without a node: failed attempts and spare memory, by the distribution of needs.

    PYTHONPATH=. .venv/bin/python -P -m benchmarks.live.burst_simulation [--draws 8]

Plays `make bench-live`'s burst second by second through the deciding, lifting and learning that
serve pods. docs/adr/0019-bursts-and-live-bounds.md has the figures.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks.live.burst import ASKS_MIB, RUNS, SMALL_MIB, SMALL_RUNS_S, WAVE, WAVE_EVERY
from plimsoll_operator.controller.attempts.climbs import Climbs
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import GB, MIB
from plimsoll_predictor.replay.growth import LINEAR
from plimsoll_predictor.replay.sizes.product import ProductSizer
from plimsoll_predictor.replay.sizes.rows import TraceRow
from plimsoll_predictor.replay.sizes.sizer import Knobs, RunningAttempt

DRAWS: Final = 8
STEP_S: Final = 0.25
RUNTIME_S: Final = 60.0
TOLD_AFTER_S: Final = 1.5
"""The age of what the controller knows of a running attempt; agents measure every second."""
STARTS_AFTER_S: Final = (0.5, 2.5)
"""From a pod's creation to its program's start, as on the node when it is busy."""
TASK: Final = TaskId("replay", "burst")
_BASE_MIB: Final = 6.0
"""The memory of a program before it grows."""

Needs = Callable[[random.Random], float]
NEEDS_MIB: Final[Mapping[str, Needs]] = MappingProxyType(
    {
        "200 to 320": lambda drawn: drawn.uniform(200, 320),
        "50 to 80: the doubled size suffices": lambda drawn: drawn.uniform(50, 80),
        "60 to 88": lambda drawn: drawn.uniform(60, 88),
        "100 to 180": lambda drawn: drawn.uniform(100, 180),
        "lognormal around 120": lambda drawn: min(900.0, drawn.lognormvariate(4.787, 0.5)),
    }
)


@dataclass(slots=True)
class Run:
    """A run and its present attempt. Seconds from the start of the burst.

    size_bytes: 0 before it is decided. made_s, starts_s: of the attempt.
    """

    row: TraceRow
    made_s: float
    chance: random.Random
    starts_s: float = 0.0
    size_bytes: int = 0
    attempt: int = 1
    ended: bool = False

    def made(self, at_s: float, size_bytes: int) -> None:
        """Begin an attempt: its pod is created."""
        self.made_s, self.size_bytes = at_s, size_bytes
        self.starts_s = at_s + self.chance.uniform(*STARTS_AFTER_S)

    def reached_bytes(self, at_s: float) -> float:
        """The memory of its attempt at that moment."""
        share = LINEAR.reached((at_s - self.starts_s) / self.row.runtime_s)
        return _BASE_MIB * MIB + share * (self.row.peak_bytes - _BASE_MIB * MIB)


@dataclass(slots=True)
class Played:
    """A burst in play. failed: attempts. spare_gb_h: held beyond needs."""

    sizer: ProductSizer
    runs: list[Run]
    shown: bool
    climbs: Climbs = field(default_factory=Climbs)
    climbing: set[str] = field(default_factory=set)
    failed: int = 0
    spare_gb_h: float = 0.0

    def play(self) -> None:
        """Play it to its end."""
        at_s = 0.0
        while not all(each.ended for each in self.runs):
            for each in self.runs:
                if not each.size_bytes and each.made_s <= at_s:
                    self._see(at_s)
                    each.made(at_s, self.sizer.decide(each.row.asked, at_s))
                if each.size_bytes and not each.ended and each.starts_s <= at_s:
                    self._step(each, at_s)
            at_s += STEP_S

    def _step(self, each: Run, at_s: float) -> None:
        row = each.row
        if each.reached_bytes(at_s) > each.size_bytes:
            self._killed(each, at_s)
        elif at_s >= each.starts_s + row.runtime_s:
            each.ended = True
            self.climbs.ended(str(row.line))
            self.spare_gb_h += (each.size_bytes - row.peak_bytes) * row.runtime_s / GB / 3600
            self.sizer.completed(row, each.size_bytes, at_s)
        elif each.attempt > 1 and at_s >= each.starts_s + TOLD_AFTER_S:
            self.climbs.reached(str(row.line), each.reached_bytes(at_s - TOLD_AFTER_S), at_s)

    def _killed(self, each: Run, at_s: float) -> None:
        killed_bytes = each.size_bytes
        self.failed += 1
        self.climbs.ended(str(each.row.line))
        self._see(at_s)
        self.sizer.failed(each.row.asked, killed_bytes, each.attempt, at_s)
        each.made(at_s, self.sizer.lift(each.row.asked, killed_bytes, each.attempt, at_s))
        each.attempt += 1
        self.climbs.follow(str(each.row.line), TASK, each.starts_s, killed_bytes)

    def _see(self, at_s: float) -> None:
        if not self.shown:
            return
        for _, line, climbs in self.climbs.turned(at_s):
            (self.climbing.add if climbs else self.climbing.discard)(line)
        told_s = at_s - TOLD_AFTER_S
        running = [
            RunningAttempt(
                line=each.row.line,
                started_s=each.starts_s,
                reached_bytes=each.reached_bytes(told_s) if each.starts_s <= told_s else 0.0,
                climbs=str(each.row.line) in self.climbing,
            )
            for each in self.runs
            if each.size_bytes and not each.ended and each.starts_s <= at_s
        ]
        self.sizer.see_running(TASK.name, running)


def drawn(needs: Needs, seed: int) -> list[Run]:
    """Draw a burst: small runs one after the other, then waves of large ones."""
    random_ = random.Random(f"burst {seed}")
    runs, at_s = list[Run](), 0.0
    for mib in random_.sample(SMALL_MIB, len(SMALL_MIB)):
        runs.append(_run(len(runs), mib, SMALL_RUNS_S, at_s, seed))
        at_s += SMALL_RUNS_S + 3
    while len(runs) < RUNS:
        for _ in range(min(RUNS - len(runs), random_.randint(*WAVE))):
            runs.append(_run(len(runs), needs(random_), RUNTIME_S, at_s, seed))
        at_s += WAVE_EVERY * RUNTIME_S
    return runs


def _run(number: int, need_mib: float, runtime_s: float, at_s: float, seed: int) -> Run:
    row = TraceRow(
        line=number + 2,
        run="",
        task=TASK.name,
        item=None,
        submit_s=at_s,
        cpus=None,
        preset_bytes=ASKS_MIB * MIB,
        input_bytes=None,
        features={},
        start_s=at_s,
        complete_s=at_s + runtime_s,
        runtime_s=runtime_s,
        peak_bytes=round(need_mib * MIB),
    )
    return Run(row, at_s, random.Random(f"starts {seed} {number}"))


def played(needs: Needs, seed: int, *, shown: bool) -> Played:
    """Play one draw, with or without what running attempts show."""
    found = Played(ProductSizer(Knobs(growth=LINEAR if shown else None)), drawn(needs, seed), shown)
    found.play()
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="benchmarks.live.burst_simulation", description=__doc__)
    parser.add_argument("--draws", type=int, default=DRAWS)
    draws = parser.parse_args(arguments).draws
    table = Table(title=f"Simulated bursts, means of {draws} draws", box=SIMPLE_HEAD)
    table.add_column("needs, MiB")
    for heading in ("failed without", "with", "saved", "spare GB·h without", "with"):
        table.add_column(heading, justify="right")
    for words, needs in NEEDS_MIB.items():
        each = {
            shown: [played(needs, seed, shown=shown) for seed in range(draws)]
            for shown in (False, True)
        }
        failed = {shown: sum(one.failed for one in of) / draws for shown, of in each.items()}
        spare = {shown: sum(one.spare_gb_h for one in of) / draws for shown, of in each.items()}
        table.add_row(
            words,
            *(f"{failed[shown]:.1f}" for shown in (False, True)),
            f"{1 - failed[True] / failed[False]:.0%}",
            *(f"{spare[shown]:.3f}" for shown in (False, True)),
        )
    Console(width=None if sys.stdout.isatty() else 120).print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
