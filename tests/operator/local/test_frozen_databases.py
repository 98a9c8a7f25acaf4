"""A database that stands still for a test goes on after it, whatever ends meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.rigs.servers.databases import PostgreSQL


@pytest.fixture
def server(tmp_path: Path) -> Iterator[PostgreSQL]:
    """Processes like a PostgreSQL's: a head with two children."""
    words = ["sh", "-c", "sleep 600 & sleep 600 & echo; wait"]
    head = subprocess.Popen(words, stdout=subprocess.PIPE, start_new_session=True)
    assert head.stdout is not None
    head.stdout.readline()
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "postmaster.pid").write_text(f"{head.pid}\n")
    try:
        yield PostgreSQL(tmp_path, 0)
    finally:
        os.killpg(head.pid, signal.SIGKILL)
        head.wait()
        head.stdout.close()


def goes_on(server: PostgreSQL) -> bool:
    until_s = time.monotonic() + 60
    while any(stopped(server)) and time.monotonic() < until_s:
        time.sleep(0.01)
    return not any(stopped(server))


def stopped(server: PostgreSQL) -> list[bool]:
    return [psutil.Process(each).status() == psutil.STATUS_STOPPED for each in server.processes()]


def test_all_stand_still_and_go_on(server: PostgreSQL) -> None:
    with server.frozen():
        assert stopped(server) == [True] * 3
    assert goes_on(server)


def test_a_connection_that_ends_meanwhile_leaves_nothing_stopped(
    server: PostgreSQL, monkeypatch: pytest.MonkeyPatch
) -> None:
    head, ends, _ = server.processes()
    told, really = list[int](), os.kill

    def kill(process: int, number: int) -> None:
        told.append(process)
        if process == ends:
            raise ProcessLookupError
        really(process, number)

    monkeypatch.setattr("tests.rigs.servers.databases.os.kill", kill)
    with server.frozen():
        assert told[0] == head
    assert goes_on(server)
