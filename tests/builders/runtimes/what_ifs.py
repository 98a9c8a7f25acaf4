"""Builders of past runs for tests of what-ifs."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from plimsoll_predictor.runtimes.what_if.past_run import PastRun

WEEK_S = 604_800.0
DAY_S = 86_400.0


def a_run(**more: object) -> PastRun:
    return replace(PastRun(runtime_s=100.0, submitted_s=0.0), **more)  # type: ignore[arg-type]


def a_task(
    seed: int = 1,
    *,
    runs: int = 300,
    days: float = 60,
    new: float = 0.4,
    faster: float = 0.0,
    usual_s: float = 150.0,
) -> list[PastRun]:
    """Runs on n2 for a share ``new`` of them, else on n1; e^faster times as fast on n2."""
    random = np.random.default_rng(seed)
    on_new = random.random(runs) < new
    logs = math.log(usual_s) + random.normal(0, 0.3, runs) - faster * on_new
    times_s = np.sort(random.random(runs)) * days * DAY_S
    return [
        PastRun(
            runtime_s=math.exp(log), submitted_s=float(time_s), node_type="n2" if fast else "n1"
        )
        for log, time_s, fast in zip(logs, times_s, on_new, strict=True)
    ]
