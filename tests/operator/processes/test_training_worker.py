"""The trainer's process, with the real training."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from plimsoll_operator.processes import trainer
from plimsoll_operator.training.limits import ONE_THREAD
from plimsoll_operator.training.queue import QueueRules, Trained, TrainingQueue
from plimsoll_operator.training.spawning import Spawner
from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.deciding.modelled import bidders_of
from plimsoll_predictor.store import Store
from plimsoll_predictor.store.attempts.lessons import LessonKind
from tests.builders.stores import TRAIN, fill
from tests.rigs.processes.command_lines import called_here
from tests.rigs.processes.program_server import NUMERIC, a_program_server

PROGRAM = "plimsoll_operator.processes.trainer"


@dataclass(frozen=True, slots=True)
class Ended:
    """How a worker ended: its exit status, output and log."""

    status: int
    said: Mapping[str, Any]
    log: str


Trains = Callable[..., Ended]


@pytest.fixture(scope="module")
def train(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trains]:
    """Trains from a store in a process that was forked with loaded libraries."""
    with a_program_server(PROGRAM, NUMERIC) as server:
        worker = str(server.put_on_path(tmp_path_factory.mktemp("programs"), "train"))

        def train(store: Path, *options: str) -> Ended:
            words = [worker, str(TRAIN), "--store", str(store), *options]
            done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)
            (line,) = done.stdout.splitlines()
            return Ended(done.returncode, json.loads(line), done.stderr)

        yield train


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.mark.slow
def test_a_task_without_needs_fails_in_words_and_says_so_in_the_store(
    train: Trains, database: Path
) -> None:
    Store.open(str(database)).close()
    ended = train(database)
    assert ended.status == 1
    assert ended.said["recorded"] is True
    assert "task shop/train-demand: none of 0 observations tells a need" in ended.said["message"]
    store = Store.open(str(database))
    last = store.trainings.last(TRAIN)
    store.close()
    assert last is not None
    assert last.failure == ended.said["message"]


@pytest.mark.slow
def test_a_training_that_needs_more_than_its_cap_says_so(train: Trains, database: Path) -> None:
    fill(database, 1000, padding="x" * 50_000)
    ended = train(database, "--memory-mib", "128")
    assert ended.status == 1
    assert "training needs more than its cap of 128 MiB" in ended.said["message"]


@pytest.mark.slow
def test_a_store_that_is_not_there_is_told_and_not_made(train: Trains, database: Path) -> None:
    ended = train(database)
    assert (ended.status, ended.said["recorded"]) == (1, False)
    assert f"there is no store {database}; is the --store right?" in ended.said["message"]
    assert not database.exists()


@pytest.mark.slow
def test_a_store_that_is_none_is_named(train: Trains, database: Path) -> None:
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE dag_run (id INTEGER)")
    connection.close()
    ended = train(database)
    assert ended.status == 1
    assert ended.said["recorded"] is False
    assert "holds tables of something else" in ended.said["message"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        pytest.param(("no-slash", "--store", "x"), "is not 'namespace/name'", id="no task"),
        pytest.param(
            ("shop/train",), "no store: give --store, or set PLIMSOLL_STORE_URL", id="none"
        ),
        pytest.param(("a/b", "--policy", "{"), "is no policy as JSON", id="torn policy"),
        pytest.param(("a/b", "--policy", '{"mode": 1}'), "is no policy as JSON", id="no policy"),
        *(
            pytest.param(
                ("a/b", "--store", "x", "--budget", text),
                f"--budget: {text!r} is no number of seconds above 0, a week at most",
                id=text,
            )
            for text in ("nan", "inf", "0", "-5", "1e300", "soon")
        ),
    ],
)
def test_a_wrong_argument_is_told(options: tuple[str, ...], words: str) -> None:
    done = called_here(trainer.main, ("train", *options))
    assert done.returncode == 2
    assert words in done.stderr


@pytest.mark.slow
def test_limits_hold_for_the_process_that_sets_them() -> None:
    program = """
import json, os, sys
import plimsoll_operator.processes.trainer
from plimsoll_operator.training.limits import cap_memory, give_way
give_way(600)
cap_memory(200)
assert not {"numpy", "xgboost", "sklearn"} & set(sys.modules)
try:
    bytearray(300 << 20)
    refused = False
except MemoryError:
    refused = True
print(json.dumps([refused, os.nice(0), dict(os.environ)]))
"""
    done = subprocess.run(
        (sys.executable, "-c", program), capture_output=True, text=True, check=True
    )
    refused, niceness, environment = json.loads(done.stdout)
    assert refused is True
    assert niceness == 10
    assert environment.items() >= ONE_THREAD.items()


def test_a_process_that_nobody_ends_ends_itself() -> None:
    program = (
        "import time; from plimsoll_operator.training.limits import give_way; "
        "give_way(0.2); time.sleep(60)"
    )
    done = subprocess.run((sys.executable, "-c", program), check=False)
    assert done.returncode == -14


@pytest.mark.parametrize("budget_s", [1.0, 60.0, 3600.0])
def test_a_trainer_ends_itself_later_than_the_queue_would_end_it(
    monkeypatch: pytest.MonkeyPatch, budget_s: float
) -> None:
    alarms: list[float] = []
    monkeypatch.setattr(trainer, "give_way", alarms.append)
    monkeypatch.setattr(trainer, "train_one", lambda _order: {"ok": True})
    trainer.main([str(TRAIN), "--store", "none", "--budget", str(budget_s)])
    rules = QueueRules()
    assert alarms[0] > rules.patience * budget_s + rules.grace_s


@pytest.mark.slow
async def test_the_queue_has_the_real_trainer_leave_model_champion_and_report_in_the_store(
    database: Path,
) -> None:
    fill(database, 50)
    store = Store.open(str(database))
    ended: asyncio.Future[Trained] = asyncio.get_running_loop().create_future()

    async def keep(result: Trained) -> None:
        ended.set_result(result)

    spawner = Spawner(store_url=str(database), budget_s=1.0)
    queue = TrainingQueue(spawner, store, keep, rules=QueueRules(grace_s=120.0))
    queue.request(TRAIN, Policy(penalty=3.0, max_bins=2), "first")
    result = await ended
    await queue.close()
    saved, last = store.models.newest(TRAIN), store.trainings.last(TRAIN)
    [lesson] = [each for each in store.experts.lessons(0) if each.kind is LessonKind.TRAINED]
    store.close()
    assert result.failure is None
    assert saved is not None
    assert saved.model is not None
    assert saved.model.version == result.result["version"]
    assert saved.model.metrics.penalty == 3.0
    costs = {name: cost["cost_gb_h"] for name, cost in saved.report["out_of_time_costs"].items()}
    assert lesson.times == {
        name: costs[name] / costs["max-seen"] for name in bidders_of(saved.model)
    }
    assert saved.report["runs"] == 50
    assert last is not None
    assert (last.failure, last.runs) == (None, 50)
