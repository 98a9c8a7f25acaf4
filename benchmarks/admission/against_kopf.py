"""Admission against kopf's own dispatch: requests a second, latency, resident memory.

Both servers decide with the same code and the same 100-tree model, over TLS keep-alive, on the
same core; the load comes from the other one. Bursts alternate, so that both meet the same
conditions; the median bursts are compared.

    PYTHONPATH=. .venv/bin/python -P -m benchmarks.admission.against_kopf [--quick]
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import contextlib
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import psutil
import uvloop

from benchmarks.admission.inputs import prepare, review
from benchmarks.admission.load import Endpoint, Load, Round
from benchmarks.admission.peers import CERTIFICATE, KEY, PORT, SNAPSHOT
from plimsoll_operator.admission.server import SIZING_PATH

CONNECTIONS: Final = 16


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is sent: ``rounds`` bursts to each server, in turn."""

    rounds: int
    plimsoll_burst: int
    kopf_burst: int
    rss_from_round: int
    """Resident memory is compared between the end of this round and the last."""


FULL: Final = Plan(rounds=20, plimsoll_burst=5_000, kopf_burst=500, rss_from_round=4)
QUICK: Final = Plan(rounds=4, plimsoll_burst=1_000, kopf_burst=200, rss_from_round=1)


@dataclass(slots=True)
class Peer:
    """One server under load, and its measurements."""

    process: subprocess.Popen[bytes]
    load: Load
    rounds: list[Round] = field(default_factory=list)
    rss_bytes: list[int] = field(default_factory=list)
    cpu_s: float = 0.0

    async def burst(self, n_requests: int) -> None:
        """Send one burst, and read the memory after it."""
        server = psutil.Process(self.process.pid)
        before = server.cpu_times()
        self.rounds.append(await self.load.burst(n_requests))
        after = server.cpu_times()
        self.cpu_s += after.user + after.system - before.user - before.system
        self.rss_bytes.append(server.memory_info().rss)


def measure(*, quick: bool = False) -> dict[str, float]:
    """Run the comparison; figures by the names of ``bench-results.json``, and some more."""
    plan = QUICK if quick else FULL
    with tempfile.TemporaryDirectory(prefix="plimsoll-bench-") as name:
        folder = Path(name)
        prepare(folder)
        cores = sorted(os.sched_getaffinity(0))
        try:
            os.sched_setaffinity(0, {cores[-1]})
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                return runner.run(_measure(folder, plan, cores[0]))
        finally:
            os.sched_setaffinity(0, cores)


async def _measure(folder: Path, plan: Plan, core: int) -> dict[str, float]:
    body = json.dumps(review()).encode()
    with _served("plimsoll", folder, core) as plimsoll, _served("kopf", folder, core) as kopf:
        peers = [
            Peer(process, await Load.connect(endpoint, body, CONNECTIONS))
            for process, endpoint in (plimsoll, kopf)
        ]
        try:
            for peer in peers:
                await peer.load.burst(200)
            for _ in range(plan.rounds):
                await peers[0].burst(plan.plimsoll_burst)
                await peers[1].burst(plan.kopf_burst)
            _check_same_decision(peers)
        finally:
            for peer in peers:
                peer.load.close()
        return _figures(peers[0], peers[1], plan)


def _figures(plimsoll: Peer, kopf: Peer, plan: Plan) -> dict[str, float]:
    grown_bytes = plimsoll.rss_bytes[-1] - plimsoll.rss_bytes[plan.rss_from_round - 1]
    figures = {
        "admission_requests": float(sum(len(r.latencies_s) for r in plimsoll.rounds)),
        "admission_rss_mb": plimsoll.rss_bytes[-1] / 1e6,
        "admission_rss_grown_mb": grown_bytes / 1e6,
        "kopf_rss_mb": kopf.rss_bytes[-1] / 1e6,
    }
    for name, peer in (("admission", plimsoll), ("kopf", kopf)):
        figures[f"{name}_rps"] = statistics.median(r.rps for r in peer.rounds)
        figures[f"{name}_p50_ms"] = statistics.median(r.p50_ms for r in peer.rounds)
        figures[f"{name}_p99_ms"] = statistics.median(r.p99_ms for r in peer.rounds)
        sent = sum(len(r.latencies_s) for r in peer.rounds)
        # The server's own processor time: the part of the comparison that a busy machine leaves
        # valid.
        figures[f"{name}_cpu_us"] = peer.cpu_s / sent * 1e6
    return {key: round(value, 3) for key, value in figures.items()}


def _check_same_decision(peers: Sequence[Peer]) -> None:
    """Both must have set the same memory, or the comparison is of different work."""
    found = [_memory_in(peer.load.answer_body) for peer in peers]
    if found[0] != found[1] or not found[0]:
        raise RuntimeError(f"the servers decided differently: {found}")


def _memory_in(answer: bytes) -> set[str]:
    patch = json.loads(base64.b64decode(json.loads(answer)["response"]["patch"]))
    return {
        operation["value"]
        for operation in patch
        if operation["path"].endswith("/memory") and "containers/0" in operation["path"]
    }


@contextlib.contextmanager
def _served(
    peer: str, folder: Path, core: int
) -> Iterator[tuple[subprocess.Popen[bytes], Endpoint]]:
    """Run a server as a process of its own, on one core."""
    own = folder / peer
    own.mkdir()
    for name in (SNAPSHOT, CERTIFICATE, KEY):
        (own / name).write_bytes((folder / name).read_bytes())
    command = [sys.executable, "-m", "benchmarks.admission.peers", peer, str(own)]
    with (own / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        os.sched_setaffinity(process.pid, {core})
        path = SIZING_PATH if peer == "plimsoll" else "/size"
        yield process, Endpoint(_port_of(process, own), path)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=30)


def _port_of(process: subprocess.Popen[bytes], folder: Path) -> int:
    deadline_s = time.monotonic() + 60
    while time.monotonic() < deadline_s and process.poll() is None:
        text = (folder / PORT).read_text() if (folder / PORT).exists() else ""
        if text:
            address = ("127.0.0.1", int(text))
            with contextlib.suppress(OSError), socket.create_connection(address, timeout=1):
                return int(text)
        time.sleep(0.05)
    raise RuntimeError(f"the server did not start: {(folder / 'log').read_text()[-2000:]}")


def main() -> None:
    """Print the figures as one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="4,000 requests instead of 100,000")
    json.dump(measure(quick=parser.parse_args().quick), sys.stdout)


if __name__ == "__main__":
    main()
