"""Children of ``plimsoll run``: whatever the disk refuses, they are started and watched."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from plimsoll_operator.processes import run_processes
from plimsoll_operator.processes.ending import beside
from plimsoll_operator.processes.run_processes import Command, keep_running

WITHIN_S = 90.0


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_processes, "RESTART_PAUSE_S", 0.05)
    monkeypatch.setattr(run_processes, "LONGEST_RESTART_PAUSE_S", 0.05)


async def starts(log_file: Path, at_least: int) -> None:
    """Return when the command has written its usage so often."""
    async with asyncio.timeout(WITHIN_S):
        while not log_file.exists() or log_file.read_text().lower().count("usage:") < at_least:
            await asyncio.sleep(0.02)


async def end(running: asyncio.Task[None]) -> None:
    assert not running.done(), running.exception()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_a_child_that_cannot_be_started_is_tried_again(tmp_path: Path) -> None:
    folder = tmp_path / "full"
    command = Command("controller", ["--help"], folder / "controller.log")
    with capture_logs() as said:
        running = asyncio.create_task(keep_running(command))
        async with asyncio.timeout(WITHIN_S):
            while not said and not running.done():
                await asyncio.sleep(0.02)
        folder.mkdir()
        await starts(command.log_file, 1)
    assert said[0]["process"] == "controller"
    assert "No such file" in said[0]["why"]
    await end(running)


async def test_a_child_whose_number_cannot_be_written_is_watched(tmp_path: Path) -> None:
    command = Command("controller", ["--help"], tmp_path / "controller.log")
    command.log_file.with_suffix(".pid").mkdir()
    running = asyncio.create_task(keep_running(command))
    await starts(command.log_file, 2)
    await end(running)


async def test_people_are_told_the_last_line_of_a_child_that_ended(tmp_path: Path) -> None:
    words = ["pause", "a/b", "--kubeconfig", f"{tmp_path}/nowhere"]
    command = Command("controller", words, tmp_path / "controller.log")
    with capture_logs() as said:
        running = asyncio.create_task(keep_running(command))
        async with asyncio.timeout(WITHIN_S):
            while not said and not running.done():
                await asyncio.sleep(0.02)
    assert said[0]["last_line"] == command.log_file.read_text().splitlines()[-1]
    assert f"{tmp_path}/nowhere" in said[0]["last_line"]
    await end(running)


@pytest.mark.parametrize(
    ("written", "last"),
    [
        pytest.param(None, "", id="no log"),
        pytest.param(b"", "", id="an empty one"),
        pytest.param(b"first\nlast\n\n \n", "last", id="blank lines after it"),
        pytest.param(b"\xff half", "\ufffd half", id="no text"),
        pytest.param(b"x" * 9000, "x" * run_processes.LAST_BYTES, id="a long one"),
    ],
)
def test_the_last_line_of_a_log(tmp_path: Path, written: bytes | None, last: str) -> None:
    log_file = tmp_path / "controller.log"
    if written is not None:
        log_file.write_bytes(written)
    assert run_processes.last_line(log_file) == last


async def test_a_log_that_grows_is_moved_aside_though_its_process_goes_on_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_processes, "MOST_LOG_BYTES", 2000)
    monkeypatch.setattr(run_processes, "LOGS_LOOKED_AT_EVERY_S", 0.01)
    log_file = tmp_path / "controller.log"
    earlier = tmp_path / "controller.log.1"
    log_file.write_text("x" * 3000)
    with log_file.open("ab") as goes_on:
        async with beside(run_processes._bound(log_file)), asyncio.timeout(WITHIN_S):
            while log_file.stat().st_size:
                await asyncio.sleep(0.01)
            goes_on.write(b"later")
            goes_on.flush()
            assert (earlier.read_text(), log_file.read_text()) == ("x" * 3000, "later")
            goes_on.write(b"y" * 3000)
            goes_on.flush()
            while log_file.stat().st_size:
                await asyncio.sleep(0.01)
    assert earlier.read_text() == "later" + "y" * 3000
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "controller.log",
        "controller.log.1",
    ]
