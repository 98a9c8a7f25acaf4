"""Histories for the training half's tests."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.core.record import Observation, Outcome
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import GIB, MIB
from plimsoll_predictor.training.train import TrainingPlan

TASK = TaskId("shop", "train")


def an_attempt(index: int = 0, **changes: Any) -> Observation:
    """A finished attempt, run ``index`` of its task, one minute after the one before."""
    at_s = 1_700_000_000.0 + 60 * index
    attempt = Observation(
        attempt_uid=f"uid-{index}",
        task=TASK,
        run=f"run-{index}",
        features={},
        outcome=Outcome.SUCCEEDED,
        request_bytes=4 * GIB,
        allocation_bytes=4 * GIB,
        peak_bytes=300 * MIB,
        submitted_s=at_s,
        started_s=at_s,
        finished_s=at_s + 30,
    )
    return replace(attempt, **changes)


def killed(index: int, allocation_bytes: int, **changes: Any) -> Observation:
    """An attempt that was OOM-killed at its allocation."""
    return an_attempt(
        index,
        attempt_uid=f"uid-{index}-killed-at-{allocation_bytes}",
        outcome=Outcome.OOM_KILLED,
        allocation_bytes=allocation_bytes,
        peak_bytes=allocation_bytes,
        **changes,
    )


def a_history(n_runs: int, *, seed: int = 0, heavy: int = 0) -> list[Observation]:
    """Runs whose need follows rows x columns and a region; the last ``heavy`` ones are far larger.

    300 runs of this are the shape of the demo's tasks.
    """
    random = np.random.default_rng(seed)
    attempts = []
    for index in range(n_runs):
        is_heavy = index >= n_runs - heavy
        rows = float(random.integers(*((900_000, 1_000_000) if is_heavy else (1_000, 300_000))))
        columns = float(random.choice([10, 20, 40]))
        region = str(random.choice(["eu", "us", "asia"]))
        factor = 1.5 if region == "asia" else 1.0
        need_mib = 90 + rows * columns * 8 * 3 * factor / MIB
        need_mib *= float(random.normal(1, 0.02))
        attempts.append(
            an_attempt(
                index,
                features={"rows": str(int(rows)), "columns": columns, "region": region},
                peak_bytes=int(need_mib * MIB),
                finished_s=1_700_000_000.0 + 60 * index + 5 + need_mib / 20,
            )
        )
    return attempts


class StepClock:
    """A clock that advances by ``step_s`` each time it is read."""

    def __init__(self, step_s: float = 0.0) -> None:
        self.now_s, self.step_s = 0.0, step_s

    def __call__(self) -> float:
        self.now_s += self.step_s
        return self.now_s


def a_plan(*, clock: Callable[[], float] | None = None, **changes: Any) -> TrainingPlan:
    """A short training: four trials, and a clock that stands still."""
    values: dict[str, Any] = {
        "policy": Policy(),
        "seed": 7,
        "clock": clock or StepClock(),
        "now_s": 1_700_000_000.0,
        "budget_s": 60.0,
        "iterations": 4,
        **changes,
    }
    return TrainingPlan(**values)


def a_timed_plan(**changes: Any) -> TrainingPlan:
    """A training as the product runs it, on the real clock."""
    return a_plan(clock=time.monotonic, **{"iterations": 32, **changes})
