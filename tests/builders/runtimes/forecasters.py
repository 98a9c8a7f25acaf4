"""Forecasters that have seen runs."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from plimsoll_predictor.runtimes.forecasting.forecaster import Forecaster

TASK, OWNER = "shop/train", "shop"
START_S = 1_700_000_000.0
GAP_S = 600.0


def a_forecaster(runtimes_s: Iterable[float] = (), task: str = TASK) -> Forecaster:
    """One run after the other, each submitted long after the previous one has ended."""
    forecaster = Forecaster()
    show(forecaster, runtimes_s, task)
    return forecaster


def show(
    forecaster: Forecaster, runtimes_s: Iterable[float], task: str = TASK, from_s: float = START_S
) -> float:
    """Let these runs happen; return when the next one could be submitted."""
    at_s = from_s
    for number, runtime_s in enumerate(runtimes_s):
        run = f"{task}-{from_s}-{number}"
        forecaster.submit(run, task, OWNER, at_s)
        forecaster.start(run, at_s + 1)
        at_s += 1 + runtime_s
        forecaster.finish(run, runtime_s, at_s)
        at_s += GAP_S
    return at_s


def around(median_s: float, spread: float, count: int, seed: int = 1) -> list[float]:
    """Runtimes scattered around a median: their logarithms have a normal distribution."""
    random = np.random.default_rng(seed)
    return [float(each) for each in median_s * np.exp(spread * random.standard_normal(count))]
