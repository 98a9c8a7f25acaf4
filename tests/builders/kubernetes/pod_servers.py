"""An HTTP server that keeps pods as the API server does: names, UIDs, versions, preconditions.

It tests what Plimsoll does with the answers. Whether the API server answers like this is tested on
a real one, in tests/controller and tests/e2e.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.builders.pods import APod
from tests.rigs.servers.serving import serving

Pod = dict[str, Any]


@dataclass(slots=True)
class PodServer:
    """pods: by name, in one namespace. calls: the methods that changed something, and the names."""

    url: str = ""
    pods: dict[str, Pod] = field(default_factory=dict)
    calls: list[tuple[str, str]] = field(default_factory=list)
    meddle: int = 0
    """How many times somebody else changes a pod between Plimsoll's look and its patch."""
    deletes_failing: int = 0
    """How many of the next deletions are answered as by a busy API server."""
    reads: int = 0
    refuses: str = ""
    """Why no pod may be created, in the API server's words; "" if pods may be."""
    events: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By name; the API server forgets them after an hour."""

    def has(self, pod: APod) -> Pod:
        """Keep a pod, and replace one of the same name."""
        built = pod.built()
        built["metadata"].setdefault("resourceVersion", "1")
        self.pods[built["metadata"]["name"]] = built
        return built

    @property
    def created(self) -> list[str]:
        """Names of the pods that were created over HTTP, in order."""
        return [name for method, name in self.calls if method == "POST"]

    @property
    def deleted(self) -> list[str]:
        """Names of the pods that were deleted over HTTP, in order."""
        return [name for method, name in self.calls if method == "DELETE"]

    async def answer(self, request: web.Request) -> web.Response:
        """Answer one call of ``/api/v1/namespaces/<namespace>/pods[/<name>]``."""
        name = request.match_info.get("name", "")
        body = await request.json() if request.can_read_body else {}
        if request.method == "POST":
            return self._create(body)
        pod = self.pods.get(name)
        if pod is None:
            return _status(404, "NotFound")
        if request.method == "PATCH":
            return self._patch(pod, body)
        if request.method == "DELETE":
            if self.deletes_failing:
                self.deletes_failing -= 1
                return _status(503, "ServiceUnavailable")
            if body["preconditions"]["uid"] != pod["metadata"]["uid"]:
                return _status(409, "Conflict")
            self.calls.append(("DELETE", name))
            del self.pods[name]
        else:
            self.reads += 1
        return web.json_response(pod)

    async def answer_status(self, request: web.Request) -> web.Response:
        """Answer a patch of ``pods/<name>/status``: conditions are merged by their types."""
        pod = self.pods.get(request.match_info["name"])
        if pod is None:
            return _status(404, "NotFound")
        body = await request.json()
        if body["metadata"]["uid"] != pod["metadata"]["uid"]:
            return _status(409, "Conflict")
        status = pod.setdefault("status", {})
        merged = {each["type"]: each for each in status.get("conditions", [])}
        merged |= {each["type"]: each for each in body["status"]["conditions"]}
        status["conditions"] = list(merged.values())
        self.calls.append(("PATCH status", pod["metadata"]["name"]))
        return web.json_response(pod)

    async def answer_event(self, request: web.Request) -> web.Response:
        """Answer the creation of an Event."""
        body = await request.json()
        if body["metadata"]["name"] in self.events:
            return _status(409, "AlreadyExists")
        self.events[body["metadata"]["name"]] = body
        return web.json_response(body, status=201)

    def _create(self, body: Pod) -> web.Response:
        name = body["metadata"]["name"]
        if name in self.pods:
            return _status(409, "AlreadyExists")
        if self.refuses:
            return _status(403, "Forbidden", self.refuses)
        self.calls.append(("POST", name))
        self.pods[name] = body
        body["metadata"].update(uid=f"uid-{name}", resourceVersion="1")
        return web.json_response(body)

    def _patch(self, pod: Pod, body: Pod) -> web.Response:
        meta, patch = pod["metadata"], body["metadata"]
        if self.meddle:
            self.meddle -= 1
            meta["resourceVersion"] += "1"
        if meta["resourceVersion"] != patch["resourceVersion"]:
            return _status(409, "Conflict")
        meta["resourceVersion"] += "1"
        meta.setdefault("annotations", {}).update(patch["annotations"])
        self.calls.append(("PATCH", meta["name"]))
        return web.json_response(pod)


@asynccontextmanager
async def a_pod_server() -> AsyncIterator[PodServer]:
    """Listening on a port of this machine."""
    server, app = PodServer(), web.Application()
    app.router.add_route("*", "/api/v1/namespaces/{namespace}/pods", server.answer)
    app.router.add_route("*", "/api/v1/namespaces/{namespace}/pods/{name}", server.answer)
    path = "/api/v1/namespaces/{namespace}/pods/{name}/status"
    app.router.add_patch(path, server.answer_status)
    path = "/apis/events.k8s.io/v1/namespaces/{namespace}/events"
    app.router.add_post(path, server.answer_event)
    async with serving(app) as server.url:
        yield server


def _status(code: int, reason: str, message: str = "") -> web.Response:
    answer = {"kind": "Status", "code": code, "reason": reason, "message": message or reason}
    return web.json_response(answer, status=code)
