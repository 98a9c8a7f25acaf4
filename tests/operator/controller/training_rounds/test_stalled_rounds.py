"""Rounds of trainings, and those whose workers go on no more; a test does what pods would do."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

import pytest
from prometheus_client import CollectorRegistry

from plimsoll_operator.controller.training_rounds.round_jobs import RoundJobs
from plimsoll_operator.controller.training_rounds.rounds import (
    LINGER_S,
    UNSTARTED_S,
    Pace,
    RoundParts,
    TrainingRounds,
)
from plimsoll_operator.metrics.training_rounds import RoundMetrics
from plimsoll_operator.training.queue import QueueRules, Trained, TrainingQueue
from plimsoll_operator.training.round_job import JobTemplate, RoundState
from plimsoll_operator.training.spawning import Spawner
from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import Claim, Store, Work, WorkKind, Writer

ONE, TWO = TaskId("shop", "one"), TaskId("shop", "two")
BUDGET_S = 10.0
TRAINING_S = 90.0
"""A training of that budget may take so long by the clock."""
TEMPLATE = """
kind: Job
metadata: {name: trainers}
spec: {parallelism: 2, template: {spec: {containers: [{name: trainer}]}}}
"""


@dataclass(slots=True)
class Jobs:
    """Jobs that are as the test says."""

    state_now: RoundState = RoundState.GOING
    created: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)

    def template(self) -> JobTemplate:
        return JobTemplate.parse(TEMPLATE)

    async def create(self, _template: JobTemplate, round_: str, _shards: int) -> None:
        self.created.append(round_)

    async def state(self, _round: str) -> RoundState:
        return self.state_now

    async def delete(self, round_: str) -> None:
        self.deleted.append(round_)


@dataclass(slots=True)
class Clock:
    """Stands still until the test moves it."""

    now_s: float = 1000.0

    def time(self) -> float:
        return self.now_s


@dataclass(slots=True)
class Leader:
    """A leader whose looks are the test's."""

    store: Store
    queue: TrainingQueue
    rounds: TrainingRounds
    jobs: Jobs
    clock: Clock
    registry: CollectorRegistry

    async def look_after(self, seconds: float) -> None:
        self.clock.now_s += seconds
        await self.rounds.look()

    async def begin_a_round(self, *tasks: TaskId) -> None:
        for task in tasks:
            self.rounds.request(task, Policy(), "enough is new")
        await self.look_after(0.0)
        await self.look_after(0.0)
        assert len(self.jobs.created) == 1

    def begin(self, task: TaskId) -> None:
        """Do what a worker does before it trains."""
        self.store.due.begin(Work(WorkKind.MODEL, task), self.jobs.created[-1])

    def end(self, task: TaskId) -> None:
        """Do what a worker does after it trained."""
        claim = Claim(Work(WorkKind.MODEL, task), self.jobs.created[-1])
        self.store.trainings.record_failure(task, "no needs", 1.0, claim=claim)

    @property
    def trained_here(self) -> set[TaskId]:
        return {*self.queue.running, *self.queue.waiting}

    def ended(self, result: str) -> float | None:
        return self.registry.get_sample_value("plimsoll_training_rounds_total", {"result": result})


Leads = Callable[..., Any]


@pytest.fixture
def leads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Leads:
    jobs = Jobs()

    @asynccontextmanager
    async def a_leader(
        policies: Mapping[TaskId, Policy] = MappingProxyType({}),
    ) -> AsyncIterator[Leader]:
        store = Store.open(str(tmp_path / "store.db"))
        writer, clock, registry = Writer(store), Clock(), CollectorRegistry()

        async def keep(_result: Trained) -> None:
            pass

        # It goes on while the test looks, and is killed when the queue is closed.
        trainer = ("sh", "-c", "exec sleep 1000")
        spawner = Spawner(store_url="", budget_s=BUDGET_S, command=trainer)
        queue = TrainingQueue(spawner, store, keep, rules=QueueRules(policy_of=policies.get))
        parts = RoundParts(
            jobs=cast(RoundJobs, jobs),
            store=store,
            writer=writer,
            queue=queue,
            on_result=keep,
            fitted=lambda: None,
            metrics=RoundMetrics(registry),
            now_s=time.time,
            pace=Pace(gather_s=0.0),
        )
        rounds = TrainingRounds(parts)
        monkeypatch.setattr(rounds, "_loop", clock)
        try:
            yield Leader(store, queue, rounds, jobs, clock, registry)
        finally:
            await queue.close()
            await writer.close()
            store.close()

    return a_leader


async def test_a_round_whose_worker_was_lost_is_ended_and_trained_here(leads: Leads) -> None:
    async with leads() as leader:
        await leader.begin_a_round(ONE, TWO)
        leader.begin(ONE)
        await leader.look_after(5.0)
        await leader.look_after(UNSTARTED_S + TRAINING_S)
        assert leader.jobs.deleted == [], "a training that has begun may take its time"
        await leader.look_after(1.0)
        assert leader.jobs.deleted == leader.jobs.created
        assert leader.trained_here == {ONE, TWO}
        assert (leader.ended("stalled"), leader.ended("unstarted")) == (1.0, 0.0)


async def test_a_round_in_which_nothing_begins_is_given_up_earlier(leads: Leads) -> None:
    async with leads() as leader:
        await leader.begin_a_round(ONE)
        await leader.look_after(UNSTARTED_S)
        assert leader.jobs.deleted == []
        await leader.look_after(1.0)
        assert leader.trained_here == {ONE}
        assert (leader.ended("stalled"), leader.ended("unstarted")) == (0.0, 1.0)


async def test_a_lost_worker_whose_replacement_begins_again_has_its_time_anew(
    leads: Leads,
) -> None:
    async with leads() as leader:
        await leader.begin_a_round(ONE)
        for _ in range(3):
            leader.begin(ONE)
            await leader.look_after(UNSTARTED_S)
        assert leader.jobs.deleted == []


async def test_a_new_leader_waits_for_what_the_last_one_saw_begin(leads: Leads) -> None:
    async with leads() as first:
        await first.begin_a_round(ONE)
        first.begin(ONE)
    async with leads() as second:
        await second.look_after(0.0)
        await second.look_after(UNSTARTED_S + TRAINING_S)
        assert second.jobs.deleted == []
        await second.look_after(1.0)
        assert second.trained_here == {ONE}


async def test_what_a_failed_job_left_is_not_trained_here_if_a_worker_had_begun(
    leads: Leads,
) -> None:
    async with leads() as first:
        await first.begin_a_round(ONE)
        first.begin(ONE)
    async with leads() as second:
        second.jobs.state_now = RoundState.FAILED
        await second.look_after(0.0)
        assert second.trained_here == set()
        assert len(second.jobs.created) == 2


async def test_a_round_takes_the_policies_that_tasks_have_when_it_begins(leads: Leads) -> None:
    newer = Policy(min_runs=Policy().min_runs + 1)
    async with leads({ONE: newer}) as leader:
        await leader.begin_a_round(ONE, TWO)
        [round_] = leader.jobs.created
        due = [each for shard in range(2) for each in leader.store.due.shard(round_, shard)]
        assert {each.work.task: each.policy for each in due} == {ONE: newer, TWO: Policy()}
        assert {each.starts for each in due} == {0}


async def test_a_job_whose_pods_outlive_their_round_is_deleted_and_the_round_is_done(
    leads: Leads,
) -> None:
    async with leads() as leader:
        await leader.begin_a_round(ONE)
        leader.begin(ONE)
        leader.end(ONE)
        await leader.look_after(5.0)
        assert leader.ended("done") == 1.0
        await leader.look_after(LINGER_S - 1.0)
        assert leader.jobs.deleted == [], "ordinary pods have time to end"
        for _ in range(3):
            await leader.look_after(1.0)
        assert leader.jobs.deleted == leader.jobs.created
        assert (leader.ended("done"), leader.ended("stalled")) == (1.0, 0.0)
        assert leader.trained_here == set()


async def test_a_job_whose_pods_end_after_their_round_stays_for_its_logs(leads: Leads) -> None:
    async with leads() as leader:
        await leader.begin_a_round(ONE)
        leader.begin(ONE)
        leader.end(ONE)
        await leader.look_after(5.0)
        leader.jobs.state_now = RoundState.DONE
        await leader.look_after(LINGER_S)
        leader.jobs.state_now = RoundState.GOING
        await leader.look_after(LINGER_S)
        assert leader.jobs.deleted == []
