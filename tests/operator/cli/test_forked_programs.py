"""The tests' own ``plimsoll`` whose imports are done behaves like the installed one."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.rigs.processes.command_lines import run_apart
from tests.rigs.processes.program_server import PLIMSOLL, ProgramServer, a_program_server

WAITS = """
import signal

def main():
    print("begun", flush=True)
    signal.pause()
"""


@pytest.fixture(scope="module")
def server() -> Iterator[ProgramServer]:
    with a_program_server(PLIMSOLL, ()) as made:
        yield made


@pytest.fixture
def waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ProgramServer]:
    """A server of a program that reports its start and ends by a signal."""
    (tmp_path / "waits.py").write_text(WAITS)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with a_program_server("waits", ()) as made:
        yield made


@pytest.mark.slow
@pytest.mark.parametrize("words", [("--version",), ("explain", "x/y"), ("nonsense",)], ids=str)
def test_it_says_what_the_installed_one_says_and_ends_as_it_does(
    server: ProgramServer, tmp_path: Path, words: tuple[str, ...]
) -> None:
    program = server.put_on_path(tmp_path)
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("KUBE", "PLIMSOLL"))}
    done = subprocess.run(
        [program, *words],
        env={**kept, "HOME": str(tmp_path), "COLUMNS": "80"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    real = run_apart(*words, folder=tmp_path, COLUMNS="80")
    assert (done.returncode, done.stdout, done.stderr) == (
        *(real.returncode, real.stdout),
        real.stderr.replace(str(real.args[0]), "plimsoll"),
    )


@pytest.mark.slow
def test_a_signal_ends_the_one_that_it_is_sent_to(waiting: ProgramServer) -> None:
    reading, writing = os.pipe()
    first, second = (waiting.start([], stdout=writing) for _ in range(2))
    os.close(writing)
    with os.fdopen(reading) as said:
        assert [said.readline(), said.readline()] == ["begun\n", "begun\n"]
        first.send_signal(signal.SIGKILL)
        assert first.wait() == -signal.SIGKILL
        first.send_signal(signal.SIGTERM)  # to nobody
        second.terminate()
        assert second.wait() == -signal.SIGTERM


def test_no_program_outlives_whoever_has_asked_for_it(waiting: ProgramServer) -> None:
    reading, writing = os.pipe()
    asked = waiting.start([], stdout=writing)
    os.close(writing)
    asked.leave()
    with os.fdopen(reading) as said:
        said.read()  # to its end, which comes when nobody can write any more


def test_no_program_outlives_its_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "waits.py").write_text(WAITS)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    reading, writing = os.pipe()
    with a_program_server("waits", ()) as ending:
        asked = ending.start([], stdout=writing)
        os.close(writing)
    with os.fdopen(reading) as said:
        said.read()
    asked.leave()
