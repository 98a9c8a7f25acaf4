"""Whole tasks, served run by run."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from plimsoll_predictor.core.record import FeatureValue
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.experts.charging import EndedRun
from plimsoll_predictor.experts.standing import Ended, Exceeded
from plimsoll_predictor.experts.task_standings import TaskStandings

TASK = "shop/train"
REQUEST_BYTES = 8192.0 * MIB
Run = tuple[float, Mapping[str, FeatureValue]]
"""Need in bytes, and features."""


@dataclass(frozen=True, slots=True)
class Served:
    """A run: whether its first size was too small, and that size over its need."""

    killed: bool
    over: float


def served(
    runs: Iterator[Run], runtime_s: float = 600.0, overhead_s: float | None = None
) -> tuple[list[Served], TaskStandings]:
    """Serve runs one after another; a killed one learns, and then gets what it needs."""
    standings, found = TaskStandings(), list[Served]()
    for number, (need_bytes, features) in enumerate(runs):
        bids = standings.bids(TASK, REQUEST_BYTES, features)
        size_bytes = bids.get(standings.standing(TASK).champion, REQUEST_BYTES)
        found.append(Served(size_bytes < need_bytes, size_bytes / need_bytes))
        if size_bytes < need_bytes:
            killed = Exceeded(run=str(number), allocation_bytes=size_bytes, bids=bids)
            standings.exceeded(TASK, killed)
        ended = Ended(
            run=EndedRun(need_bytes, runtime_s, REQUEST_BYTES),
            features=features,
            bids=bids or None,
            overhead_s=overhead_s,
            key=str(number),
        )
        standings.learn(TASK, ended)
    return found, standings


LEVELS_MIB: Final = {"a": 200, "b": 400, "c": 800, "d": 1600}


def kinds(runs: int, raised_after: int) -> Iterator[Run]:
    """Four kinds of runs; a release makes one of them need 2.5 times as much."""
    draw = random.Random(1)
    for number in range(runs):
        kind = draw.choice("abcd")
        times = 2.5 if kind == "b" and number >= raised_after else 1.0
        yield LEVELS_MIB[kind] * times * draw.uniform(0.97, 1.03) * MIB, {"kind": kind}
