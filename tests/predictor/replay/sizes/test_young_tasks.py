"""Many tasks with few runs each: how many attempts fail, and how much is spare."""

from __future__ import annotations

import random

from plimsoll_predictor.core.units import GIB, gb_hours
from plimsoll_predictor.replay.sizes.engine import replay
from plimsoll_predictor.replay.sizes.figures import ReplayedRow
from plimsoll_predictor.replay.sizes.policies import POLICIES
from plimsoll_predictor.replay.sizes.rows import TraceRow
from plimsoll_predictor.replay.sizes.sizer import Knobs
from tests.builders.replays import a_run

HOUR_S = 3600.0
Needs = tuple[int, int | None]
"""What a run needs, and what it asks for."""


def failed(runs: list[ReplayedRow]) -> int:
    return sum(each.failed_attempts for each in runs)


def spare(runs: list[ReplayedRow]) -> float:
    """Their waste over what they needed."""
    needed = sum(gb_hours(each.row.peak_bytes, each.row.runtime_s) for each in runs)
    return sum(each.waste_gb_h for each in runs) / needed


def played(tasks: list[list[Needs]], policy: str = "plimsoll") -> list[ReplayedRow]:
    """Tasks one after another, with runs of an hour."""
    rows = list[TraceRow]()
    for number, runs in enumerate(tasks):
        for need_bytes, asked_bytes in runs:
            at_s = 2 * HOUR_S * len(rows)
            run = a_run(len(rows) + 2).of(f"t{number}").needing(need_bytes).asking(asked_bytes)
            rows.append(run.at(at_s, at_s, at_s + HOUR_S).row)
    return replay(rows, POLICIES[policy].make(Knobs())).rows


def nearly_alike(draw: random.Random, runs: int) -> list[Needs]:
    level = draw.lognormvariate(0, 1) * GIB / 2
    return [(int(level * draw.lognormvariate(0, 0.02)), int(4 * level)) for _ in range(runs)]


def test_few_runs_that_are_nearly_alike_are_hardly_ever_given_too_little() -> None:
    draw = random.Random(1)
    tasks = [nearly_alike(draw, 3) for _ in range(100)]
    assert failed(played(tasks)) <= failed(played(tasks, "max-seen-1.1")) + 1
