"""An API server with a few objects, as far as Helm's ``lookup`` needs one."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

Objects = Mapping[str, Sequence[Mapping[str, Any]]]
"""Objects by their kind."""

KINDS: Final = {
    "Namespace": ("/api/v1", "namespaces", False),
    "PersistentVolume": ("/api/v1", "persistentvolumes", False),
    "PersistentVolumeClaim": ("/api/v1", "persistentvolumeclaims", True),
    "Secret": ("/api/v1", "secrets", True),
    "ClusterRole": ("/apis/rbac.authorization.k8s.io/v1", "clusterroles", False),
    "Job": ("/apis/batch/v1", "jobs", True),
    "StorageClass": ("/apis/storage.k8s.io/v1", "storageclasses", False),
    "MutatingWebhookConfiguration": (
        "/apis/admissionregistration.k8s.io/v1",
        "mutatingwebhookconfigurations",
        False,
    ),
}
"""Kind -> the path of its group, its plural, whether it is in a namespace."""


@contextlib.contextmanager
def a_cluster_with(
    folder: Path,
    objects: Objects,
    unlisted: Collection[str] = (),
    forbidden_within: Collection[str] = (),
) -> Iterator[Path]:
    """Serve the objects; the kubeconfig that names the server.

    unlisted: the kinds that its user may not list.
    forbidden_within: the namespaces that its user may not read, nor anything of v1 in them.
    """
    kinds = {"{}/{}".format(*KINDS[kind]) for kind in unlisted}

    def is_forbidden(path: str) -> bool:
        return path in kinds or any(
            f"/api/v1/namespaces/{each}/" in f"{path}/" for each in forbidden_within
        )

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            refused = is_forbidden(path)
            document = None if refused else _answer(path, objects)
            status, reason = (403, "Forbidden") if refused else (404, "NotFound")
            if document is not None:
                status = 200
            body = json.dumps(document or _failure(status, reason)).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield _kubeconfig(folder, f"http://127.0.0.1:{server.server_port}")
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _answer(path: str, objects: Objects) -> dict[str, Any] | None:
    for kind, (group, plural, namespaced) in KINDS.items():
        version = group.removeprefix("/apis/").removeprefix("/api/")
        own = list(objects.get(kind, ()))
        if path == group:
            return _resources(group, version)
        if path == f"{group}/{plural}":
            return {"apiVersion": version, "kind": f"{kind}List", "metadata": {}, "items": own}
        for each in own:
            meta = each["metadata"]
            within = f"/namespaces/{meta['namespace']}" if namespaced else ""
            if path == f"{group}{within}/{plural}/{meta['name']}":
                return {"apiVersion": version, "kind": kind, **each}
    return None


def _resources(group: str, version: str) -> dict[str, Any]:
    found = [
        {"name": plural, "kind": kind, "namespaced": namespaced, "verbs": ["get", "list"]}
        for kind, (of, plural, namespaced) in KINDS.items()
        if of == group
    ]
    return {"kind": "APIResourceList", "groupVersion": version, "resources": found}


def _failure(code: int, reason: str) -> dict[str, Any]:
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure"}
    return {**status, "reason": reason, "code": code}


def _kubeconfig(folder: Path, url: str) -> Path:
    file = folder / "kubeconfig"
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "it", "cluster": {"server": url}}],
        "users": [{"name": "it", "user": {}}],
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
        "current-context": "it",
    }
    file.write_text(json.dumps(config))
    return file
