"""Rounds of trainings on the real API server; a test does what their pods would do."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from kubernetes_asyncio import client
from prometheus_client import CollectorRegistry

from plimsoll_operator.controller.training_rounds.round_jobs import RoundJobs
from plimsoll_operator.controller.training_rounds.rounds import Pace, RoundParts, TrainingRounds
from plimsoll_operator.kube.client import Kube
from plimsoll_operator.metrics.training_rounds import RoundMetrics
from plimsoll_operator.training.queue import QueueRules, Trained, TrainingQueue
from plimsoll_operator.training.spawning import Ended
from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import Claim, Store, Work, WorkKind, Writer
from tests.apiserver.controllers import Shop, until
from tests.conftest import Cluster

pytestmark = [pytest.mark.cluster]

TEMPLATE = """
apiVersion: batch/v1
kind: Job
metadata: {name: trainers}
spec:
  parallelism: 3
  backoffLimitPerIndex: 0
  template:
    spec:
      schedulerName: nobody
      containers: [{name: trainer, image: "localhost/none:1", args: [train-shard]}]
"""
QUICK = Pace(look_every_s=0.2, gather_s=0.5, unstarted_s=60.0, local_s=600.0)


@dataclass(slots=True)
class Leader:
    """A leader's rounds. results: reported trainings. local: tasks that it trained itself."""

    shop: Shop
    store: Store
    rounds: TrainingRounds = field(init=False)
    results: list[Trained] = field(default_factory=list)
    local: list[TaskId] = field(default_factory=list)
    fitted: int = 0

    def ask(self, *names: str) -> None:
        for name in names:
            self.rounds.request(TaskId("shop", name), Policy(), "enough is new")

    async def keep(self, result: Trained) -> None:
        self.results.append(result)

    def count_fitted(self) -> None:
        self.fitted += 1

    async def jobs(self) -> dict[str, Any]:
        found = await client.BatchV1Api(self.shop.core.api_client).list_namespaced_job(
            self.shop.namespace
        )
        return {job.metadata.name: job for job in found.items}

    async def one_job(self) -> str:
        (name,) = await until("the round has a Job", self.jobs)
        return str(name)

    def work(self, round_: str, failure: str | None = None) -> None:
        """Do what one pod would do with its share."""
        for due in self.store.due.shard(round_, 0):
            self.store.due.begin(due.work, round_)
            claim = Claim(due.work, round_, {"words": "done"})
            if due.work.task is None or failure is None:
                self.store.due.end(claim, failure)
            else:
                self.store.trainings.record_failure(due.work.task, failure, 1.0, claim=claim)

    async def end_job(self, name: str, how: str) -> None:
        """End the pods of a Job as a kubelet would, until the Job is over."""
        batch = client.BatchV1Api(self.shop.core.api_client)

        async def over() -> bool:
            for pod in (await self.shop.pods()).values():
                mine = (pod.metadata.labels or {}).get("batch.kubernetes.io/job-name") == name
                if mine and pod.status.phase == "Pending":
                    await self.shop.end(pod.metadata.name, how)
            job = await batch.read_namespaced_job(name, self.shop.namespace)
            return any(each.type in ("Complete", "Failed") for each in job.status.conditions or ())

        await until("the Job is over", over)


class Trains:
    """Trains in place of a process: it notes the task."""

    budget_s = 1.0

    def __init__(self, tasks: list[TaskId]) -> None:
        self._tasks = tasks

    async def __call__(self, task: TaskId, policy: Policy) -> asyncio.subprocess.Process:
        assert policy == Policy()
        self._tasks.append(task)
        return await asyncio.create_subprocess_exec(
            "echo", '{"ok": true}', stdout=asyncio.subprocess.PIPE
        )


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(str(tmp_path / "store.db"))


Leads = Callable[..., contextlib.AbstractAsyncContextManager[Leader]]


@pytest.fixture
def leads(own: Shop, cluster: Cluster, store: Store, tmp_path: Path) -> Leads:
    @contextlib.asynccontextmanager
    async def a_leader(template: str = TEMPLATE, pace: Pace = QUICK) -> AsyncIterator[Leader]:
        file = tmp_path / "job.yaml"
        file.write_text(template)
        kube = await Kube.connect(str(cluster.kubeconfig), None)
        leader, writer = Leader(own, store), Writer(store)
        rules = QueueRules(min_interval_s=0.0)
        queue = TrainingQueue(Trains(leader.local), store, leader.keep, rules=rules)
        leader.rounds = TrainingRounds(
            RoundParts(
                jobs=RoundJobs(kube, own.namespace, file),
                store=store,
                writer=writer,
                queue=queue,
                on_result=leader.keep,
                fitted=leader.count_fitted,
                metrics=RoundMetrics(CollectorRegistry()),
                now_s=time.time,
                pace=pace,
            )
        )
        running = asyncio.create_task(leader.rounds.run())
        try:
            yield leader
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            await queue.close()
            await writer.close()
            await kube.close()

    return a_leader


def names(results: list[Trained]) -> list[str]:
    return sorted(result.task.name for result in results)


async def test_a_round_is_one_job_and_each_end_is_told_once(leads: Leads) -> None:
    async with leads() as leader:
        leader.ask("one", "two", "two", "three")
        job = await leader.one_job()
        assert (await leader.jobs())[job].spec.completions == 3
        leader.store.due.begin(Work(WorkKind.MODEL, TaskId("shop", "two")), job)
        leader.ask("two")
        await until("it is noted", lambda: not leader.rounds._asked)
        for shard in range(3):
            for due in leader.store.due.shard(job, shard):
                assert due.work.task is not None
                claim = Claim(due.work, job)
                leader.store.trainings.record_failure(due.work.task, "none", 1.0, claim=claim)
        await until("all three are told", lambda: len(leader.results) == 3)
        assert names(leader.results) == ["one", "three", "two"]
        await leader.end_job(job, "succeeded")
        await until("what is due again has a round", lambda: _other_than(leader, {job}))
        assert [due.work for due in leader.store.due.shard(await _newest(leader, job), 0)] == [
            Work(WorkKind.MODEL, TaskId("shop", "two"))
        ]
        assert leader.local == []


async def test_a_new_leader_goes_on_with_the_round_of_the_last(leads: Leads) -> None:
    async with leads() as first:
        first.ask("one")
        job = await first.one_job()
    async with leads() as second:
        second.work(job, "no needs")
        await until("it is told", lambda: names(second.results) == ["one"])
        await until("the round is over", lambda: second.rounds.now.last_round_s is not None)
        assert second.rounds.now.words.startswith("no training waits; none runs; the last round")
        await second.end_job(job, "succeeded")
        assert set(await second.jobs()) == {job}
        assert first.results == []


async def test_what_a_round_left_is_part_of_the_next(leads: Leads) -> None:
    async with leads() as leader:
        leader.ask("one")
        job = await leader.one_job()
        leader.store.due.begin(Work(WorkKind.MODEL, TaskId("shop", "one")), job)
        await until("the leader saw it begin", lambda: leader.rounds.running == 1)
        await leader.end_job(job, "failed")
        again = await _newest(leader, job)
        leader.work(again, "no needs")
        await until("it is told", lambda: names(leader.results) == ["one"])
        assert leader.local == []


@pytest.mark.parametrize(
    "template",
    [
        pytest.param(TEMPLATE.replace("trainers}", "Not A Name}"), id="refused"),
        pytest.param("kind: Pod", id="no template"),
    ],
)
async def test_where_no_job_can_be_had_the_controller_trains(leads: Leads, template: str) -> None:
    async with leads(template) as leader:
        leader.ask("one", "two")
        await until("both are trained", lambda: len(leader.results) == 2)
        leader.ask("three")
        await until("the third is, too", lambda: len(leader.results) == 3)
        assert [task.name for task in leader.local] == ["one", "two", "three"]
        assert leader.store.due.backlog().waiting == 0
        assert await leader.jobs() == {}


async def test_a_round_whose_pods_never_start_is_ended_and_trained_here(leads: Leads) -> None:
    async with leads(pace=Pace(look_every_s=0.2, gather_s=0.2, unstarted_s=1.0)) as leader:
        leader.ask("one")
        await until("it is trained here", lambda: names(leader.results) == ["one"])
        assert [task.name for task in leader.local] == ["one"]
        await until("the Job is gone", lambda: _none(leader.jobs))


async def test_features_are_learned_in_a_round_or_by_a_process_of_its_own(leads: Leads) -> None:
    here: list[str] = []

    async def locally() -> Ended:
        here.append("here")
        return None, {}

    async with leads() as leader:
        learning = asyncio.create_task(
            leader.rounds.learn(WorkKind.FEATURES, "enough is new", locally)
        )
        leader.work(await leader.one_job())
        assert await learning == (None, {"words": "done"})
        assert (here, leader.fitted) == ([], 0)
    async with leads("kind: Pod") as refused:
        ended = await refused.rounds.learn(WorkKind.FEATURES, "enough is new", locally)
        assert (ended, here) == ((None, {}), ["here"])


async def _none(found: Callable[[], Awaitable[dict[str, Any]]]) -> bool:
    return not await found()


async def _other_than(leader: Leader, names: set[str]) -> set[str]:
    return set(await leader.jobs()) - names


async def _newest(leader: Leader, than: str) -> str:
    (name,) = await until("there is another round", lambda: _other_than(leader, {than}))
    return str(name)
