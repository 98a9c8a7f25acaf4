"""A worker of a round of trainings: a process, a store, and the state after a kill."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from plimsoll_operator.processes import training_worker
from plimsoll_operator.processes.training_worker import MOST_STARTS
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.store import DueTraining, Store, Work, WorkKind
from tests.builders.stores import NOON_S, an_attempt
from tests.rigs.processes.command_lines import called_here
from tests.rigs.processes.program_server import NUMERIC, Forked, ProgramServer, a_program_server

pytestmark = pytest.mark.slow

PROGRAM = "plimsoll_operator.processes.training_worker"
WORKER = (sys.executable, "-P", "-m", PROGRAM)
ROUND = "round-1"


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    opened = Store.open(store_url)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def workers() -> Iterator[ProgramServer]:
    """A server that forks workers with loaded libraries: loading takes most of their time."""
    with a_program_server(PROGRAM, NUMERIC) as server:
        yield server


def task(number: int) -> TaskId:
    return TaskId("shop", f"task-{number}")


def put(store: Store, tasks: int, shards: int, *, without_runs: int = 0) -> None:
    """Tasks with a dozen runs each, in a round; the last ones have none."""
    draws = random.Random(1)
    for number in range(tasks - without_runs):
        runs = (an_attempt(f"uid-{number}-{run}").of(task(number)) for run in range(12))
        needs = (run.peaking(int(draws.uniform(100, 900) * MIB)).built for run in runs)
        store.observations.record(list(needs))
    store.due.ask(
        DueTraining(work=Work(WorkKind.MODEL, task(number)), why="new", since_s=NOON_S)
        for number in range(tasks)
    )
    store.due.plan(ROUND, most=100, shards=shards)


def options(store_url: str, shard: int = 0) -> tuple[str, ...]:
    return ("--round", ROUND, "--shard", str(shard), "--budget", "0.05", "--store", store_url)


def worker(workers: ProgramServer, store_url: str, shard: int = 0) -> Forked:
    with open(os.devnull, "wb") as nowhere:
        return workers.start(options(store_url, shard), stdout=nowhere.fileno())


def trained(store: Store) -> Counter[TaskId]:
    return Counter(each.task for each in store.trainings.untracked(limit=1000))


def test_a_worker_does_its_share_and_again_there_is_nothing_to_do(
    workers: ProgramServer, store: Store, store_url: str, tmp_path: Path
) -> None:
    put(store, tasks=4, shards=2, without_runs=1)
    with (tmp_path / "said").open("wb") as printed:
        assert workers.start(options(store_url), stdout=printed.fileno()).wait() == 0
    said = [json.loads(line) for line in (tmp_path / "said").read_text().splitlines()]
    assert [each["ok"] for each in said] == [True, True]
    assert worker(workers, store_url, shard=1).wait() == 0
    by_task = {each.due.work.task: each for each in store.due.ended()}
    assert set(by_task) == {task(number) for number in range(4)}
    assert "none of 0 observations tells a need" in (by_task[task(3)].failure or "")
    assert [by_task[task(n)].failure for n in range(3)] == [None] * 3
    assert by_task[task(0)].result["runs"] == 12
    assert worker(workers, store_url).wait() == 0
    assert set(trained(store).values()) == {1}


def test_workers_killed_at_random_keep_each_training_once(
    workers: ProgramServer, store: Store, store_url: str, rounds: int
) -> None:
    put(store, tasks=4, shards=1)
    draws = random.Random(2)
    for _ in range(rounds * 3 // 4):
        both = [worker(workers, store_url), worker(workers, store_url)]
        time.sleep(draws.uniform(0.05, 1.2))
        for killed in both:
            killed.send_signal(signal.SIGKILL)
            killed.wait()
    last = worker(workers, store_url)
    assert last.wait() == 0
    ended = store.due.ended()
    assert len(ended) == 4
    assert trained(store) == Counter({task(number): 1 for number in range(4)})
    for each in ended:
        assert each.failure is None or "its worker died" in each.failure


def test_what_kills_its_workers_is_given_up_and_the_rest_is_done(
    workers: ProgramServer, store: Store, store_url: str
) -> None:
    put(store, tasks=2, shards=1)
    for _ in range(MOST_STARTS):
        store.due.begin(Work(WorkKind.MODEL, task(0)), ROUND)
    assert worker(workers, store_url).wait() == 0
    by_task = {each.due.work.task: each.failure for each in store.due.ended()}
    assert by_task[task(1)] is None
    assert f"its worker died {MOST_STARTS} times" in (by_task[task(0)] or "")


def test_a_worker_that_is_asked_to_end_does_and_leaves_the_rest(
    workers: ProgramServer, store: Store, store_url: str
) -> None:
    put(store, tasks=50, shards=1)
    asked = worker(workers, store_url)
    while not store.due.ended():
        time.sleep(0.1)
    asked.terminate()
    assert asked.wait() == 128 + signal.SIGTERM
    left = len(store.due.shard(ROUND, 0))
    assert 0 < left < 50
    assert sum(trained(store).values()) == 50 - left


def test_a_store_that_cannot_be_read_is_named_and_tried_again_by_the_next_worker(
    tmp_path: Path,
) -> None:
    (tmp_path / "store.db").write_text("no database, and longer than the header of one" * 9)
    done = subprocess.run(
        (*WORKER, *options(f"sqlite:///{tmp_path}/store.db")),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "left for another worker: " in done.stderr
    assert "Traceback" not in done.stderr


def test_nothing_numeric_is_loaded_before_it_gives_way() -> None:
    program = """
import sys
import plimsoll_operator.processes.training_worker
assert not {"numpy", "xgboost", "sklearn"} & set(sys.modules)
"""
    subprocess.run((sys.executable, "-c", program), check=True)


def test_shapes_and_features_are_learned_by_workers_too(
    workers: ProgramServer, store: Store, store_url: str
) -> None:
    asked = DueTraining(work=Work(WorkKind.SHAPES), why="daily", since_s=NOON_S)
    store.due.ask([asked, replace(asked, work=Work(WorkKind.FEATURES))])
    store.due.plan(ROUND, most=9, shards=1)
    assert worker(workers, store_url).wait() == 0
    assert {each.due.work.kind for each in store.due.ended()} == {
        WorkKind.SHAPES,
        WorkKind.FEATURES,
    }


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        pytest.param(("--store", "x", "--shard", "1"), "--round", id="no round"),
        pytest.param(("--round", "a", "--shard", "1"), "no store: give --store", id="no store"),
        pytest.param(("--round", "a", "--store", "x"), "no index: give --shard", id="no index"),
        pytest.param(
            ("--round", "a", "--store", "x", "--shard", "1", "--budget", "nan"),
            "'nan' is no number of seconds above 0",
            id="no budget",
        ),
        pytest.param(
            ("--round", "a", "--store", "x", "--shard", "-1"), "no index", id="an index below 0"
        ),
    ],
)
def test_a_wrong_argument_of_a_worker_is_told(wrong: tuple[str, ...], words: str) -> None:
    done = called_here(training_worker.main, ("train-shard", *wrong))
    assert done.returncode == 2
    assert words in done.stderr
