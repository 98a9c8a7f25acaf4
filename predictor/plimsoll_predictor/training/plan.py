"""The plan of a training."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.training.classifier import ClassifierName
from plimsoll_predictor.training.sampling import Sampler


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingPlan:
    """All that a training is asked to do.

    clock: seconds that only rise; deadlines are on it. now_s: Unix seconds, written into the model.
    budget_s: when most of it is spent, the search stops; the last fit may run a little over.
    latest_runs: older ones are not learned from, which bounds time and memory.
    """

    policy: Policy
    seed: int
    clock: Callable[[], float]
    now_s: float
    budget_s: float
    iterations: int = 32
    classifiers: tuple[ClassifierName, ...] = (ClassifierName.XGBOOST,)
    samplers: tuple[Sampler, ...] = tuple(Sampler)
    n_folds: int = 3
    latest_runs: int = 10_000
    threads: int = 1
