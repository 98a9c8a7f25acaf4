"""Programs of tests end with them."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator

import pytest

from tests.rigs.processes.ending import end

Start = Callable[[str], subprocess.Popen[bytes]]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start a shell that first prints a line, and read that."""
    started = []

    def begin(script: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(["bash", "-c", script], stdout=subprocess.PIPE)
        started.append(process)
        assert process.stdout is not None
        process.stdout.readline()
        return process

    yield begin
    for process in started:
        with process:
            process.kill()


def test_one_that_takes_its_time_to_end_is_waited_for(start: Start) -> None:
    process = start('trap "sleep 0.2; exit 7" TERM; echo; while :; do sleep 0.01; done')
    end(process, 180.0)
    assert process.returncode == 7


def test_one_that_does_not_end_is_told_and_not_left_behind(start: Start) -> None:
    process = start('trap "" TERM; echo; exec sleep 600')
    with pytest.raises(subprocess.TimeoutExpired):
        end(process, 0.1)
    assert process.returncode == -9
