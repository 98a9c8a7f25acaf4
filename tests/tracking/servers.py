"""A real MLflow server, from its package, with a gate in front that can be shut."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import ClientSession, web

from tests.rigs.servers.locked_environments import environment_of
from tests.rigs.servers.ports import free_port
from tests.rigs.servers.serving import serving as serving_app

STARTED_WITHIN_S = 300


@dataclass(frozen=True, slots=True)
class Mlflow:
    """A running server, asked as people's tools ask it."""

    address: str
    process: subprocess.Popen[bytes]
    log_file: Path

    def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        request = urllib.request.Request(
            f"{self.address}/{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def experiment(self, name: str) -> Mapping[str, Any]:
        path = f"api/2.0/mlflow/experiments/get-by-name?experiment_name={name}"
        found: Mapping[str, Any] = self.ask("GET", path)["experiment"]
        return found

    def make_experiment(self, name: str, artifact_location: str | None = None) -> str:
        body = {"name": name, "artifact_location": artifact_location or ""}
        made = self.ask("POST", "api/2.0/mlflow/experiments/create", body)
        return str(made["experiment_id"])

    def runs(self, experiment: str) -> list[Mapping[str, Any]]:
        """Its runs, oldest first."""
        body = {
            "experiment_ids": [self.experiment(experiment)["experiment_id"]],
            "order_by": ["attributes.start_time ASC"],
        }
        runs: list[Mapping[str, Any]] = self.ask("POST", "api/2.0/mlflow/runs/search", body).get(
            "runs", []
        )
        return runs

    def history(self, run_id: str, metric: str) -> dict[int, float]:
        """Step -> value."""
        path = f"api/2.0/mlflow/metrics/get-history?run_id={run_id}&metric_key={metric}"
        return {each["step"]: each["value"] for each in self.ask("GET", path)["metrics"]}

    def artifact(self, run_id: str, name: str) -> Any:
        return self.ask("GET", f"get-artifact?run_id={run_id}&path={name}")

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Stop all its processes: it takes connections and answers nothing."""
        os.killpg(self.process.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.killpg(self.process.pid, signal.SIGCONT)


@contextmanager
def serving(folder: Path) -> Iterator[Mlflow]:
    """`mlflow server` over SQLite, which stores artifacts itself."""
    port = free_port()
    log_file = folder / "server.log"
    environment = {
        **{name: value for name, value in os.environ.items() if name[:6] != "PYTHON"},
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
        "MLFLOW_DISABLE_TELEMETRY": "true",
    }
    with log_file.open("wb") as log:
        process = subprocess.Popen(
            [
                *(str(environment_of("mlflow") / "bin" / "mlflow"), "server", "--workers", "1"),
                *("--backend-store-uri", f"sqlite:///{folder}/mlflow.db"),
                *("--serve-artifacts", "--artifacts-destination", str(folder / "artifacts")),
                *("--host", "127.0.0.1", "--port", str(port)),
            ],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    server = Mlflow(f"http://127.0.0.1:{port}", process, log_file)
    try:
        _await_health(server)
        yield server
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _await_health(server: Mlflow) -> None:
    until_s = time.monotonic() + STARTED_WITHIN_S
    while True:
        assert server.process.poll() is None, server.log_file.read_text()
        assert time.monotonic() < until_s, server.log_file.read_text()
        try:
            with urllib.request.urlopen(f"{server.address}/health", timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)


class Gate:
    """Stands in front of the server like a company's proxy, and asks for credentials.

    authorization: the required header; None lets everybody in.
    """

    def __init__(self, server: Mlflow, authorization: str | None = None) -> None:
        self.port = free_port()
        self.asked = 0
        self._server = server
        self._authorization = authorization
        self._open = AsyncExitStack()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def open(self) -> None:
        app = web.Application(client_max_size=1 << 24)
        app.router.add_route("*", "/{path:.*}", self._pass)
        await self._open.enter_async_context(serving_app(app, self.port))

    async def shut(self) -> None:
        await self._open.aclose()

    async def _pass(self, request: web.Request) -> web.Response:
        self.asked += 1
        given = request.headers.get("Authorization")
        if self._authorization is not None and given != self._authorization:
            return web.Response(status=401, text="who are you?")
        headers = {"Content-Type": request.headers.get("Content-Type", "")}
        async with (
            ClientSession() as session,
            session.request(
                request.method,
                f"{self._server.address}{request.rel_url}",
                data=await request.read(),
                headers=headers,
            ) as answer,
        ):
            return web.Response(
                status=answer.status, body=await answer.read(), content_type="application/json"
            )
