"""Trainings to log, and a tracker to log them with."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from plimsoll_operator.training.mlflow_client import MlflowClient, MlflowServer
from plimsoll_operator.training.tracking import Outbox, Tracker, TrackingRules
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import Store, Writer
from plimsoll_predictor.training.train import TrainingResult, train
from tests.builders.training.trainings import a_history, a_plan

QUICK = TrackingRules(look_s=0.05, pause_s=0.05, longest_pause_s=0.2)


def a_noisy_training() -> TrainingResult:
    """A short real training: features tell only part of the size, so some bins are missed."""
    noise = np.random.default_rng(3)
    history = [
        replace(each, peak_bytes=int((each.peak_bytes or 0) * noise.lognormal(0, 0.5)))
        for each in a_history(80)
    ]
    return train("shop/train", history, a_plan())


def save(store: Store, task: str, done: TrainingResult) -> None:
    """Save a training as the trainer's process does."""
    report = {**done.report.to_dict(), "plimsoll_version": "0.1.0"}
    costs = done.report.out_of_time_costs
    store.models.save(TaskId.parse(task), done.model, report, out_of_time_costs=costs)


@dataclass(slots=True)
class Logging:
    """A tracker, and what it counted."""

    tracker: Tracker
    counted: list[str] = field(default_factory=list)


@asynccontextmanager
async def logging_to(
    address: str, store: Store, rules: TrackingRules = QUICK, **server: Any
) -> AsyncIterator[Logging]:
    client = MlflowClient(replace(MlflowServer.at(address), **server))
    writer = Writer(store)
    counted: list[str] = []
    try:
        yield Logging(Tracker(client, Outbox(store, writer, counted.append), rules), counted)
    finally:
        await client.close()
        await writer.close()
