"""Controllers that compete for the lead, as processes with all settings of a chart."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plimsoll_operator.kube.client import Kube
from plimsoll_operator.kube.own_objects import OwnObjects
from tests.apiserver.controllers import Shop, until
from tests.rigs.processes.log_records import log_records
from tests.rigs.processes.preloaded import Preloaded, start_plimsoll

LEASE = "plimsoll-controller"
LEASE_S = 60
"""Longer than any pause of the machine: a leader loses the lead only if a test takes it."""
LINES_TOLD = 60
"""Lines of a candidate's log that are shown when its test fails."""
LOST = 75
"""The exit status of a leader that lost the lead."""


@dataclass(slots=True)
class Candidate:
    """``plimsoll controller`` with a Lease, in a process of its own."""

    name: str
    folder: Path
    process: Preloaded

    @property
    def log(self) -> Path:
        return self.folder / f"{self.name}.log"

    def logged(self, event: str) -> list[dict[str, Any]]:
        """Records of its log."""
        records = log_records(self.log.read_text())
        return [record for record in records if record["event"] == event]

    async def port(self) -> int:
        """The port of feed, peaks, metrics and health."""
        (served, *_) = await until("it serves", lambda: self.logged("controller serves"))
        return int(served["port"])

    async def get(self, path: str, token: str | None = None) -> tuple[int, str]:
        """Status and text of an answer."""
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        request = urllib.request.Request(
            f"http://127.0.0.1:{await self.port()}{path}", headers=headers
        )
        return await asyncio.to_thread(_get, request)

    async def metric(self, name: str) -> float | None:
        """One of its metrics; None if it has no metric of that name."""
        _, text = await self.get("/metrics")
        values = [line.split()[-1] for line in text.splitlines() if line.split()[0] == name]
        return float(values[0]) if values else None

    async def leads(self) -> bool:
        """Whether it leads and serves."""
        return bool(self.logged("controller started")) and await self.metric("plimsoll_leader") == 1

    async def stands_by(self) -> bool:
        status, words = await self.get("/readyz")
        return status == 200 and words.startswith("standing by: ")

    async def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        """End it; its exit status."""
        if self.process.returncode is None:
            self.process.send_signal(how)
        return await self.process.wait()


def _get(request: urllib.request.Request) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def environment(shop: Shop, folder: Path, **changes: str) -> dict[str, str]:
    """The chart's settings of each controller; the store is a file in ``folder``."""
    namespace = shop.namespace
    told = {
        "NAMESPACE": namespace,
        "STORE_URL": f"sqlite:///{folder}/plimsoll.db",
        "LISTEN_PORT": "0",
        "PAGE_PORT": "0",
        "LEASE": LEASE,
        "LEASE_S": str(LEASE_S),
        "TLS_SECRET": "plimsoll-admission-tls",
        "TLS_NAMES": f"plimsoll-admission.{namespace}.svc,localhost,127.0.0.1",
        "WEBHOOK": namespace,
        "FEED_TOKEN_SECRET": f"{namespace}/plimsoll-feed-token",
        "PEAKS_TOKEN_SECRET": f"{namespace}/plimsoll-peaks-token",
        "TRAINING_BUDGET_S": "2",
    }
    return {f"PLIMSOLL_{key}": value for key, value in {**told, **changes}.items()}


@contextlib.asynccontextmanager
async def a_candidate(
    kubeconfig: Path, folder: Path, name: str, told: dict[str, str]
) -> AsyncIterator[Candidate]:
    """Started, and ended with the block however that ends."""
    with (folder / f"{name}.log").open("ab") as log:
        process = start_plimsoll(
            ("controller", "--kubeconfig", str(kubeconfig), "--instance", name),
            log,
            {**os.environ, **told},
        )
    candidate = Candidate(name, folder, process)
    try:
        yield candidate
    except AssertionError as error:
        error.add_note(f"{name} said last:\n{_last_lines(candidate.log)}")
        raise
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGCONT)
        await candidate.end()


def _last_lines(log: Path) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-LINES_TOLD:])


@contextlib.asynccontextmanager
async def own_objects(kubeconfig: Path, namespace: str) -> AsyncIterator[OwnObjects]:
    """Plimsoll's own objects, as an administrator sees them."""
    kube = await Kube.connect(str(kubeconfig), None)
    try:
        yield OwnObjects(kube, namespace)
    finally:
        await kube.close()
