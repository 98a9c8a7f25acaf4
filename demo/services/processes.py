"""Plimsoll as processes of this machine: `plimsoll import`, `run` and `report`, as people would."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from demo.cluster.place import ROOT, Place
from demo.services.asking import answered
from demo.services.service import TRAINING_BUDGET_S, ServiceError

from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import Store

PLIMSOLL: Final = (sys.executable, "-P", "-m", "plimsoll_operator")
STATE: Final = ROOT / ".local" / "demo"
LOG: Final = STATE / "run.log"
STORE: Final = f"sqlite:///{STATE}/plimsoll.db"
READY: Final = STATE / "ready.json"
READY_WITHIN_S: Final = 180.0
END_WITHIN_S: Final = 40.0


@dataclass(frozen=True, slots=True)
class Processes:
    """Controller, admission and agent, started together by `plimsoll run`."""

    place: Place

    @property
    def words(self) -> str:
        """What is started, for people."""
        return "controller, admission, agent"

    @property
    def logs(self) -> str:
        """Where to look if something is wrong."""
        return f"the logs in {STATE}"

    @property
    def afterwards(self) -> Sequence[str]:
        """What is left when the demo has ended."""
        return ("The cluster stays up for you to look around; Plimsoll itself has ended:",)

    @contextmanager
    def running(self, history: Path | None) -> Iterator[None]:
        """From ready to stopped; the webhook goes with them.

        Raises:
            ServiceError: if they are not ready in time.

        """
        _fresh_state()
        if history is not None:
            _plimsoll("import", str(history), "--store", STORE, "--strict")
        command = [*self.place.enter, *PLIMSOLL, "run", *_run_arguments(self.place)]
        with LOG.open("ab") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, cwd=ROOT)
        try:
            _await_ready(process)
            yield
        finally:
            _end(process)

    def answer(self, *arguments: str) -> Sequence[str]:
        """The output of `plimsoll` with these arguments, line by line."""
        return answered([*PLIMSOLL, *arguments, "--store", STORE])

    def write_report(self, out: Path) -> None:
        """Write the report page as one file."""
        _plimsoll("report", "--store", STORE, "--out", str(out))

    def measured_peaks(self, tasks: Iterable[str]) -> Mapping[str, int]:
        """Pod UID -> peak in bytes, of all attempts of these tasks that were measured."""
        store = Store.open(STORE)
        try:
            found = [
                each for task in tasks for each in store.observations.of_task(TaskId.parse(task))
            ]
        finally:
            store.close()
        return {e.attempt_uid: e.peak_bytes for e in found if e.peak_bytes is not None}


def _fresh_state() -> None:
    """Forget an earlier demo.

    Raises:
        ServiceError: if that demo still runs.

    """
    if READY.exists() and (pid := _pid_in(READY)) and Path(f"/proc/{pid}").exists():
        raise ServiceError(f"a demo's Plimsoll still runs (process {pid}); end it first")
    shutil.rmtree(STATE, ignore_errors=True)
    STATE.mkdir(parents=True)


def _pid_in(ready: Path) -> int | None:
    try:
        return int(json.loads(ready.read_text())["pid"])
    except (OSError, ValueError, KeyError):
        return None


def _plimsoll(*arguments: str) -> None:
    done = subprocess.run([*PLIMSOLL, *arguments], cwd=ROOT, check=False)
    if done.returncode != 0:
        raise ServiceError(f"`plimsoll {' '.join(arguments)}` ended with {done.returncode}")


def _run_arguments(place: Place) -> Sequence[str]:
    agent = ["--agent", "--node-name", place.node_name] if place.node_name else []
    budget = ["--training-budget", str(TRAINING_BUDGET_S)]
    return ["--state-dir", str(STATE), "--host", place.host, *place.flags, *budget, *agent]


def _await_ready(process: subprocess.Popen[bytes]) -> None:
    deadline_s = time.monotonic() + READY_WITHIN_S
    while not READY.exists():
        if process.poll() is not None or time.monotonic() > deadline_s:
            raise ServiceError(f"`plimsoll run` is not ready; see the logs in {STATE}")
        time.sleep(0.1)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(END_WITHIN_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
