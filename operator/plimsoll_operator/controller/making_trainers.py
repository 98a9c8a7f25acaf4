"""Makes the trainers: the queue, and rounds if there is a template of their Job."""

from __future__ import annotations

from collections.abc import Callable

from plimsoll_operator.controller.runtimes.runtimes import Runtimes
from plimsoll_operator.controller.settings import ControllerSettings
from plimsoll_operator.controller.training_rounds.round_jobs import RoundJobs
from plimsoll_operator.controller.training_rounds.rounds import RoundParts, TrainingRounds
from plimsoll_operator.controller.trainings import Trainings
from plimsoll_operator.kube.client import Kube
from plimsoll_operator.metrics.training_rounds import RoundMetrics
from plimsoll_operator.training.queue import Spawns, TrainingQueue
from plimsoll_predictor.store import Store, Writer


def make_trainers(
    settings: ControllerSettings,
    stored: tuple[Store, Writer],
    learners: tuple[Trainings, Runtimes],
    outside: tuple[Kube, Spawns, RoundMetrics],
    now_s: Callable[[], float],
) -> tuple[TrainingQueue, TrainingRounds | None]:
    """Return the queue, and the rounds; None without a template. now_s: Unix seconds."""
    (store, writer), (trainings, runtimes), (kube, spawn, metrics) = stored, learners, outside
    queue = TrainingQueue(spawn, store, trainings.training_ended)
    queue.policy_of = trainings.policy_of
    if settings.training_job is None:
        return queue, None
    parts = RoundParts(
        jobs=RoundJobs(kube, settings.namespace, settings.training_job),
        store=store,
        writer=writer,
        queue=queue,
        on_result=trainings.training_ended,
        fitted=runtimes.expert_fitted,
        metrics=metrics,
        now_s=now_s,
    )
    return queue, TrainingRounds(parts)
