"""The bars of splitting in simulation; each is judged by its worst job."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from benchmarks.split.memory import MemoryFigures
from benchmarks.split.plays import AS_ADMITTED, Figures
from plimsoll_predictor.splitting.strategies.catalogue import SERVES
from plimsoll_predictor.splitting.strategies.strategy import Cut

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Bar(Generic[Row]):
    """A bar over the rows that it judges: no row may be above it."""

    words: str
    most: float
    value: Callable[[Row], float]
    judges: Callable[[Row], bool]


def _admitted(row: Figures) -> bool:
    """Say whether the row shows what admission does to Jobs that are cut."""
    return (row.mode, row.strategy) in {(Cut.BEFORE.value, name) for name in AS_ADMITTED}


def _serves(cut: Cut) -> Callable[[Figures], bool]:
    return lambda row: (row.mode, row.strategy) == (cut.value, SERVES[cut])


TIME_BARS: Final[tuple[Bar[Figures], ...]] = (
    Bar("leased, first run ÷ best even chunk", 1.10, lambda row: row.first, _serves(Cut.LEASED)),
    Bar("leased, later runs ÷ best even chunk", 1.03, lambda row: row.later, _serves(Cut.LEASED)),
    Bar("cut, later runs ÷ best even chunk", 1.03, lambda row: row.later, _serves(Cut.BEFORE)),
    Bar("cut by admission, later runs ÷ best even chunk", 1.03, lambda row: row.later, _admitted),
    Bar("cut by admission, worst run ÷ share", 1.10, lambda row: row.worst_learning, _admitted),
    *(
        Bar(f"{cut.value}, worst run ÷ share", 1.10, lambda row: row.worst_learning, _serves(cut))
        for cut in Cut
    ),
)
MEMORY_BARS: Final[tuple[Bar[MemoryFigures], ...]] = (
    Bar("workers killed in half of the memory", 0, lambda row: row.half_kills, lambda _: True),
    Bar("memory × time ÷ share's, in half", 0.75, lambda row: row.half_memory_time, lambda _: True),
    Bar("memory × time ÷ share's, proposed", 0.75, lambda row: row.memory_time, lambda _: True),
)
