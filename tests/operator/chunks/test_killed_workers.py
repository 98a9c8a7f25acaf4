"""Real workers and a real server, killed at random: every item is done, once by the record."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

import plimsoll_chunks
from plimsoll_operator.splitting.job_tokens import token_for
from tests.operator.chunks import leasing_process
from tests.operator.chunks.leasing_process import JOB, KEY
from tests.rigs.processes.program_server import Forked, ProgramServer, a_program_server

ROOT = Path(__file__).parents[3]
ITEMS, SHARES = 3_000, 4
KILLS = 12
COMES_S = 180.0
WORK = """
import os, pathlib, sys, time
import plimsoll_chunks
allowed, done = pathlib.Path(sys.argv[3]), 0
plimsoll_chunks.PAUSE_S = plimsoll_chunks.LONGEST_PAUSE_S = 0.05
for first, count in plimsoll_chunks.ranges():
    with open(sys.argv[1], "a") as record:
        for item in range(first, first + count):
            while done >= int(allowed.read_text()):
                time.sleep(0.01)
            done += 1
            record.write(f"{item}\\n")
            record.flush()
            time.sleep(float(sys.argv[2]))
"""


class Rig:
    """A server and workers of one job, each a process."""

    def __init__(self, folder: Path, servers: ProgramServer) -> None:
        self.folder, self.servers = folder, servers
        (folder / "shelf").mkdir()
        with closing(socket.socket()) as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.names = 0
        self.item_s = 0.0005
        self.processes: list[subprocess.Popen[bytes] | Forked] = []
        self.allow(ITEMS)

    def allow(self, items: int) -> None:
        """Let each worker do that many items, and no more until it is allowed to."""
        beside = self.folder / "allowed.new"
        beside.write_text(str(items))
        beside.replace(self.folder / "allowed")

    def start(self, arguments: list[str], **environment: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-P", *arguments],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
        )
        self.processes.append(process)
        return process

    def server(self) -> Forked:
        shelf = str(self.folder / "shelf")
        process = self.servers.start([shelf, str(self.port), str(ITEMS), str(SHARES)])
        self.processes.append(process)
        until = time.monotonic() + COMES_S
        while time.monotonic() < until:
            with suppress(OSError):
                self.progress()
                return process
            time.sleep(0.05)
        raise TimeoutError("the server did not come")

    def worker(
        self, index: int, alone_after_s: float = COMES_S
    ) -> tuple[str, subprocess.Popen[bytes]]:
        self.names += 1
        name = f"scan-{index}-{self.names}"
        record = str(self.folder / f"{name}.record")
        process = self.start(
            ["-c", WORK, record, str(self.item_s), str(self.folder / "allowed")],
            PLIMSOLL_WORKER=name,
            PLIMSOLL_ITEMS=str(ITEMS),
            PLIMSOLL_SHARES=str(SHARES),
            JOB_COMPLETION_INDEX=str(index),
            PLIMSOLL_CHUNKS_URL=self.url,
            PLIMSOLL_CHUNKS_JOB=str(JOB),
            PLIMSOLL_CHUNKS_TOKEN=token_for(KEY, JOB.namespace, JOB.run),
            PLIMSOLL_ALONE_AFTER_S=str(alone_after_s),
        )
        return name, process

    def until(self, found: Callable[[], bool]) -> None:
        until_s = time.monotonic() + COMES_S
        while not found():
            assert time.monotonic() < until_s
            time.sleep(0.02)

    def progress(self) -> list[int]:
        with urllib.request.urlopen(f"{self.url}/progress", timeout=10) as answer:
            found: list[int] = json.loads(answer.read())
            return found

    def died(self, worker: str) -> None:
        request = urllib.request.Request(f"{self.url}/died/{worker}", data=b"")
        urllib.request.urlopen(request, timeout=10).close()

    def worked(self) -> Counter[int]:
        done = Counter[int]()
        for record in self.folder.glob("*.record"):
            # A killed worker may have left half a line.
            done.update(
                int(line)
                for line in record.read_text().splitlines(keepends=True)
                if line.endswith("\n")
            )
        return done


@pytest.fixture(scope="module")
def servers() -> Iterator[ProgramServer]:
    """A server that forks servers of leases: loading their libraries takes most of their time."""
    checkout = Path(__file__).parents[3]
    with a_program_server(leasing_process.__name__, (), checkout=checkout) as server:
        yield server


@pytest.fixture
def rig(tmp_path: Path, servers: ProgramServer) -> Iterator[Rig]:
    rig = Rig(tmp_path, servers)
    try:
        yield rig
    finally:
        for process in rig.processes:
            process.send_signal(signal.SIGKILL)
            process.wait()


@pytest.mark.slow
def test_workers_and_their_server_are_killed_at_random_and_every_item_is_done(rig: Rig) -> None:
    draw, rig.item_s = random.Random(18), 0.004
    server = rig.server()
    workers = [rig.worker(index) for index in range(SHARES)]
    killed = 0
    until = time.monotonic() + COMES_S
    while any(process.poll() is None for _, process in workers):
        assert time.monotonic() < until
        time.sleep(draw.uniform(0.05, 0.15))
        if killed >= KILLS:
            continue
        killed += 1
        if draw.random() < 0.25:
            server.send_signal(signal.SIGKILL)
            server.wait()
            server = rig.server()
            continue
        index = draw.randrange(SHARES)
        name, process = workers[index]
        if process.poll() is None:
            process.kill()
            process.wait()
            rig.died(name)
            workers[index] = rig.worker(index)
    assert [process.returncode for _, process in workers] == [0] * SHARES
    assert rig.progress() == [ITEMS, 0, 0]
    worked = rig.worked()
    assert set(worked) == set(range(ITEMS))
    assert killed == KILLS


@pytest.mark.slow
def test_without_kills_no_item_is_worked_on_twice(rig: Rig) -> None:
    rig.server()
    workers = [rig.worker(index) for index in range(SHARES)]
    assert [process.wait(COMES_S) for _, process in workers] == [0] * SHARES
    assert rig.worked() == Counter(range(ITEMS))


@pytest.mark.slow
def test_workers_that_reach_nobody_do_their_shares(rig: Rig) -> None:
    workers = [rig.worker(index, alone_after_s=0.1) for index in range(SHARES)]
    assert [process.wait(COMES_S) for _, process in workers] == [0] * SHARES
    assert rig.worked() == Counter(range(ITEMS))


@pytest.mark.slow
def test_a_worker_that_came_before_the_server_does_its_share_and_nobody_else_does(
    rig: Rig,
) -> None:
    _, alone = rig.worker(0, alone_after_s=0.1)
    assert alone.wait(COMES_S) == 0
    rig.server()
    workers = [rig.worker(index) for index in range(1, SHARES)]
    assert [process.wait(COMES_S) for _, process in workers] == [0] * (SHARES - 1)
    assert rig.worked() == Counter(range(ITEMS))
    assert rig.progress() == [ITEMS - ITEMS // SHARES, 0, ITEMS // SHARES]


def _all_heard_and_cut_off(rig: Rig) -> list[tuple[str, subprocess.Popen[bytes]]]:
    """Workers that each have their first lease, with nothing done, and no server any more."""
    rig.allow(0)
    server = rig.server()
    workers = [rig.worker(index) for index in range(SHARES)]
    # Each has begun: an answer that was written may not have been read yet.
    rig.until(lambda: len(list(rig.folder.glob("*.record"))) == SHARES)
    server.send_signal(signal.SIGKILL)
    server.wait()
    return workers


@pytest.mark.slow
def test_workers_whose_server_goes_for_good_go_on_and_do_all_once(rig: Rig) -> None:
    workers = _all_heard_and_cut_off(rig)
    rig.allow(ITEMS)
    assert [process.wait(COMES_S) for _, process in workers] == [0] * SHARES
    assert rig.worked() == Counter(range(ITEMS))


@pytest.mark.slow
def test_workers_that_are_cut_off_and_answered_again_say_what_they_did(rig: Rig) -> None:
    workers = _all_heard_and_cut_off(rig)
    alone = ITEMS // SHARES // 4
    rig.allow(alone)
    rig.until(lambda: sum(rig.worked().values()) == SHARES * alone)
    rig.server()
    rig.allow(ITEMS)
    assert [process.wait(COMES_S) for _, process in workers] == [0] * SHARES
    assert rig.worked() == Counter(range(ITEMS))
    assert rig.progress() == [ITEMS, 0, 0]


@pytest.mark.slow
def test_a_slow_workers_share_is_done_by_others_as_well(rig: Rig) -> None:
    rig.server()
    rig.item_s = 0.02
    _, slow = rig.worker(0)
    rig.until(lambda: rig.progress()[0] > 0)
    rig.item_s = 0.0001
    workers = [rig.worker(index) for index in range(1, SHARES)]
    assert [process.wait(COMES_S) for _, process in (("", slow), *workers)] == [0] * SHARES
    assert rig.worked() == Counter(range(ITEMS))
    by_slow = (rig.folder / "scan-0-1.record").read_text().count("\n")
    assert by_slow < ITEMS // SHARES


def test_what_a_pod_is_told_is_read_and_checked() -> None:
    told = {"PLIMSOLL_ITEMS": "10", "PLIMSOLL_SHARES": "3", "JOB_COMPLETION_INDEX": "2"}
    worker = plimsoll_chunks.Worker.from_environment(told)
    assert worker.share() == (6, 4)
    assert list(plimsoll_chunks.items(worker)) == [6, 7, 8, 9]
    with pytest.raises(ValueError, match="index 2 of 2"):
        plimsoll_chunks.Worker.from_environment({**told, "PLIMSOLL_SHARES": "2"})


@pytest.mark.slow
def test_an_item_whose_work_fails_is_not_acknowledged(rig: Rig) -> None:
    rig.server()
    worker = plimsoll_chunks.Worker(
        "failing", ITEMS, 0, SHARES, rig.url, str(JOB), token_for(KEY, JOB.namespace, JOB.run)
    )
    # Like a loop whose body raises: nobody asks for more.
    _, count = next(plimsoll_chunks.ranges(worker))
    assert count == 1
    assert rig.progress() == [0, ITEMS // SHARES, ITEMS - ITEMS // SHARES]
