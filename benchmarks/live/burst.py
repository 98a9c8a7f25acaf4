"""Bursts on the real node: three small runs end first, then the rest start and grow.

Each burst is played twice, with and without what running attempts show, and failed attempts are
counted. The small runs end one after the other, in an order drawn once for both plays: the last one
to end decides the first sizes of all others.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import count, islice
from typing import Any, Final

from rich.table import Table

from benchmarks.real_node.stand import Program, Stand, a_stand
from plimsoll_predictor.core.record import Observation, Outcome
from plimsoll_predictor.core.units import GB, MIB
from tests.conftest import Cluster

RUNS: Final = 40
BURSTS: Final = 4
"""How many bursts are played; one alone says little, since the node decides when pods start."""
SMALL_RUNS: Final = 3
WAVE: Final = (4, 8)
"""The least and most large runs that start at a time."""
WAVE_EVERY: Final = 0.25
"""The time between two waves, as a share of a large run's time."""
TASK: Final = "burst"
ASKS_MIB: Final = 1024
SMALL_MIB: Final = (20, 24, 28)
SMALL_RUNS_S: Final = 4
SETTLES_S: Final = 2.0
LEAST_SAVED: Final = 0.5
"""The share of failed attempts that live bounds must save."""
SWITCH: Final = "PLIMSOLL_LIVE_BOUNDS"


@dataclass(frozen=True, slots=True, kw_only=True)
class Burst:
    """The result of one burst.

    seed: the seed of its draw. waste_gb_h: memory allocated beyond the need, and by failed
    attempts. runs: for each, its submission in seconds from the start, its need in the end and its
    attempts' sizes.
    """

    seed: int
    live_bounds: bool
    failed_attempts: int
    failed_runs: int
    waste_gb_h: float
    took_s: float
    runs: list[dict[str, Any]]


def burst(
    cluster: Cluster, runs_s: int, seed: int, runs: int = RUNS, bursts: int = BURSTS
) -> dict[str, Any]:
    """Play bursts without live bounds and with them. runs_s: how long one of the large runs takes.

    seed: of the first; the others have the next ones. The two ways take turns in going first.
    """
    found = list[Burst]()
    for turn in range(bursts):
        programs = _programs(runs_s, seed + turn, runs)
        for on in (False, True) if turn % 2 == 0 else (True, False):
            found.append(asyncio.run(_burst(cluster, programs, seed + turn, live_bounds=on)))
    saved = 1 - _failed(found, live_bounds=True) / max(1, _failed(found, live_bounds=False))
    return {"runs": runs, "runs_s": runs_s, "saved": saved, "bursts": [asdict(b) for b in found]}


def _failed(bursts: list[Burst], *, live_bounds: bool) -> int:
    return sum(each.failed_attempts for each in bursts if each.live_bounds is live_bounds)


async def _burst(
    cluster: Cluster, programs: list[Program], seed: int, *, live_bounds: bool
) -> Burst:
    async with a_stand(cluster, environment={SWITCH: str(live_bounds).lower()}) as stand:
        clock = asyncio.get_running_loop()
        began_s = clock.time()
        small, large = programs[:SMALL_RUNS], programs[SMALL_RUNS:]
        for number, program in enumerate(small):
            await stand.submit(f"small-{number}", TASK, program)
            await _until_succeeded(stand, number + 1)
        await asyncio.sleep(SETTLES_S)
        numbers = count()
        for wave in _waves(large):
            for program in wave:
                await stand.submit(f"large-{next(numbers)}", TASK, program)
            await asyncio.sleep(WAVE_EVERY * (program.grows_s + program.holds_s))
        await _until_succeeded(stand, len(programs))
        return _result(stand, seed, clock.time() - began_s, live_bounds=live_bounds)


async def _until_succeeded(stand: Stand, runs: int) -> None:
    await stand.until(f"the first {runs} runs", lambda: len(stand.succeeded(TASK)) >= runs)


def _waves(programs: list[Program]) -> Iterator[list[Program]]:
    random_ = random.Random(len(programs))
    left = iter(programs)
    while wave := list(islice(left, random_.randint(*WAVE))):
        yield wave


def _result(stand: Stand, seed: int, took_s: float, *, live_bounds: bool) -> Burst:
    attempts = stand.observed(TASK)
    ok = [each for each in attempts if each.outcome is Outcome.SUCCEEDED]
    failed = [each for each in attempts if each.outcome is Outcome.OOM_KILLED]
    wasted = sum(
        ((each.allocation_bytes or 0) - (each.peak_bytes or 0)) * (each.runtime_s or 0)
        for each in ok
    ) + sum((each.allocation_bytes or 0) * (each.runtime_s or 0) for each in failed)
    return Burst(
        seed=seed,
        live_bounds=live_bounds,
        failed_attempts=len(failed),
        failed_runs=len({each.run for each in attempts} - {each.run for each in ok}),
        waste_gb_h=wasted / GB / 3600,
        took_s=took_s,
        runs=_runs(attempts),
    )


def _runs(attempts: list[Observation]) -> list[dict[str, Any]]:
    of_run: dict[str, list[Observation]] = {}
    for each in attempts:
        of_run.setdefault(each.run, []).append(each)
    began_s = min((each.submitted_s or 0) for each in attempts)
    return [
        {
            "submitted_s": (of[0].submitted_s or 0) - began_s,
            "peak_mib": round((of[-1].peak_bytes or 0) / MIB),
            "sizes_mib": [round((each.allocation_bytes or 0) / MIB) for each in of],
            "started_s": [(each.started_s or 0) - began_s for each in of],
        }
        for of in of_run.values()
    ]


def table(found: Mapping[str, Any]) -> Table:
    """A table of all bursts, and the share of failed attempts that live bounds saved."""
    waves = f"then {WAVE[0]} to {WAVE[1]} every {WAVE_EVERY * found['runs_s']:g} s"
    words = f"Bursts of {found['runs']} runs: {SMALL_RUNS} small ones end first, {waves}"
    made = Table(title=f"{words}; a large run takes {found['runs_s']} s")
    for column in (
        "burst",
        "live bounds",
        "failed attempts",
        "failed runs",
        "waste, GB·h",
        "took, s",
    ):
        made.add_column(column)
    for each in sorted(found["bursts"], key=lambda each: (each["seed"], each["live_bounds"])):
        made.add_row(
            str(each["seed"]),
            "on" if each["live_bounds"] else "off",
            str(each["failed_attempts"]),
            str(each["failed_runs"]),
            f"{each['waste_gb_h']:.3f}",
            f"{each['took_s']:.0f}",
        )
    verdict = "[green]holds[/]" if holds(found) else "[red]does not hold[/]"
    made.add_row("saved", "", f"{found['saved']:.0%}", "", f"bound ≥ {LEAST_SAVED:.0%}", verdict)
    return made


def holds(found: Mapping[str, Any]) -> bool:
    """Whether enough failed attempts are saved."""
    return bool(found["saved"] >= LEAST_SAVED)


def _programs(runs_s: int, seed: int, runs: int) -> list[Program]:
    """Small runs, then large ones that take their memory over half of their runtime."""
    random_ = random.Random(f"burst {seed}")
    found = [
        Program(needs_mib=mib, asks_mib=ASKS_MIB, grows_s=1, holds_s=SMALL_RUNS_S - 1, features={})
        for mib in random_.sample(SMALL_MIB, SMALL_RUNS)
    ]
    for _ in range(runs - SMALL_RUNS):
        needs_mib = round(random_.uniform(200, 320))
        found.append(
            Program(
                needs_mib=needs_mib,
                asks_mib=ASKS_MIB,
                grows_s=runs_s // 2,
                holds_s=runs_s - runs_s // 2,
                features={},
            )
        )
    return found
