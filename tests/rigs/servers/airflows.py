"""A small server that speaks the few routes of Airflow's REST API that a campaign calls.

tests/airflow asks a real Airflow the same. This one does on demand what a real one does not: it is
away, refuses, or forgets a token.
"""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

USER, PASSWORD = "me", "a secret"


def _succeeds(_: Mapping[str, Any]) -> str:
    return "success"


@dataclass
class SmallAirflow:
    """What the server knows. Its runs end when they are looked at for the ``looks``-th time.

    ends: how a run of a configuration ends. refuses: the status and body for a configuration that
        is refused. page: the most runs of one answer. faults: statuses of the next answers. hears:
        called first with each call.
    """

    ends: Callable[[Mapping[str, Any]], str] = _succeeds
    refuses: Callable[[Mapping[str, Any]], tuple[int, Any] | None] = lambda _: None
    hears: Callable[[web.Request], None] = lambda _: None
    looks: int = 1
    paused: bool = False
    page: int = 100
    knows_patterns: bool = True
    faults: list[int] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)
    runs: dict[str, dict[str, Any]] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    most_going: int = 0
    address: str = ""

    @property
    def confs(self) -> list[Any]:
        return [run["conf"] for run in self.runs.values()]

    def routes(self) -> list[web.RouteDef]:
        return [
            web.post("/auth/token", self._token),
            web.get("/api/v2/version", self._version),
            web.get("/api/v2/dags/{dag}", self._dag),
            web.post("/api/v2/dags/{dag}/dagRuns", self._trigger),
            web.get("/api/v2/dags/{dag}/dagRuns", self._runs),
            web.get("/api/v2/dags/{dag}/dagRuns/{run}", self._run),
        ]

    @web.middleware
    async def guarded(self, request: web.Request, handler: Any) -> web.StreamResponse:
        if request.match_info.http_exception is not None:
            return _refusal(404, "Not Found")
        self.hears(request)
        self.asked[f"{request.method} {request.match_info.handler.__name__}"] += 1
        if self.faults:
            return _refusal(self.faults.pop(0), "not now")
        open_to_all = request.path in ("/auth/token", "/api/v2/version")
        shown = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if not open_to_all and shown not in self.tokens:
            return _refusal(401, "Invalid JWT token")
        answer: web.StreamResponse = await handler(request)
        return answer

    async def _token(self, request: web.Request) -> web.Response:
        body = await request.json()
        if body != {"username": USER, "password": PASSWORD}:
            return _refusal(401, "Invalid credentials")
        self.tokens.append(f"token-{len(self.tokens)}")
        return web.json_response({"access_token": self.tokens[-1]}, status=201)

    async def _version(self, _: web.Request) -> web.Response:
        return web.json_response({"version": "3.0.0", "git_version": None})

    async def _dag(self, request: web.Request) -> web.Response:
        dag = request.match_info["dag"]
        if dag == "secret":
            return _refusal(403, "Forbidden")
        if dag != "nightly":
            return _refusal(404, f"The Dag with ID: `{dag}` was not found")
        return web.json_response({"dag_id": dag, "is_paused": self.paused})

    async def _trigger(self, request: web.Request) -> web.Response:
        body = await request.json()
        refusal = self.refuses(body["conf"])
        if refusal is not None:
            return _refusal(*refusal)
        if body["dag_run_id"] in self.runs:
            return _refusal(409, {"reason": "Unique constraint violation"})
        self.runs[body["dag_run_id"]] = {**body, "state": "queued", "looks": 0}
        going = sum(run["state"] in ("queued", "running") for run in self.runs.values())
        self.most_going = max(self.most_going, going)
        return web.json_response({"dag_run_id": body["dag_run_id"], "state": "queued"})

    async def _runs(self, request: web.Request) -> web.Response:
        """A page as Airflow makes it: at most ``page`` runs, whatever the client asks for."""
        asked = request.query
        part = asked["run_id_pattern"].strip("%").lower() if self.knows_patterns else ""
        found = [run for run_id, run in self.runs.items() if part in run_id.lower()]
        begin, limit = int(asked["offset"]), min(int(asked["limit"]), self.page)
        page = [
            {"dag_run_id": run["dag_run_id"], "state": run["state"], "conf": run["conf"]}
            for run in found[begin : begin + limit]
        ]
        return web.json_response({"dag_runs": page, "total_entries": len(found)})

    async def _run(self, request: web.Request) -> web.Response:
        run = self.runs.get(request.match_info["run"])
        if run is None:
            return _refusal(404, "The DagRun was not found")
        run["looks"] += 1
        if run["state"] in ("queued", "running"):
            run["state"] = "running" if run["looks"] < self.looks else self.ends(run["conf"])
        return web.json_response({"dag_run_id": run["dag_run_id"], "state": run["state"]})


def _refusal(status: int, detail: object) -> web.Response:
    return web.json_response({"detail": detail}, status=status)


@contextmanager
def served(airflow: SmallAirflow, tls: ssl.SSLContext | None = None) -> Iterator[SmallAirflow]:
    """Serve it on loopback, in a thread of its own: a command has an event loop of its own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def start() -> web.AppRunner:
        application = web.Application(middlewares=[airflow.guarded])
        application.add_routes(airflow.routes())
        runner = web.AppRunner(application, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
        return runner

    runner = None
    try:
        runner = asyncio.run_coroutine_threadsafe(start(), loop).result()
        scheme = "http" if tls is None else "https"
        airflow.address = f"{scheme}://127.0.0.1:{runner.addresses[0][1]}"
        yield airflow
    finally:
        if runner is not None:
            asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
