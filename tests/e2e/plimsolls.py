"""``plimsoll run --agent`` on the real node, and faults of its processes."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from plimsoll_operator.processes.run_webhook import NAME
from plimsoll_operator.training.spawning import COMMAND
from plimsoll_predictor.core.record import Observation
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import Store
from tests.apiserver.controllers import until
from tests.conftest import Cluster
from tests.rigs.processes.ending import end
from tests.rigs.processes.forked_trainers import Interpreter
from tests.rigs.servers.ports import free_ports

READY_WITHIN_S = 360.0
"""More than `plimsoll run` takes to say why it is not ready."""
END_WITHIN_S = 180.0
ANSWERS_WITHIN_S = 20
"""How long the API server waits for admission in tests that need decided pods. With the usual two
seconds, a machine that pauses starts a pod undecided, as it should."""
TRAINING_BUDGET_S = 4
FLAT_S = os.environ.get("PLIMSOLL_LENDING_FLAT_S", "5")
"""Seconds for which a pod's memory is flat before it lends, where a policy lets it."""
SETTINGS = {
    "PLIMSOLL_TASK_METRICS": "5",
    "PLIMSOLL_LENDING_FLAT_S": FLAT_S,
    "PLIMSOLL_RESCUE_BY_AGENT": "true",
}
ADMISSION, CONTROLLER, AGENT = "admission", "controller", "agent"
TRAINER = COMMAND[-1].encode()
"""The module that starts a training process."""


@dataclass(frozen=True, slots=True)
class Ports:
    """Four ports that were free, in the caller's network."""

    admission: int
    controller: int
    metrics: int
    leases: int

    @classmethod
    def free(cls) -> Ports:
        return cls(*free_ports(4))


@dataclass(frozen=True, slots=True)
class Plimsoll:
    """All of Plimsoll, running."""

    process: subprocess.Popen[bytes]
    state: Path
    ports: Ports
    store: Store

    def observations(self, task: TaskId) -> list[Observation]:
        """What was learned of a task."""
        return self.store.observations.of_task(task)

    def pid(self, name: str) -> int:
        """The process id of one of its processes."""
        return int((self.state / f"{name}.pid").read_text())

    @contextlib.contextmanager
    def without(self, name: str) -> Iterator[None]:
        """Kill (-9) one of its processes, and start it again only when the block ends."""
        self.process.send_signal(signal.SIGSTOP)
        try:
            os.kill(self.pid(name), signal.SIGKILL)
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    @contextlib.contextmanager
    def hanging(self, name: str) -> Iterator[None]:
        """Let one of its processes take connections and never answer, until the block ends."""
        pid = self.pid(name)
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)

    async def killed(self, name: str) -> None:
        """Kill (-9) one of its processes, and wait until its successor serves."""
        before = self.pid(name)
        os.kill(before, signal.SIGKILL)
        await self.back(name, before)

    def trainers(self) -> list[int]:
        """The process ids of those that train now."""
        return [int(each.name) for each in Path("/proc").iterdir() if self._trains(each)]

    def _trains(self, process: Path) -> bool:
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
            settings = (process / "environ").read_bytes()
        except OSError:  # no process, or it has ended
            return False
        return TRAINER in words and bytes(self.state) in settings

    async def back(self, name: str, before: int) -> None:
        """Wait for the successor of process ``before`` to serve."""
        await until(f"a new {name}", lambda: self.pid(name) != before and self.serves(name))

    def serves(self, name: str) -> bool:
        """Whether a process says that it is ready. The agent serves nothing: it only has to run."""
        if name == AGENT:
            return Path(f"/proc/{self.pid(name)}").exists()
        port = self.ports.controller if name == CONTROLLER else self.ports.metrics
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=2) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False


@contextlib.contextmanager
def a_plimsoll(
    cluster: Cluster, state: Path, *words: str, interpreter: Interpreter | None = None
) -> Iterator[Plimsoll]:
    """Start it, wait until it serves, and end it with the block however that ends.

    words: more options of ``plimsoll run``. interpreter: one that forks trainers. They then take no
        time, so random kills do not meet them.
    """
    _refuse_another(cluster)
    ports = Ports.free()
    with (state / "run.log").open("ab") as log:
        process = subprocess.Popen(
            [*_command(cluster, state, ports), *words],
            stdout=log,
            stderr=log,
            env={**os.environ, **SETTINGS, **(interpreter.environment if interpreter else {})},
        )
    try:
        _await_ready(process, state)
        wait_for_admission(cluster)
        store = Store.open(f"sqlite:///{state}/plimsoll.db")
        try:
            yield Plimsoll(process, state, ports, store)
        finally:
            store.close()
    finally:
        _end(process)


def wait_for_admission(cluster: Cluster, seconds: int = ANSWERS_WITHIN_S) -> None:
    """Make the API server wait that long for each of Plimsoll's webhooks."""
    kind = "mutatingwebhookconfiguration"
    webhooks = cluster.get(kind, NAME)["webhooks"]
    where = (f"/webhooks/{number}/timeoutSeconds" for number in range(len(webhooks)))
    change = [{"op": "replace", "path": each, "value": seconds} for each in where]
    cluster.kubectl("patch", kind, NAME, "--type=json", f"--patch={json.dumps(change)}")


def _command(cluster: Cluster, state: Path, ports: Ports) -> list[str]:
    return [
        *(sys.executable, "-P", "-m", "plimsoll_operator", "run", "--agent"),
        *("--state-dir", str(state), "--kubeconfig", str(cluster.kubeconfig)),
        *("--training-budget", str(TRAINING_BUDGET_S)),
        *("--admission-port", str(ports.admission), "--metrics-port", str(ports.metrics)),
        *("--controller-port", str(ports.controller), "--page-port", "0"),
        *("--leases-port", str(ports.leases)),
    ]


def _refuse_another(cluster: Cluster) -> None:
    """Two Plimsolls would size the same pods: the webhook configuration is the whole cluster's."""
    configurations = cluster.get("mutatingwebhookconfigurations")["items"]
    for each in configurations:
        if each["metadata"]["name"] == NAME:
            url = each["webhooks"][0]["clientConfig"]["url"]
            address = url.removeprefix("https://").partition("/")[0].rpartition(":")
            with contextlib.suppress(OSError):
                socket.create_connection((address[0], int(address[2])), timeout=2).close()
                raise AssertionError(f"another Plimsoll serves this cluster at {url}; end it first")
            # One that was killed has left it, and a run at other ports would not take it over.
            cluster.kubectl("delete", "mutatingwebhookconfiguration", NAME)


def _await_ready(process: subprocess.Popen[bytes], state: Path) -> None:
    deadline_s = time.monotonic() + READY_WITHIN_S
    while not (state / "ready.json").exists():
        assert process.poll() is None, f"it ended with {process.returncode}; {_last_words(state)}"
        assert time.monotonic() < deadline_s, f"not ready in time; {_last_words(state)}"
        time.sleep(0.1)


def _last_words(state: Path) -> str:
    """The last lines of all logs: where CI ran, nobody finds the logs themselves afterwards."""
    return "".join(
        f"\n{log.name}: {line}"
        for log in sorted(state.glob("*.log"))
        for line in log.read_text(errors="replace").splitlines()[-5:]
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGCONT)
    end(process, END_WITHIN_S)
