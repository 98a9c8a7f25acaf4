"""A real Airflow beside the cluster: its scheduler, triggerer and API, with tasks as processes.

``airflow standalone`` starts it, on a database of its own. Its tasks use the KubernetesPodOperator,
so pods of the cluster do the work.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

from tests.rigs.processes.run_remains import end_marked
from tests.rigs.servers.locked_environments import environment_of
from tests.rigs.servers.ports import free_port

READY_WITHIN_S = 240.0
ENDS_WITHIN_S = 420.0
PARALLEL = 5
"""Tasks that run beside each other: each is a process that mostly waits for its pod."""
_ENDED = ("success", "failed")


@dataclass(frozen=True, slots=True)
class Try:
    """One try of a task instance, as Airflow reports it."""

    task: str
    map_index: int
    number: int
    state: str


@dataclass(frozen=True, slots=True)
class Airflow:
    """A running Airflow, asked as people's tools ask it. home: with its logs and database."""

    address: str
    home: Path

    @property
    def database(self) -> str:
        """The address of its metadata database."""
        return f"sqlite:///{self.home}/airflow.db"

    def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Ask its REST API, and repeat while its SQLite database is busy."""
        until_s = time.monotonic() + READY_WITHIN_S
        while True:
            try:
                return self._ask_once(method, path, body)
            except urllib.error.HTTPError as error:
                if error.code != HTTPStatus.INTERNAL_SERVER_ERROR or time.monotonic() > until_s:
                    raise
                time.sleep(1)

    def _ask_once(self, method: str, path: str, body: Mapping[str, Any] | None) -> Any:
        """Ask an Airflow where everybody is an administrator."""
        request = urllib.request.Request(
            f"{self.address}/api/v2/{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Content-Type": "application/json",
                "Authorization": f"Bearer {self._token()}",
            },
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def _token(self) -> str:
        with urllib.request.urlopen(f"{self.address}/auth/token", timeout=60) as answer:
            return str(json.load(answer)["access_token"])

    def unpause(self, dag: str) -> None:
        """Let a DAG run, once it is known."""
        until_s = time.monotonic() + READY_WITHIN_S
        while True:
            try:
                self.ask("PATCH", f"dags/{dag}", {"is_paused": False})
            except urllib.error.HTTPError as error:
                if error.code != HTTPStatus.NOT_FOUND or time.monotonic() > until_s:
                    raise
                time.sleep(0.5)
            else:
                return

    def start(self, dag: str, run: str) -> None:
        """Start a run of a DAG, once it is known."""
        until_s = time.monotonic() + READY_WITHIN_S
        body = {"dag_run_id": run, "logical_date": None}
        while True:
            try:
                self.ask("PATCH", f"dags/{dag}", {"is_paused": False})
                self.ask("POST", f"dags/{dag}/dagRuns", body)
            except urllib.error.HTTPError as error:
                if error.code == HTTPStatus.CONFLICT:
                    return  # it was asked for twice, see ``ask``
                # The DAG processor has not read the file yet.
                if error.code != HTTPStatus.NOT_FOUND or time.monotonic() > until_s:
                    raise AssertionError(f"{dag}: {error.read().decode()}") from error
                time.sleep(0.5)
            else:
                return

    def ended(self, dag: str, run: str) -> str:
        """Wait for the run's end; return its state."""
        until_s = time.monotonic() + ENDS_WITHIN_S
        while True:
            state = str(self.ask("GET", f"dags/{dag}/dagRuns/{run}")["state"])
            if state in _ENDED:
                return state
            assert time.monotonic() < until_s, f"{dag} {run} is {state}; logs are in {self.home}"
            time.sleep(1)

    def tries(self, dag: str, run: str) -> list[Try]:
        """All tries of all task instances of a run."""
        found = self.ask("GET", f"dags/{dag}/dagRuns/{run}/taskInstances?limit=100")
        tries = []
        for each in found["task_instances"]:
            path = f"dags/{dag}/dagRuns/{run}/taskInstances/{each['task_id']}"
            if each["map_index"] >= 0:
                path += f"/{each['map_index']}"
            for one in self.ask("GET", f"{path}/tries")["task_instances"]:
                tries.append(
                    Try(one["task_id"], one["map_index"], one["try_number"], str(one["state"]))
                )
        return sorted(tries, key=lambda one: (one.task, one.map_index, one.number))


@contextmanager
def serving(home: Path, dags: Path, settings: Mapping[str, str]) -> Iterator[Airflow]:
    """``airflow standalone`` in this network, ended with all that it started.

    home: an empty folder for it. dags: the folder of its DAGs.
    settings: of its environment.
    """
    environment = environment_of("airflow")
    port, mark = free_port(), f"PLIMSOLL_AIRFLOW_{secrets.token_hex(4)}"
    address = f"http://127.0.0.1:{port}"
    variables = {
        **{name: value for name, value in os.environ.items() if name[:6] != "PYTHON"},
        **_settings(home, dags, port, address),
        **settings,
        "PATH": f"{environment / 'bin'}:{os.environ['PATH']}",
        mark: "1",
    }
    with (home / "airflow.log").open("wb") as log:
        process = subprocess.Popen(
            [str(environment / "bin" / "airflow"), "standalone"],
            cwd=home,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        airflow = Airflow(address, home)
        _await_ready(airflow, process)
        yield airflow
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        # Some are in groups of their own and have the mark; others overwrite it with their title.
        end_marked(mark)
        process.wait()


def _settings(home: Path, dags: Path, port: int, address: str) -> dict[str, str]:
    sections = {
        "CORE__DAGS_FOLDER": str(dags),
        "CORE__EXECUTOR": "LocalExecutor",
        "CORE__LOAD_EXAMPLES": "false",
        "CORE__PARALLELISM": str(PARALLEL),
        "CORE__MAX_ACTIVE_TASKS_PER_DAG": str(PARALLEL),
        "CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "true",
        "CORE__EXECUTION_API_SERVER_URL": f"{address}/execution/",
        "API__HOST": "127.0.0.1",
        "API__PORT": str(port),
        "API__BASE_URL": address,
        "API__WORKERS": "1",
        "API_AUTH__JWT_SECRET": secrets.token_hex(32),
        "DAG_PROCESSOR__REFRESH_INTERVAL": "5",
        "SCHEDULER__SCHEDULER_HEARTBEAT_SEC": "1",
        "LOGGING__WORKER_LOG_SERVER_PORT": str(free_port()),
        "LOGGING__TRIGGER_LOG_SERVER_PORT": str(free_port()),
        "USAGE_DATA_COLLECTION__ENABLED": "false",
    }
    return {
        "AIRFLOW_HOME": str(home),
        **{f"AIRFLOW__{name}": value for name, value in sections.items()},
    }


def _await_ready(airflow: Airflow, process: subprocess.Popen[bytes]) -> None:
    until_s = time.monotonic() + READY_WITHIN_S
    wanted = ("metadatabase", "scheduler", "triggerer", "dag_processor")
    while True:
        log = airflow.home / "airflow.log"
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < until_s, log.read_text()
        try:
            health = airflow.ask("GET", "monitor/health")
            if all(health[part]["status"] == "healthy" for part in wanted):
                return
        except OSError:
            pass
        time.sleep(0.5)
