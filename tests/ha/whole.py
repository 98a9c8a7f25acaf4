"""All of Plimsoll as processes that are started again at once whenever they are killed."""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import multiprocessing.process
import os
import random
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import psutil

from plimsoll_operator.__main__ import app
from plimsoll_operator.processes.run_webhook import NAME, make_certificates, webhook_configuration
from tests.apiserver.controllers import until
from tests.conftest import Cluster
from tests.ha.services import a_service, leads, listens
from tests.rigs.servers.ports import free_ports

WORKER = "plimsoll_operator.processes.trainer"
RESTARTS_AFTER_S = 0.1
STARTING_SHARE = 0.25
LONGEST_START_S, LONGEST_WORK_S = 1.0, 2.0
LOOKS_FOR_TRAINERS_EVERY_S = 0.5
"""Each look reads the command lines of all processes. A training takes longer than that."""
AT_WORK = {
    "controller": b'"event": "controller started"',
    "admission": b'"event": "admission-serves"',
    "agent": b'"event": "agent measures"',
}


def _run(arguments: tuple[str, ...], log: Path, told: dict[str, str]) -> None:
    """Be one of the processes; what it prints goes to its log."""
    os.environ.update(told)
    with log.open("ab") as out:
        for number in (1, 2):
            os.dup2(out.fileno(), number)
    app(list(arguments))


_SERVER = multiprocessing.get_context("forkserver")
# Imports take most of a process's start and are always the same, so they are done once.
_SERVER.set_forkserver_preload(
    [
        "plimsoll_operator.processes.controller",
        "plimsoll_operator.processes.admission",
        "plimsoll_operator.processes.agent",
        "tests.ha.whole",
    ]
)


@dataclass(slots=True)
class Restarted:
    """One process, and its successors. told: variables of its environment."""

    arguments: tuple[str, ...]
    log: Path
    told: dict[str, str] = field(default_factory=dict)
    kills: int = 0
    _process: multiprocessing.process.BaseProcess | None = None
    _began_at: int = 0
    _keeping: asyncio.Task[None] | None = None

    @property
    def program(self) -> str:
        return self.arguments[0]

    def start(self) -> None:
        self._keeping = asyncio.create_task(self._keep())

    async def _keep(self) -> None:
        while True:
            self._began_at = self.log.stat().st_size if self.log.exists() else 0
            self._process = _SERVER.Process(target=_run, args=(self.arguments, self.log, self.told))
            self._process.start()
            while self._process.is_alive():
                await asyncio.sleep(RESTARTS_AFTER_S)

    def works(self) -> bool:
        """Whether the running one has said that it is at work."""
        if not self.log.exists():
            return False
        with self.log.open("rb") as log:
            log.seek(self._began_at)
            return AT_WORK[self.program] in log.read()

    def runs(self) -> bool:
        """Whether it exists: after a kill there is none for a moment."""
        return self._process is not None and self._process.is_alive()

    def kill(self) -> None:
        """Kill -9, whatever it is doing."""
        assert self._process is not None
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
            self._began_at = self.log.stat().st_size  # its successor has said nothing yet
            self.kills += 1

    async def kill_for_good(self) -> None:
        """Kill -9, and start no other until ``start``."""
        assert self._keeping is not None
        self._keeping.cancel()
        await asyncio.gather(self._keeping, return_exceptions=True)
        self.kill()

    async def end(self) -> None:
        assert self._keeping is not None
        self._keeping.cancel()
        await asyncio.gather(self._keeping, return_exceptions=True)
        assert self._process is not None
        self._process.terminate()
        await asyncio.to_thread(self._process.join)


@dataclass(slots=True)
class Whole:
    """Controller, admission and agent; replicas of the first two where a test wants them."""

    folder: Path
    processes: Mapping[str, Restarted]
    trainers_killed: int = 0
    _seen: set[int] = field(default_factory=set)

    @property
    def store_url(self) -> str:
        return f"sqlite:///{self.folder}/plimsoll.db"

    async def kill_at_random(self, name: str, times: int, chance: random.Random) -> None:
        """Kill one of them at random moments, sometimes in its start, mostly at its work."""
        process = self.processes[name]
        for _ in range(times):
            if chance.random() > STARTING_SHARE:
                await until(f"{name} is at work", process.works)
                await asyncio.sleep(chance.uniform(0.0, LONGEST_WORK_S))
            else:
                await asyncio.sleep(chance.uniform(2 * RESTARTS_AFTER_S, LONGEST_START_S))
                await until(f"{name} is started", process.runs)
            process.kill()

    async def kill_any(self, times: int, between_s: float, chance: random.Random) -> None:
        """Kill a random one of all processes that many times, at any point of its work.

        between_s: from one kill to the next on average; from none to twice as long.
        """
        for _ in range(times):
            await asyncio.sleep(chance.uniform(0.0, 2 * between_s))
            process = self.processes[chance.choice(sorted(self.processes))]
            await until(f"{process.program} is started", process.runs)
            process.kill()

    async def kill_trainers(self, times: int, chance: random.Random) -> None:
        """Kill trainings at random moments of their lives, as they come."""
        while self.trainers_killed < times:
            await asyncio.sleep(LOOKS_FOR_TRAINERS_EVERY_S)
            for trainer in self._new_trainers():
                await asyncio.sleep(chance.uniform(0.0, LONGEST_WORK_S))
                with contextlib.suppress(psutil.NoSuchProcess):
                    trainer.kill()
                    self.trainers_killed += 1

    def _new_trainers(self) -> Iterator[psutil.Process]:
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if (
                    process.pid not in self._seen
                    and WORKER in process.cmdline()
                    and process.environ().get("PLIMSOLL_STORE_URL") == self.store_url
                ):
                    self._seen.add(process.pid)
                    yield process


@contextlib.asynccontextmanager
async def the_whole(
    cluster: Cluster,
    folder: Path,
    told: Mapping[str, dict[str, str]] | None = None,
    without: Collection[str] = (),
    replicas: int = 1,
) -> AsyncIterator[Whole]:
    """Start all, have the API server ask admission, and end all with the block.

    told: variables of the environment, by the program. without: programs that are not started.
    replicas: of controller and admission, behind a service each.
    """
    authority = make_certificates(
        folder / "certificates", ["127.0.0.1", "localhost"], datetime.now(UTC)
    )
    (folder / "token").write_text("a-token-of-the-tests")
    async with contextlib.AsyncExitStack() as stack:
        free = free_ports(3 * replicas)
        ports = [_Ports(*free[at : at + 3]) for at in range(0, len(free), 3)]
        feed, asked = ports[0].feed, ports[0].admission
        if replicas > 1:
            feed = await stack.enter_async_context(a_service([each.feed for each in ports], leads))
            asked = await stack.enter_async_context(
                a_service([each.admission for each in ports], listens)
            )
        whole = Whole(folder, _processes(cluster, folder, ports, feed, told or {}, without))
        for each in whole.processes.values():
            each.start()
        cluster.apply(webhook_configuration(f"https://127.0.0.1:{asked}", authority))
        try:
            yield whole
        finally:
            cluster.kubectl("delete", "mutatingwebhookconfiguration", NAME, "--ignore-not-found")
            await asyncio.gather(*(each.end() for each in whole.processes.values()))


@dataclass(frozen=True, slots=True)
class _Ports:
    """Ports of one replica: three that were free."""

    admission: int
    feed: int
    metrics: int


def _processes(
    cluster: Cluster,
    folder: Path,
    ports: Sequence[_Ports],
    feed: int,
    told: Mapping[str, dict[str, str]],
    without: Collection[str],
) -> dict[str, Restarted]:
    """All processes by name: the program's name, from the second replica on with a number."""
    found: dict[str, Restarted] = {}
    for number, its in enumerate(ports, start=1):
        suffix = "" if number == 1 else f"-{number}"
        for words in _commands(cluster, folder, its, feed, suffix):
            program = words[0]
            if program not in without and not (program == "agent" and suffix):
                log = folder / f"{program}{suffix}.log"
                found[f"{program}{suffix}"] = Restarted(words, log, told.get(program, {}))
    return found


def _commands(
    cluster: Cluster, folder: Path, ports: _Ports, feed: int, suffix: str
) -> list[tuple[str, ...]]:
    source, token = f"http://127.0.0.1:{feed}", str(folder / "token")
    certificates = folder / "certificates"
    return [
        (
            *("controller", "--kubeconfig", str(cluster.kubeconfig), "--token-file", token),
            *("--store", f"sqlite:///{folder}/plimsoll.db", "--training-budget", "2"),
            *("--port", str(ports.feed), "--page-port", "0", "--instance", f"controller{suffix}"),
        ),
        (
            *("admission", "--feed", source, "--token-file", token, "--drain", "0"),
            *("--certificate", str(certificates / "tls.crt")),
            *("--key", str(certificates / "tls.key")),
            *("--address", "127.0.0.1", "--port", str(ports.admission)),
            *(
                "--metrics-port",
                str(ports.metrics),
                "--snapshot",
                str(folder / f"snapshot{suffix}"),
            ),
        ),
        (
            *("agent", "--controller", source, "--token-file", token),
            *("--node-name", "node-1", "--state-dir", str(folder / "agent")),
        ),
    ]
