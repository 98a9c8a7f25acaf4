"""The pods of the chart's Job train tasks while the leader is lost."""

from __future__ import annotations

import contextlib
import json
import random
import time
from datetime import datetime, timedelta
from itertools import pairwise

import pytest

from plimsoll_predictor.core.record import Observation, Outcome, PeakSource
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import GIB, MIB
from plimsoll_predictor.store import Backlog, DueTraining, Store, Work, WorkKind
from tests.apiserver.controllers import until
from tests.ha.replicas.replicated import SHOP, Replicated

pytestmark = [pytest.mark.node]

TASKS, RUNS = 6, 12
PODS_END_WITHIN = timedelta(seconds=30)
"""A pod that finds nothing to train looks once more, and ends."""


def runs_of(task: TaskId, draws: random.Random) -> list[Observation]:
    """The runs that a first training needs, and some more."""
    now_s = time.time() - 3600
    return [
        Observation(
            attempt_uid=f"{task.name}-{run}",
            task=task,
            run=f"{task.name}-{run}",
            outcome=Outcome.SUCCEEDED,
            request_bytes=GIB,
            allocation_bytes=GIB,
            peak_bytes=int(draws.uniform(100, 900) * MIB),
            peak_source=PeakSource.AGENT,
            started_s=now_s,
            finished_s=now_s + 60,
        )
        for run in range(RUNS)
    ]


async def test_each_task_is_trained_once_by_pods_although_the_leader_is_lost(
    replicated: Replicated,
) -> None:
    tasks = [TaskId(SHOP, f"trained-{number}") for number in range(TASKS)]
    draws = random.Random(1)
    with contextlib.closing(Store.open(replicated.url)) as store:
        store.observations.record([run for task in tasks for run in runs_of(task, draws)])
        store.due.ask(
            DueTraining(work=Work(WorkKind.MODEL, task), why="first", since_s=time.time())
            for task in tasks
        )
        await until("a round has begun", store.due.round)
        leader = await until("one leads", replicated.leader)
        await replicated.kubectl("delete", "pod", "-n", "plimsoll", leader, "--grace-period=1")
        await until("all has ended and was told", lambda: store.due.backlog() == Backlog())
        trained = {task: store.trainings.newest(task) for task in tasks}
    assert [len(each) for each in trained.values()] == [1] * TASKS
    assert [each[0].failure for each in trained.values()] == [None] * TASKS
    # Tasks of other tests may be due as well: their rounds come one after the other. A round is
    # over when all its trainings were reported, and its pods end by themselves a moment later.
    rounds = await until("all rounds but the last have ended", lambda: ended_rounds(replicated))
    for (_, ended), (begun, _) in pairwise(rounds):
        assert ended - begun < PODS_END_WITHIN


async def ended_rounds(replicated: Replicated) -> list[tuple[datetime, datetime]]:
    """When Jobs were made and completed, oldest first; none while one before the last runs."""
    jobs = json.loads(await replicated.kubectl("get", "jobs", "-n", "plimsoll", "-o", "json"))
    found = sorted(
        (each["metadata"]["creationTimestamp"], each["status"].get("completionTime"))
        for each in jobs["items"]
    )
    if any(ended is None for _, ended in found[:-1]):
        return []
    moments = [(begun, ended or begun) for begun, ended in found]
    return [(datetime.fromisoformat(begun), datetime.fromisoformat(end)) for begun, end in moments]
