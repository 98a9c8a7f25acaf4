"""What the thesis states about its data, and what the generator made: a check on the generator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.thesis.models import described
from benchmarks.thesis.printed import BINNINGS, TABLE_6, Ceilings
from benchmarks.thesis.situation import Situation
from benchmarks.thesis.tasks import HEAVY_1, HEAVY_2, TaskRows
from plimsoll_predictor.core.units import GB

ABOVE_GB: Final = {
    HEAVY_1: {10: 66, 20: 28, 30: 24, 60: 10},
    HEAVY_2: {10: 95, 20: 44, 40: 24, 70: 12},
}
"""Rows above a size. The 24s follow from Table 6's two-bin rows alone; the others from solving its
three- and four-bin rows, to within a few rows."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One statement. stated: in the thesis's words or numbers."""

    what: str
    stated: str
    made: str


def facts(situation: Situation, tasks: dict[str, TaskRows]) -> list[Fact]:
    """Everything that is compared, in the order of chapter 5.1."""
    kinds = [rows.kind for rows in tasks.values()]
    groups = [kind.group for kind in kinds]
    others = [rows for name, rows in tasks.items() if name not in ABOVE_GB]
    medians = [float(np.median(rows.need_bytes)) / GB for rows in tasks.values()]
    named = ("normal", "parallel", "memory-intensive", "compute-intensive")
    return [
        Fact("runs", "380", str(situation.runs)),
        Fact("scenarios", "153", str(len(situation.scenarios))),
        Fact("regions", "four", str(len({s.region for s in situation.scenarios}))),
        Fact("tasks by Table 4's groups", "20, 4, 2, 1", _joined(map(groups.count, named))),
        Fact("of them common to all scenarios", "8", str(sum(kind.common for kind in kinds))),
        Fact(
            "memory asked for, one scenario", "1520 GB", f"{sum(k.memory_gb for k in kinds):g} GB"
        ),
        Fact("CPU asked for, one scenario", "132 cores", f"{sum(k.cores for k in kinds):g} cores"),
        Fact("rows", "34368", str(sum(len(rows.features) for rows in tasks.values()))),
        Fact("rows of each heavy task", "1460", _joined(len(tasks[n].features) for n in ABOVE_GB)),
        Fact("largest median of any task", "below 4 GB", f"{max(medians):.1f} GB"),
        Fact("tasks that stay within 5 GB", "17", str(sum(_within(rows, 5) for rows in others))),
        Fact(
            "tasks that need 5 to 20 GB at most",
            "8",
            str(sum(_within(rows, 20) and not _within(rows, 5) for rows in others)),
        ),
        Fact("memory used of asked for", "extremely low", f"{_utilisation(tasks):.1%}"),
        *(fact for name in ABOVE_GB for fact in _heavy_facts(tasks[name])),
    ]


def _heavy_facts(rows: TaskRows) -> list[Fact]:
    name, need_gb = rows.kind.name, rows.need_bytes / GB
    above = ABOVE_GB[name]
    largest = "175 GB" if name == HEAVY_1 else "110 GB"
    quarter = float(np.percentile(need_gb, 75))
    return [
        Fact(f"{name}: median need", "below 4 GB", f"{np.median(need_gb):.1f} GB"),
        Fact(f"{name}: upper quartile", "below 4 GB", f"{quarter:.1f} GB"),
        Fact(f"{name}: largest need", largest, f"{need_gb.max():.0f} GB"),
        Fact(
            f"{name}: rows above {', '.join(map(str, above))} GB",
            "about " + _joined(above.values()),
            _joined(int((need_gb > size).sum()) for size in above),
        ),
        *(
            Fact(
                f"{name}: optimal improvement of {_joined(ceilings, '; ')}",
                f"{printed.plain:.1f}%, time-based {printed.time_based:.1f}%",
                "{:.1f}%, time-based {:.1f}%".format(*optimal_improvements(rows, ceilings)),
            )
            for ceilings in BINNINGS[name]
            for printed in [TABLE_6[name, ceilings]]
        ),
    ]


def optimal_improvements(rows: TaskRows, ceilings_gb: Ceilings) -> tuple[float, float]:
    """Per cent saved by a perfect classifier, and the same weighted by runtime (Table 6)."""
    given = np.asarray(ceilings_gb)[described(ceilings_gb, rows.need_bytes)]
    return _saved(given, ceilings_gb[-1], None), _saved(given, ceilings_gb[-1], rows.runtime_s)


def _saved(
    given_gb: NDArray[np.float64], asked_gb: float, weights: NDArray[np.float64] | None
) -> float:
    return 100 * (1 - float(np.average(given_gb, weights=weights)) / asked_gb)


def _within(rows: TaskRows, size_gb: float) -> bool:
    return bool(rows.need_bytes.max() <= size_gb * GB)


def _utilisation(tasks: dict[str, TaskRows]) -> float:
    asked = sum(rows.kind.memory_gb * GB * len(rows.features) for rows in tasks.values())
    return float(sum(int(rows.need_bytes.sum()) for rows in tasks.values()) / asked)


def _joined(values: object, by: str = ", ") -> str:
    return by.join(f"{value:g}" for value in values)  # type: ignore[attr-defined]
