"""The queue of trainings, with real processes."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import psutil
import pytest

from plimsoll_operator.training.queue import QueueRules, Trained, TrainingQueue
from plimsoll_operator.training.spawning import Spawner
from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import Store

STANDIN = Path(__file__).parents[2] / "rigs" / "processes" / "standin_trainer.py"
QUICK = QueueRules(min_interval_s=0.0, grace_s=30.0)
NOW_S = 1_700_000_000.0


@dataclass(frozen=True, slots=True)
class Noted:
    """One line of the stand-in's log."""

    word: str
    task: str
    pid: int
    at_s: float


@dataclass(slots=True)
class Yard:
    """A queue under test, and its results."""

    store: Store
    log: Path
    queue: TrainingQueue = field(init=False)
    results: list[Trained] = field(default_factory=list)

    def ask(self, *names: str) -> None:
        for name in names:
            self.queue.request(TaskId("shop", name), Policy(), "enough is new")

    def noted(self, word: str) -> list[Noted]:
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        found = (line.split() for line in lines)
        return [Noted(a, b, int(c), float(d)) for a, b, c, d in found if a == word]

    async def until(self, done: Callable[[], bool]) -> None:
        async with asyncio.timeout(180):
            while not done():
                await asyncio.sleep(0.01)

    async def until_results(self, count: int) -> None:
        await self.until(lambda: len(self.results) >= count and not self.queue.running)


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "trainer.log"
    monkeypatch.setenv("TRAINER_LOG", str(path))
    return path


@asynccontextmanager
async def a_yard(log: Path, rules: QueueRules = QUICK, **spawning: object) -> AsyncIterator[Yard]:
    store = Store.open(str(log.with_name("store.db")))
    yard = Yard(store, log)

    async def keep(result: Trained) -> None:
        yard.results.append(result)

    command = (sys.executable, "-S", "-E", str(STANDIN))
    spawner = replace(Spawner(store_url="sqlite:////nowhere", command=command), **spawning)  # type: ignore[arg-type]
    yard.queue = TrainingQueue(spawner, store, keep, rules=rules, now_s=lambda: NOW_S)
    try:
        yield yard
    finally:
        await yard.queue.close()
        store.close()


async def test_a_training_that_succeeds_tells_its_result(log: Path) -> None:
    async with a_yard(log) as yard:
        yard.ask("good")
        await yard.until_results(1)
        (done,) = yard.results
        assert (done.task, done.why, done.failure) == (
            TaskId("shop", "good"),
            "enough is new",
            None,
        )
        assert done.result["version"] == "abc"
        assert yard.store.trainings.last(done.task) is None


@pytest.mark.slow
async def test_a_task_that_waits_is_queued_once(log: Path) -> None:
    async with a_yard(log) as yard:
        yard.ask("slow", "good", "good", "good")
        assert yard.queue.waiting == (TaskId("shop", "good"),)
        await yard.until_results(2)
        assert [noted.task for noted in yard.noted("start")] == ["shop/slow", "shop/good"]


@pytest.mark.slow
async def test_a_task_asked_for_while_it_trains_is_trained_again_after(log: Path) -> None:
    async with a_yard(log) as yard:
        yard.ask("slow")
        await yard.until(lambda: len(yard.noted("start")) == 1)
        yard.ask("slow", "slow")
        await yard.until_results(2)
        starts, ends = yard.noted("start"), yard.noted("end")
        assert (len(starts), len(ends)) == (2, 2)
        assert starts[1].at_s > ends[0].at_s


@pytest.mark.slow
async def test_one_training_runs_at_a_time(log: Path) -> None:
    async with a_yard(log) as yard:
        yard.ask("slow-a", "slow-b", "slow-c")
        await yard.until_results(3)
        starts, ends = yard.noted("start"), yard.noted("end")
        assert [noted.task for noted in starts] == ["shop/slow-a", "shop/slow-b", "shop/slow-c"]
        assert starts[1].at_s > ends[0].at_s
        assert starts[2].at_s > ends[1].at_s


@pytest.mark.slow
async def test_a_task_waits_its_interval_and_others_go_before_it(log: Path) -> None:
    rules = QueueRules(min_interval_s=0.5)
    async with a_yard(log, rules) as yard:
        # All at once: asked for after the interval, it would be first again.
        yard.ask("good", "good", "other")
        await yard.until_results(3)
        first, second, third = yard.noted("start")
        assert [first.task, second.task, third.task] == ["shop/good", "shop/other", "shop/good"]
        assert third.at_s - yard.noted("end")[0].at_s >= rules.min_interval_s


@pytest.mark.slow
async def test_a_training_over_its_budget_is_ended_with_all_its_children(log: Path) -> None:
    async with a_yard(log, replace(QUICK, grace_s=0.2, patience=1.0), budget_s=5.8) as yard:
        yard.ask("hangs")
        await yard.until_results(1)
        assert yard.results[0].failure == "ended after 6 s, far over its budget"
        left = [noted.pid for noted in (*yard.noted("start"), *yard.noted("child"))]
        assert len(left) == 2
        await yard.until(lambda: not any(alive(pid) for pid in left))


@pytest.mark.slow
async def test_a_trainer_killed_by_the_kernel_is_recorded_and_the_old_model_serves(
    log: Path,
) -> None:
    task = TaskId("shop", "hangs")
    async with a_yard(log) as yard:
        yard.store.models.save(task, None, {"old": True})
        yard.ask("hangs", "good")
        await yard.until(lambda: len(yard.noted("child")) == 1)
        os.kill(yard.noted("start")[0].pid, signal.SIGKILL)
        os.kill(yard.noted("child")[0].pid, signal.SIGKILL)
        await yard.until_results(2)
        assert yard.results[0].failure == "killed by signal 9 (memory cap?)"
        last, saved = yard.store.trainings.last(task), yard.store.models.newest(task)
        assert last is not None
        assert (last.failure, last.at_s) == ("killed by signal 9 (memory cap?)", NOW_S)
        assert saved is not None
        assert saved.report == {"old": True}
        assert yard.results[1].failure is None, "the next training runs all the same"


@pytest.mark.parametrize(
    ("name", "failure", "recorded"),
    [
        pytest.param("fails", "no needs", True, id="a failure it could not record"),
        pytest.param("fails-recorded", "no needs", False, id="a failure it recorded itself"),
        pytest.param(
            "garbles",
            "the trainer ended with status 1 and no result (memory cap?); see its log",
            True,
            id="no result",
        ),
    ],
)
async def test_a_failure_is_told_and_recorded_once(
    log: Path, name: str, failure: str, *, recorded: bool
) -> None:
    async with a_yard(log) as yard:
        yard.ask(name)
        await yard.until_results(1)
        assert yard.results[0].failure == failure
        last = yard.store.trainings.last(TaskId("shop", name))
        assert (last is not None and last.failure == failure) is recorded


async def test_a_trainer_that_cannot_be_started_is_a_failure_in_words(log: Path) -> None:
    async with a_yard(log, command=("/no/such/trainer",)) as yard:
        yard.ask("good")
        await yard.until_results(1)
        assert "the trainer could not be started" in str(yard.results[0].failure)


@pytest.mark.slow
async def test_a_listener_that_raises_stops_no_training(log: Path) -> None:
    async with a_yard(log) as yard:
        kept = yard.results

        async def raise_first(result: Trained) -> None:
            kept.append(result)
            if len(kept) == 1:
                raise RuntimeError("the API server is away")

        yard.queue._on_result = raise_first
        yard.ask("good", "other")
        await yard.until_results(2)
        assert [result.failure for result in kept] == [None, None]


async def test_closing_ends_what_runs_and_forgets_what_waits(log: Path) -> None:
    async with a_yard(log) as yard:
        yard.ask("hangs", "good")
        await yard.until(lambda: len(yard.noted("child")) == 1)
        await yard.queue.close()
        left = [noted.pid for noted in (*yard.noted("start"), *yard.noted("child"))]
        await yard.until(lambda: not any(alive(pid) for pid in left))
        assert (yard.queue.waiting, yard.queue.running, yard.results) == ((), (), [])
        yard.ask("good")
        assert yard.queue.waiting == ()


async def test_a_training_that_is_cancelled_begins_no_other(log: Path) -> None:
    """Whoever cancels all tasks of a loop, as asyncio does at its end, wants none begun."""
    async with a_yard(log) as yard:
        yard.ask("hangs", "good")
        await yard.until(lambda: len(yard.noted("child")) == 1)
        for training in yard.queue._running.values():
            training.cancel()
        await yard.until(lambda: not yard.queue.running)
        assert yard.queue.waiting == (TaskId("shop", "good"),)


async def test_a_task_is_trained_by_the_policy_that_it_has_when_its_training_starts(
    log: Path,
) -> None:
    newer = Policy(min_runs=Policy().min_runs + 1)
    policies: dict[TaskId, Policy] = {}
    async with a_yard(log, replace(QUICK, policy_of=policies.get)) as yard:
        async with yard.queue.turn:
            yard.ask("hangs")
            policies[TaskId("shop", "hangs")] = newer
        await yard.until(lambda: len(yard.noted("child")) == 1)
        process = psutil.Process(yard.noted("start")[0].pid)
        assert json.dumps(newer.to_dict()) in process.cmdline()


async def test_the_stores_password_is_on_no_command_line(log: Path) -> None:
    url = "postgresql://plimsoll:hunter2@127.0.0.1/plimsoll"
    async with a_yard(log, store_url=url) as yard:
        yard.ask("hangs")
        await yard.until(lambda: len(yard.noted("child")) == 1)
        process = psutil.Process(yard.noted("start")[0].pid)
        assert "hunter2" not in " ".join(process.cmdline())
        assert process.environ()["PLIMSOLL_STORE_URL"] == url


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
