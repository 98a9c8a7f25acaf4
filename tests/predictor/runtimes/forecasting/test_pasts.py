"""Histograms of runtimes: they count a run also after millions of others."""

from __future__ import annotations

import math

import numpy as np
import pytest

from plimsoll_predictor.runtimes.forecasting.grid import Bumps, FloatArray
from plimsoll_predictor.runtimes.forecasting.pasts import MOST_COUNTED, TaskPast
from plimsoll_predictor.runtimes.forecasting.settings import SETTINGS

NEVER = np.ones(1)
MINUTE = Bumps(SETTINGS.task_spread).at(math.log(60))


def counted(past: TaskPast) -> float:
    return float(past.counts.sum(dtype=np.float64))


def after(runs: float) -> TaskPast:
    """What was stored after so many runs of a minute, by an expert that never forgets."""
    past = TaskPast(1)
    past.counts = np.float32(runs) * MINUTE[None, :]
    past.totals = np.array([runs])
    past.runs = int(runs)
    return past


@pytest.mark.parametrize("runs", [1e3, 3e4, 3e6])
@pytest.mark.parametrize("weight", [1.0, 1 / 50])
def test_after_millions_of_runs_the_next_ones_count_as_much_as_they_should(
    runs: float, weight: float
) -> None:
    past = after(runs)
    for _ in range(10):  # a row that was stored with more than it may count is halved
        past.count(MINUTE, weight, NEVER)
    before, total = counted(past), float(past.totals[0])
    for _ in range(2000):
        past.count(MINUTE, weight, NEVER)
    assert counted(past) - before == pytest.approx(2000 * weight, rel=0.1)
    assert past.totals[0] - total == pytest.approx(2000 * weight)
    assert past.totals[0] < MOST_COUNTED + 1


def test_a_row_that_is_halved_forecasts_what_it_did() -> None:
    past = after(MOST_COUNTED)
    before: FloatArray = past.counts / past.counts.sum()
    past.count(MINUTE, 1.0, NEVER)
    assert past.totals[0] == MOST_COUNTED / 2 + 1
    assert counted(past) == pytest.approx(past.totals[0])
    assert past.counts / past.counts.sum() == pytest.approx(before, abs=1e-7)


def test_before_that_nothing_is_forgotten() -> None:
    past = after(MOST_COUNTED - 1)
    past.count(MINUTE, 1.0, NEVER)
    assert past.totals[0] == MOST_COUNTED
