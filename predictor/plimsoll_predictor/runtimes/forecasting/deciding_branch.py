"""Which steps of a plan decide when it ends.

In each simulation the plan's last step is held back by one of the steps that it waits for, that
step by one of its own, and so on: together they are the branch that decided. A step's share is how
often it was in that branch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from plimsoll_predictor.runtimes.forecasting.forecast import Forecast
from plimsoll_predictor.runtimes.forecasting.grid import BoolArray, FloatArray
from plimsoll_predictor.runtimes.forecasting.plan import Plan, Step

SAMPLES: Final = 1_000
"""Shares are within three of 100, nineteen times in twenty."""


@dataclass(frozen=True, slots=True)
class DecidingStep:
    """A step that may decide. share: how often it does. left_p50_s: its own time yet to run."""

    name: str
    task: str
    share: float
    left_p50_s: float


@dataclass(frozen=True, slots=True)
class DecidingBranch:
    """steps: the likeliest branch, first to last. others: further steps that may, likeliest first.

    Both are empty if all steps have ended.
    """

    steps: tuple[DecidingStep, ...]
    others: tuple[DecidingStep, ...]


def deciding_branch(plan: Plan, forecasts: Mapping[str, Forecast], *, seed: int) -> DecidingBranch:
    """The steps that decide when a plan ends. forecasts: for the tasks of steps yet to end."""
    random = np.random.default_rng(seed)
    left = {step.name: step for step in plan.steps if not step.ended}
    lasted_s = {name: _left_s(step, forecasts[step.task], random) for name, step in left.items()}
    ends_s, before = _ends(left, lasted_s)
    decides = _decides(left, ends_s, before)
    steps = {
        name: DecidingStep(
            name, step.task, float(decides[name].mean()), float(np.median(lasted_s[name]))
        )
        for name, step in left.items()
    }
    branch = _likeliest(left, steps)
    others = [step for name, step in steps.items() if name not in branch and step.share > 0]
    others.sort(key=lambda step: -step.share)
    return DecidingBranch(tuple(steps[name] for name in branch), tuple(others))


def _left_s(step: Step, forecast: Forecast, random: np.random.Generator) -> FloatArray:
    elapsed_s = step.elapsed_s or 0.0
    drawn = forecast.given_elapsed(elapsed_s).quantiles_s(random.random(SAMPLES)) - elapsed_s
    wait_s = step.wait_s if step.elapsed_s is None else 0.0
    lasted_s: FloatArray = np.maximum(drawn, 0.0) + wait_s
    return lasted_s


def _waits_for(step: Step, left: Mapping[str, Step]) -> list[str]:
    return [name for name in step.waits_for if name in left]


def _ends(
    left: Mapping[str, Step], lasted_s: Mapping[str, FloatArray]
) -> tuple[dict[str, FloatArray], dict[str, FloatArray]]:
    """When each step ended, and when the last of those before it did. Steps are in order."""
    ends_s: dict[str, FloatArray] = {}
    before: dict[str, FloatArray] = {}
    for name, step in left.items():
        begins_s = np.zeros(SAMPLES)
        for other in _waits_for(step, left):
            begins_s = np.maximum(begins_s, ends_s[other])
        before[name] = begins_s
        ends_s[name] = begins_s + lasted_s[name]
    return ends_s, before


def _decides(
    left: Mapping[str, Step], ends_s: Mapping[str, FloatArray], before: Mapping[str, FloatArray]
) -> dict[str, BoolArray]:
    """In which simulations each step was in the branch that decided, from the last step back."""
    if not left:
        return {}
    last_s = np.max(np.stack(list(ends_s.values())), axis=0)
    decides = {name: np.zeros(SAMPLES, dtype=np.bool_) for name in left}
    # One branch per simulation: if steps end at the same time, the one given first decides.
    undecided = np.ones(SAMPLES, dtype=np.bool_)
    for name in left:
        decided = undecided & (ends_s[name] == last_s)
        decides[name] |= decided
        undecided &= ~decided
    for name, step in reversed(list(left.items())):
        undecided = decides[name].copy()
        for other in _waits_for(step, left):
            decided = undecided & (ends_s[other] == before[name])
            decides[other] |= decided
            undecided &= ~decided
    return decides


def _likeliest(left: Mapping[str, Step], steps: Mapping[str, DecidingStep]) -> list[str]:
    """The steps back from the likeliest last one, each held back by the likeliest before it."""
    waited_for = {other for step in left.values() for other in _waits_for(step, left)}
    nexts = [name for name in left if name not in waited_for]
    branch: list[str] = []
    while nexts:
        branch.append(max(nexts, key=lambda name: steps[name].share))
        nexts = _waits_for(left[branch[-1]], left)
    return branch[::-1]
