"""The tests' own interpreter for controllers: trainers are forked, and end like real ones."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from plimsoll_operator.training import feature_learning, shape_learning, spawning
from plimsoll_predictor.store import Store
from tests.rigs.processes.forked_trainers import Interpreter, forked_trainers

WITHIN_S = 120.0


@pytest.fixture(scope="module")
def interpreter() -> Iterator[Interpreter]:
    """Without the libraries, whose loading takes seconds: nothing is trained here."""
    with forked_trainers(imported=()) as made:
        yield made


@contextlib.contextmanager
def running(
    interpreter: Interpreter, *words: str, **environment: str
) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [str(interpreter.program), *words],
        env={**os.environ, **interpreter.environment, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        yield process


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (spawning.COMMAND, "plimsoll train"),
        (shape_learning.COMMAND, "shapes_trainer"),
        (feature_learning.COMMAND, "features_trainer"),
    ],
)
@pytest.mark.parametrize(("words", "status"), [(("--help",), 0), (("--nonsense",), 2)])
def test_a_trainer_is_the_one_that_was_asked_for_and_ends_as_it_does(
    interpreter: Interpreter, command: tuple[str, ...], name: str, words: tuple[str], status: int
) -> None:
    with running(interpreter, *command[1:], *words) as process:
        said, _ = process.communicate()
    assert said.startswith(f"usage: {name} ")
    assert process.returncode == status


@pytest.mark.slow
def test_all_else_is_python_whose_children_get_the_interpreter(interpreter: Interpreter) -> None:
    code = f"from {spawning.__name__} import COMMAND; print(COMMAND[0]); raise SystemExit(3)"
    with running(interpreter, "-P", "-c", code) as process:
        said, _ = process.communicate()
    assert (process.returncode, said.strip()) == (3, str(interpreter.program))


@pytest.mark.slow
def test_who_kills_what_was_started_kills_the_forked_one(
    interpreter: Interpreter, tmp_path: Path
) -> None:
    """The trainer waits for its locked store when the started process is killed."""
    path = tmp_path / "store.db"
    Store.open(f"sqlite:///{path}").close()
    told = {spawning.STORE_URL: f"sqlite:///{path}"}
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with running(interpreter, *spawning.COMMAND[1:], "shop/train", **told) as process:
            assert process.stdout is not None
            await_writers(process.stdout.fileno(), {os.getpid(), process.pid})
            process.kill()
            process.stdout.read()  # to its end: then nobody can write any more
    assert process.returncode == -signal.SIGKILL


def await_writers(pipe: int, known: set[int]) -> None:
    """Wait until an unknown process has the pipe."""
    named, give_up_s = os.readlink(f"/proc/self/fd/{pipe}"), time.monotonic() + WITHIN_S
    while not any(has(int(pid), named) for pid in os.listdir("/proc") if is_other(pid, known)):
        assert time.monotonic() < give_up_s, "nothing was forked"
        time.sleep(0.05)


def is_other(name: str, known: set[int]) -> bool:
    """Whether this is an unknown process."""
    return name.isdigit() and int(name) not in known


def has(pid: int, named: str) -> bool:
    """Whether a process has this open."""
    with contextlib.suppress(OSError):
        folder = f"/proc/{pid}/fd"
        return named in [os.readlink(f"{folder}/{each}") for each in os.listdir(folder)]
    return False
