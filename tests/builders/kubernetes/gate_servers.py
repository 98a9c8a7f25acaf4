"""An HTTP server that keeps a Lease, pods with gates and Jobs, and patches them as the API server.

It tests what Plimsoll does with the answers. Whether the API server answers like this is tested on
a real one, in tests/apiserver/commands/test_released_pods.py and tests/ha/turns/test_turns.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import Any

import jsonpatch
from aiohttp import web

from plimsoll_operator.names import labels
from tests.builders.pods import APod, a_pod
from tests.rigs.servers.serving import answering, serving

Pod = dict[str, Any]


@dataclass(slots=True)
class GateServer:
    """pods, jobs: by name. lease: None is no Lease. permitted: whether they may be patched.

    webhooks: configurations by name.
    forbidden: resources that may neither be listed nor patched. classes: PriorityClasses.
    lists: whether it lists pods. hosts_refused, gates_refused: whether a rule refuses names of
    hosts in a pod, or that a gate goes.
    failing: namespaces whose pods cannot be patched, as one of their webhooks is down.
    together: if there is one, calls for pods of failing namespaces are answered when so many wait.
    delayed_s: how long a patch of each of these namespaces takes, as one of its webhooks is slow.
    keeping: namespaces in which a rule refuses that a gate goes.
    broken: the status of all answers, if they are errors. silent: whether calls are never answered.
    now_s: of its clock. meddle: how many times somebody else changes a pod between a look at it and
        its patch. meddles_with: the name of the only such pod; "" for any.
    """

    url: str = ""
    pods: dict[str, Pod] = field(default_factory=dict)
    jobs: dict[str, Pod] = field(default_factory=dict)
    webhooks: dict[str, Pod] = field(default_factory=dict)
    classes: list[Pod] = field(default_factory=list)
    forbidden: set[str] = field(default_factory=set)
    lease: Pod | None = None
    permitted: bool = True
    lists: bool = True
    hosts_refused: bool = False
    gates_refused: bool = False
    failing: set[str] = field(default_factory=set)
    together: asyncio.Barrier | None = None
    delayed_s: dict[str, float] = field(default_factory=dict)
    keeping: set[str] = field(default_factory=set)
    broken: int | None = None
    silent: bool = False
    now_s: float = 0.0
    meddle: int = 0
    meddles_with: str = ""
    patched: list[str] = field(default_factory=list)
    listed: list[str] = field(default_factory=list)
    """Paths of requested lists, with or without the right to them."""
    refused: list[str] = field(default_factory=list)
    """Paths of lists that were requested without the right to them."""

    def has(self, pod: APod, created: str = "2026-11-23T12:00:00Z") -> Pod:
        """Keep a pod, and replace one of the same name."""
        built = pod.built()
        built["metadata"].update(resourceVersion="1", creationTimestamp=created)
        built.setdefault("status", {}).setdefault("phase", "Pending")
        self.pods[built["metadata"]["name"]] = built
        return built

    def has_job(self, job: Pod, created: str = "2026-11-23T12:00:00Z") -> Pod:
        """Keep a Job, and replace one of the same name."""
        name = job["metadata"]["name"]
        job["metadata"].update(uid=f"uid-{name}", resourceVersion="1", creationTimestamp=created)
        self.jobs[name] = job
        return job

    @property
    def suspended(self) -> set[str]:
        """The suspended Jobs, whoever suspended them."""
        return {name for name, job in self.jobs.items() if job["spec"].get("suspend")}

    def renew(self, holder: str = "controller-1") -> None:
        """Write the Lease as a leader does."""
        version = 1 if self.lease is None else int(self.lease["metadata"]["resourceVersion"]) + 1
        self.lease = {
            "metadata": {"resourceVersion": str(version)},
            "spec": {"holderIdentity": holder},
        }

    @property
    def held(self) -> set[str]:
        """The pods with Plimsoll's gate."""
        return {
            name
            for name, pod in self.pods.items()
            if {"name": labels.ORDER_GATE} in pod["spec"].get("schedulingGates", [])
        }

    async def answer(self, request: web.Request) -> web.Response:
        """Answer one call."""
        headers = {"Date": formatdate(self.now_s, usegmt=True)}
        if self.silent:
            await asyncio.Event().wait()
        if self.broken is not None:
            return web.json_response({"message": "broken"}, status=self.broken, headers=headers)
        body = await request.json() if request.can_read_body else None
        if self.together is not None and any(f"/{each}/" in request.path for each in self.failing):
            await self.together.wait()
        for namespace, seconds in self.delayed_s.items():
            if request.method == "PATCH" and f"/{namespace}/" in request.path:
                await asyncio.sleep(seconds)
        if "/mutatingwebhookconfigurations/" in request.path:
            status, document = self._webhook(request.method, request.path.rpartition("/")[2])
        else:
            status, document = self._answered(request, body)
        return web.json_response(document, status=status, headers=headers)

    def _answered(self, request: web.Request, body: Any) -> tuple[int, Any]:
        path = request.path
        if "/leases/" in path:
            return (404, {}) if self.lease is None else (200, self.lease)
        if path.endswith("/selfsubjectaccessreviews"):
            resource = body["spec"]["resourceAttributes"]["resource"]
            allowed = self.permitted and resource not in self.forbidden
            return 201, {"status": {"allowed": allowed}}
        kept = self.jobs if "/batch/" in path else self.pods
        if path in ("/api/v1/pods", "/apis/batch/v1/jobs"):
            self.listed.append(path)
            if not self.lists or path.rpartition("/")[2] in self.forbidden:
                self.refused.append(path)
                return 403, {"message": "forbidden"}
            return 200, {"items": [each for each in kept.values() if _is_asked(each, request)]}
        if path.endswith("/priorityclasses"):
            return 200, {"items": self.classes}
        pod = kept.get(path.rpartition("/")[2])
        if pod is None:
            return 404, {}
        if request.method == "GET":
            return 200, pod
        return self._patch(pod, body, tried="dryRun" in request.query)

    def _webhook(self, method: str, name: str) -> tuple[int, Any]:
        if name not in self.webhooks:
            return 404, {}
        return 200, self.webhooks.pop(name) if method == "DELETE" else self.webhooks[name]

    def _patch(self, pod: Pod, body: Any, *, tried: bool) -> tuple[int, Any]:
        if (
            not self.permitted
            or self.gates_refused
            or pod["metadata"].get("namespace") in self.keeping
            or (self.hosts_refused and "hostname" in str(body))
        ):
            return 403, {"message": "forbidden"}
        meta = pod["metadata"]
        if meta.get("namespace") in self.failing:
            return 500, {"message": "failed calling webhook"}
        if self.meddle and self.meddles_with in ("", meta["name"]):
            self.meddle -= 1
            meta["resourceVersion"] += "1"
        if isinstance(body, list):
            try:
                pod = jsonpatch.apply_patch(pod, body)
            except jsonpatch.JsonPatchException:
                return 422, {"message": "the test failed"}
        else:
            if body["metadata"]["resourceVersion"] != meta["resourceVersion"]:
                return 409, {"reason": "Conflict"}
            pod = _merged(pod, body)
        if tried:
            return 200, pod
        pod["metadata"]["resourceVersion"] += "1"
        (self.jobs if "template" in pod["spec"] else self.pods)[meta["name"]] = pod
        self.patched.append(meta["name"])
        return 200, pod


def _is_asked(pod: Pod, request: web.Request) -> bool:
    fields, selected = (request.query.get(f"{kind}Selector", "") for kind in ("field", "label"))
    if "spec.nodeName=" in fields and pod["spec"].get("nodeName"):
        return False
    if "status.phase!=Succeeded" in fields and pod["status"]["phase"] == "Succeeded":
        return False
    its = pod["metadata"].get("labels", {})
    if selected == f"{labels.WAITS}=true":
        return bool(its.get(labels.WAITS) == "true")
    return selected != f"!{labels.TASK}" or labels.TASK not in its


def a_job(
    name: str,
    *,
    labels: Mapping[str, str] | None = None,
    pod: APod | None = None,
    **spec: Any,
) -> Pod:
    """A Job of pods like this one. labels: the Job's own."""
    made = (pod or a_pod().labelled("train")).restarting("Never").built()
    its = {
        key: made["metadata"][key] for key in ("labels", "annotations") if key in made["metadata"]
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "shop", "labels": dict(labels or {})},
        "spec": {"template": {"metadata": its, "spec": made["spec"]}, **spec},
    }


def _merged(document: Any, patch: Any) -> Any:
    """JSON Merge Patch (RFC 7396)."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(document) if isinstance(document, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = _merged(merged.get(key), value)
    return merged


@asynccontextmanager
async def a_gate_server() -> AsyncIterator[GateServer]:
    """Listening on a port of this machine."""
    server = GateServer()
    app = answering(server.answer)
    async with serving(app, handler_cancellation=True) as server.url:
        yield server
