"""Three recurring tasks on the real node, round after round: each run's size and need.

One task is steady, one is ruled by a feature, one grows. A round begins when everything that the
round before taught is known.
"""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from rich.table import Table

from benchmarks.real_node.stand import Program, Stand, a_stand
from plimsoll_predictor.core.record import Observation, Outcome
from plimsoll_predictor.core.units import MIB
from tests.conftest import Cluster

ROUNDS: Final = 14
SETTLES_S: Final = 2.0
"""From a round's last observation until sizes use it: a publication takes half a second."""
MOST_ALLOCATED_OVER_PEAK: Final = 1.15
MOST_KILLS: Final = 2
ASKS_MIB: Final = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of a task.

    sizes_mib: the memory of each attempt; the last one succeeded. peak_mib: of the last one.
    why: the decision on the first attempt, in words.
    """

    task: str
    round: int
    needs_mib: int
    sizes_mib: tuple[float, ...]
    peak_mib: float
    why: str

    @property
    def kills(self) -> int:
        """How many of its attempts were too small."""
        return len(self.sizes_mib) - 1


def recurring(cluster: Cluster, runs_s: int, seed: int, rounds: int = ROUNDS) -> dict[str, Any]:
    """Run all rounds. runs_s: how long a run takes. Returns the figures and each run."""
    return asyncio.run(_recurring(cluster, runs_s, seed, rounds))


async def _recurring(cluster: Cluster, runs_s: int, seed: int, rounds: int) -> dict[str, Any]:
    programs = {name: _programs(name, runs_s, seed, rounds) for name in _NEEDS}
    async with a_stand(cluster) as stand:
        for number in range(rounds):
            for name, of_task in programs.items():
                await stand.submit(f"{name}-{number}", name, of_task[number])

            def all_ended(number: int = number) -> bool:
                return all(len(stand.succeeded(name)) > number for name in programs)

            await stand.until(f"round {number} ended", all_ended)
            await asyncio.sleep(SETTLES_S)
        runs = [run for name, of_task in programs.items() for run in _runs(stand, name, of_task)]
    return figures(runs, runs_s)


def figures(runs: list[Run], runs_s: int) -> dict[str, Any]:
    """Sum up the rounds. Each task's first run has its request and counts in no ratio."""
    names = list(dict.fromkeys(run.task for run in runs))
    of_tasks = {
        name: {
            "allocated_over_peak": _ratio([r for r in runs if r.task == name and r.round]),
            "kills": sum(r.kills for r in runs if r.task == name),
        }
        for name in names
    }
    return {
        "runs_s": runs_s,
        "allocated_over_peak": _ratio([run for run in runs if run.round]),
        "kills": sum(run.kills for run in runs),
        "runs": len(runs),
        "tasks": of_tasks,
        "rounds": [asdict(run) for run in runs],
    }


def tables(found: Mapping[str, Any]) -> list[Table]:
    """A table of all rounds, and one of the tasks."""
    return [_rounds(found["rounds"]), _tasks(found)]


def _rounds(rounds: list[Mapping[str, Any]]) -> Table:
    table = Table(title="Three recurring tasks, round after round: what each attempt had, in MiB")
    for column in ("task", "round", "needs", "had", "peak", "had ÷ peak", "why"):
        table.add_column(column)
    for run in rounds:
        had = " → ".join(f"{size:.0f}" for size in run["sizes_mib"])
        ratio = run["sizes_mib"][-1] / run["peak_mib"]
        row = (run["round"], run["needs_mib"], had, f"{run['peak_mib']:.0f}", f"{ratio:.2f}")
        table.add_row(run["task"], *map(str, row), run["why"])
    return table


def _tasks(found: Mapping[str, Any]) -> Table:
    table = Table(title=f"Allocated ÷ peak after the first run, {found['runs_s']} s a run")
    for column in ("task", "allocated ÷ peak", "kills", "bound", ""):
        table.add_column(column)
    for name, of_task in found["tasks"].items():
        table.add_row(name, f"{of_task['allocated_over_peak']:.2f}", str(of_task["kills"]), "", "")
    table.add_row(
        "all",
        f"{found['allocated_over_peak']:.2f}",
        f"{found['kills']} of {found['runs']} runs",
        f"≤ {MOST_ALLOCATED_OVER_PEAK}, ≤ {MOST_KILLS}",
        "[green]holds[/]" if holds(found) else "[red]does not hold[/]",
    )
    return table


def holds(found: Mapping[str, Any]) -> bool:
    """Whether sizes are near enough to the peaks, and kills few enough."""
    near = found["allocated_over_peak"] <= MOST_ALLOCATED_OVER_PEAK
    return bool(near and found["kills"] <= MOST_KILLS)


def _ratio(runs: list[Run]) -> float:
    """Allocated over peak, of the attempts that succeeded."""
    return sum(run.sizes_mib[-1] for run in runs) / sum(run.peak_mib for run in runs)


def _runs(stand: Stand, name: str, programs: list[Program]) -> list[Run]:
    of_run: dict[str, list[Observation]] = {}
    for each in stand.observed(name):
        of_run.setdefault(each.run, []).append(each)
    found = []
    for number, (program, attempts) in enumerate(zip(programs, of_run.values(), strict=True)):
        last = attempts[-1]
        assert last.outcome is Outcome.SUCCEEDED, f"{name}-{number} ended as {last.outcome}"
        found.append(
            Run(
                task=name,
                round=number,
                needs_mib=program.needs_mib,
                sizes_mib=tuple((each.allocation_bytes or 0) / MIB for each in attempts),
                peak_mib=(last.peak_bytes or 0) / MIB,
                why=str(stand.decision(attempts[0].attempt_uid).get("why", "")),
            )
        )
    return found


def _steady(random_: random.Random, _: int) -> tuple[int, dict[str, str]]:
    return round(200 * random_.uniform(0.97, 1.03)), {}


def _ruled(random_: random.Random, _: int) -> tuple[int, dict[str, str]]:
    """60 MiB and a mebibyte for each thousand rows; rows are lognormal around 120,000."""
    rows = min(round(120_000 * math.exp(random_.gauss(0, 0.6))), 900_000)
    return 60 + rows // 1000, {"rows": str(rows)}


def _growing(random_: random.Random, number: int) -> tuple[int, dict[str, str]]:
    return round(100 * 1.05**number * random_.uniform(0.98, 1.02)), {}


_NEEDS: Final = {"steady": _steady, "ruled": _ruled, "growing": _growing}


def _programs(name: str, runs_s: int, seed: int, rounds: int) -> list[Program]:
    """A task's runs: each takes its memory over half of its runtime."""
    random_ = random.Random(f"{name} {seed}")
    found = []
    for number in range(rounds):
        needs_mib, features = _NEEDS[name](random_, number)
        grows_s = runs_s // 2
        program = Program(
            needs_mib=needs_mib,
            asks_mib=ASKS_MIB,
            grows_s=grows_s,
            holds_s=runs_s - grows_s,
            features=features,
        )
        found.append(program)
    return found
