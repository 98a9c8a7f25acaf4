"""Chunks of Jobs over items that ran, and what leased ones taught."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from plimsoll_operator.names.labels import CHUNK_ITEMS
from plimsoll_predictor.core.record import Observation
from plimsoll_predictor.core.units import GIB, MIB
from plimsoll_predictor.splitting.strategies.guided import Guided
from plimsoll_predictor.splitting.strategies.leased_task import LastLeased, taught_document
from plimsoll_predictor.splitting.strategies.strategy import Chunk
from tests.builders.stores import NOON_S, an_attempt

WORKERS, ITEMS_A_POD = 4, 50


def chunks_of(job: str, pods: int = 8, sigma: float = 1.5) -> list[Observation]:
    """A Job's pods; the first free worker takes the next one."""
    draw = np.random.default_rng(3)
    free, made = [NOON_S] * WORKERS, []
    for index in range(pods):
        seconds = float(draw.lognormal(math.log(5) - sigma**2 / 2, sigma, ITEMS_A_POD).sum())
        at = free.index(min(free))
        began_s = free[at]
        free[at] += seconds + 2
        made.append(
            replace(
                an_attempt(f"{job}-{index}")
                .knowing(**{CHUNK_ITEMS: float(ITEMS_A_POD)})
                .in_run(f"job:{job}:{index}")
                .peaking(100 * MIB)
                .given(GIB)
                .built,
                submitted_s=began_s - 1.5,
                started_s=began_s,
                finished_s=began_s + seconds,
            )
        )
    return made


LAST = LastLeased(
    items=4000, workers=4, shares=4, done=3990, leases=61, taken_back=2, refused=1, limit_bytes=GIB
)


def a_taught(
    *,
    limit_bytes: int | None = GIB,
    measured: bool = True,
    sizes: Sequence[int] = (1, 2, 4, 8, 16, 8, 4, 16),
    item_s: float = 2.0,
) -> dict[str, Any]:
    """Items that all take as long; 50Mi, and 1Mi an item."""
    guided = Guided(limit_bytes)
    for items in sizes:
        peak_bytes = (50 + items) * MIB if measured else None
        guided.done(Chunk(items, item_s * items, peak_bytes, items))
    return taught_document(guided, LAST)


def uneven_taught(killed: tuple[int, int] | None = None) -> dict[str, Any]:
    """Items of 2 s in the mean, some of them much longer. killed: items, and in how many bytes."""
    guided = Guided(GIB)
    for place, items in enumerate((1, 2, 4, 8, 16, 8, 4, 16)):
        seconds = items * (5.0 if place % 3 == 0 else 1.0)
        guided.done(Chunk(items, seconds, (50 + items) * MIB, items))
    if killed is not None:
        guided.killed(*killed)
    return taught_document(guided, LAST)
