"""The work of the demo's tasks: sizes, drawn by a seed. Pure.

The history and the live pods draw from the same mix, so that the history is a fair teacher. Only
the outsized runs (`Weight.OUTSIZED`) are for live pods alone: nothing like them was recorded.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from random import Random
from typing import Final

TRAIN_DEMAND: Final = "train-demand"
JOIN_SALES: Final = "join-sales"
PROGRAMS: Final = {TRAIN_DEMAND: "train_demand.py", JOIN_SALES: "join_sales.py"}
"""Task name -> its program in demo/tasks, and in the image under /tasks."""

FeatureValue = int | str


class Weight(StrEnum):
    """How much work a run is. The classes only shape the mix; no task or model sees them."""

    LIGHT = "light"
    MIDDLE = "middle"
    HEAVY = "heavy"
    OUTSIZED = "outsized"
    """Heavier than anything in the history."""


ORDINARY_MIX: Final = {Weight.LIGHT: 0.64, Weight.MIDDLE: 0.23, Weight.HEAVY: 0.13}
CELLS: Final = {
    Weight.LIGHT: (100_000, 3_000_000),
    Weight.MIDDLE: (4_000_000, 11_000_000),
    Weight.HEAVY: (20_000_000, 28_000_000),
    Weight.OUTSIZED: (37_000_000, 41_000_000),
}
"""train-demand: the least and most cells (rows x columns) of a table."""
SALES: Final = {
    Weight.LIGHT: (100_000, 400_000),
    Weight.MIDDLE: (500_000, 900_000),
    Weight.HEAVY: (1_500_000, 2_100_000),
    Weight.OUTSIZED: (3_100_000, 3_400_000),
}
"""join-sales: the least and most sales of a day."""
COLUMNS: Final = (8, 12, 20, 30, 45, 60)
REGION_SHARES: Final = {"north": 0.3, "south": 0.3, "coast": 0.2, "online": 0.2}
WIDEST: Final = COLUMNS[-1]
HUNGRIEST_REGION: Final = "coast"
"""The region of outsized runs, and of most heavy runs before them."""


@dataclass(frozen=True, slots=True)
class Work:
    """One run's work: its task, and the features that say how much."""

    task: str
    features: Mapping[str, FeatureValue]
    seed: int

    @property
    def program(self) -> str:
        """File name of its program."""
        return PROGRAMS[self.task]

    @property
    def arguments(self) -> list[str]:
        """The program's command-line arguments."""
        options = [*self.features.items(), ("seed", self.seed)]
        return [part for name, value in options for part in (f"--{name}", str(value))]


def draw_weight(random: Random) -> Weight:
    """A weight of the ordinary mix: light ones dominate, about one in eight is heavy."""
    return random.choices(list(ORDINARY_MIX), list(ORDINARY_MIX.values()))[0]


def draw_work(task: str, weight: Weight, random: Random) -> Work:
    """Draw one run of ``task``, of the given weight."""
    if task == TRAIN_DEMAND:
        columns = WIDEST if weight is Weight.OUTSIZED else random.choice(COLUMNS)
        rows = round(_log_uniform(CELLS[weight], random) / columns, -2)
        features: dict[str, FeatureValue] = {"rows": int(rows), "columns": columns}
    else:
        features = {
            "rows": int(round(_log_uniform(SALES[weight], random), -2)),
            "region": _draw_region(weight, random),
        }
    return Work(task, features, seed=random.randrange(1_000_000))


def _draw_region(weight: Weight, random: Random) -> str:
    if weight is Weight.OUTSIZED:
        return HUNGRIEST_REGION
    return random.choices(list(REGION_SHARES), list(REGION_SHARES.values()))[0]


def _log_uniform(between: tuple[int, int], random: Random) -> float:
    low, high = between
    return math.exp(random.uniform(math.log(low), math.log(high)))
