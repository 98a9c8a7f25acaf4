"""The bars of placing in simulation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from benchmarks.placing.plays import LEARNED, Figures
from plimsoll_predictor.placing.policies.catalogue import OWN
from plimsoll_predictor.placing.queueing import MOST_OVERTAKEN


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar over one row. least: whether the value must be at least the bar, or at most."""

    words: str
    at: float
    least: bool
    judges: Callable[[Figures], bool]
    value: Callable[[Figures], float]
    error: Callable[[Figures], float | None] = lambda _: None

    @property
    def asked(self) -> str:
        """The bar in words."""
        return f"{'≥' if self.least else '≤'} {self.at:g}"

    def holds(self, found: float) -> bool:
        """Say whether it is met."""
        return found >= self.at if self.least else found <= self.at


def _backlog(world: str, policy: str = OWN) -> Callable[[Figures], bool]:
    return lambda row: row.load is None and (row.world, row.policy) == (world, policy)


def _of_pairs(row: Figures) -> float:
    return row.of_best_pairs


def _gain(world: str, at: float) -> Bar:
    return Bar("share of the best pairs' gain", at, True, _backlog(world), _of_pairs)


def _learned(world: str, at: float) -> Bar:
    words = "the same, learned from 1,000 jobs"
    return Bar(words, round(0.8 * at, 2), True, _backlog(world, LEARNED), _of_pairs)


def _own(row: Figures) -> bool:
    return row.policy == OWN


SHARES: Final = {"fair-co2": 0.85, "gavel-p100": 0.60, "gavel-v100": 0.85}
BARS: Final = (
    *(_gain(world, at) for world, at in SHARES.items()),
    *(_learned(world, at) for world, at in SHARES.items()),
    Bar(
        "worst kind, backlog",
        0.02,
        False,
        lambda row: _own(row) and row.load is None and row.world in SHARES,
        lambda row: row.worst_kind,
        lambda row: row.worst_kind_error,
    ),
    Bar(
        "gain by nodes alone",
        -0.10,
        False,
        lambda row: _own(row) and row.load is not None,
        lambda row: row.gain,
    ),
    Bar("overtaken", MOST_OVERTAKEN, False, _own, lambda row: float(row.overtaken)),
)
