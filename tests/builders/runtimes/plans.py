"""Builders of forecasts and plans for tests of when a plan ends."""

from __future__ import annotations

import math

import numpy as np

from plimsoll_predictor.runtimes.forecasting.forecast import Forecast
from plimsoll_predictor.runtimes.forecasting.grid import GRID
from plimsoll_predictor.runtimes.forecasting.plan import Plan, Step


def a_forecast(usual_s: float, *, spread: float = 0.3, tail: float = 0.01) -> Forecast:
    """Log-normal around ``usual_s``, with a share of runs about twenty times as long."""
    masses = np.exp(-0.5 * ((GRID - math.log(usual_s)) / spread) ** 2)
    long = np.exp(-0.5 * (GRID - math.log(20 * usual_s)) ** 2)
    masses = masses / masses.sum() * (1 - tail) + long / long.sum() * tail
    return Forecast(masses / masses.sum(), 50, usual_s)


def a_chain(*tasks: str, within_s: float | None = None) -> Plan:
    """Steps s0, s1, … one after another."""
    steps = [
        Step(name=f"s{place}", task=task, after=(f"s{place - 1}",) if place else ())
        for place, task in enumerate(tasks)
    ]
    return Plan(tuple(steps), within_s)
