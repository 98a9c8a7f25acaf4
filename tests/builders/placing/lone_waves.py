"""Runs that neighbours do not slow, but whose length decides whom they meet."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable

from plimsoll_predictor.placing.placed_run import PlacedRun

FIRST_S = 1_790_000_000.0
WAVE_S = 7200.0
USUAL_S = {"t/a": 600.0, "t/sleep": 600.0, "t/b": 1500.0}
_Run = tuple[str, str, float, float]
"""Its kind, node, start and end."""


def bursts(scatter: float, waves: int = 150, seed: int = 1) -> list[PlacedRun]:
    """Four pods of a Job start together on a node; each second time, one starts elsewhere, too.

    scatter: one standard deviation of the ln of a run's time.
    """
    draw, runs = random.Random(seed), list[_Run]()
    for wave in range(waves):
        start_s = FIRST_S + wave * WAVE_S
        for node in [f"n{wave % 3}"] * 4 + ["other"] * (wave % 2):
            length_s = USUAL_S["t/a"] * math.exp(draw.gauss(0, scatter))
            runs.append(("t/a", node, start_s, start_s + length_s))
    return _placed(runs)


def sleepers(waves: int = 150, seed: int = 1) -> list[PlacedRun]:
    """Four pods sleep until a time of day, beside a pod that starts some time before."""
    draw, runs = random.Random(seed), list[_Run]()
    for wave in range(waves):
        node, first_s = f"n{wave % 2}", FIRST_S + wave * WAVE_S
        end_s = first_s + 7000.0
        for _ in range(4):
            length_s = USUAL_S["t/sleep"] * math.exp(draw.gauss(0, 0.4))
            runs.append(("t/sleep", node, end_s - length_s, end_s))
        start_s, length_s = first_s + 5000.0, USUAL_S["t/b"] * math.exp(draw.gauss(0, 0.1))
        runs.append(("t/b", node, start_s, start_s + length_s))
    return _placed(runs)


def _placed(runs: Iterable[_Run]) -> list[PlacedRun]:
    """The runs with what was beside each on average, by their ends."""
    found = list(runs)
    placed = [
        PlacedRun(
            kind=run[0],
            node=run[1],
            submitted_s=run[2],
            started_s=run[2],
            finished_s=run[3],
            forecast_s=USUAL_S[run[0]],
            beside=_beside(run, found),
        )
        for run in found
    ]
    return sorted(placed, key=lambda run: run.finished_s)


def _beside(run: _Run, all_runs: Iterable[_Run]) -> dict[str, float]:
    beside = dict[str, float]()
    for other in all_runs:
        both_s = min(run[3], other[3]) - max(run[2], other[2])
        if other is not run and other[1] == run[1] and both_s > 0:
            beside[other[0]] = beside.get(other[0], 0.0) + both_s / (run[3] - run[2])
    return beside
