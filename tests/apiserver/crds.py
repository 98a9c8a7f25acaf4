"""The project's CRDs on the real API server, and a namespace to try them in."""

from __future__ import annotations

import http.client
import json
import ssl
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from tests.apiserver.controllers import PATIENCE_S
from tests.conftest import Cluster

PLURALS = {
    "TaskProfile": "taskprofiles",
    "SizingPolicy": "sizingpolicies",
    "ProfilingCampaign": "profilingcampaigns",
}
CRDS = Path(__file__).parents[2] / "deploy" / "crds"


def install_crds(cluster: Cluster) -> None:
    """Apply both and wait until they are served."""
    cluster.kubectl("apply", "-f", str(CRDS))
    await_kinds(cluster, "-f", str(CRDS))


def await_kinds(cluster: Cluster, *which: str) -> None:
    """Wait until definitions are served. which: as ``kubectl get`` takes them."""
    # `kubectl wait` fails on a definition that has no condition yet.
    give_up_s = time.monotonic() + PATIENCE_S
    while not all(map(_is_served, _all(cluster.get(*which)))):
        assert time.monotonic() < give_up_s, f"not served: {' '.join(which)}"
        time.sleep(0.2)


def _all(found: dict[str, Any]) -> list[dict[str, Any]]:
    return list(found.get("items", [found]))


def _is_served(definition: Mapping[str, Any]) -> bool:
    conditions = definition.get("status", {}).get("conditions") or []
    return ("Established", "True") in {(each["type"], each["status"]) for each in conditions}


@contextmanager
def a_namespace(cluster: Cluster) -> Iterator[str]:
    """A namespace of its own, gone afterwards."""
    name = f"crds-{uuid4().hex[:8]}"
    assert _refused(cluster, "POST", "/api/v1/namespaces", {"metadata": {"name": name}}) == ""
    try:
        yield name
    finally:
        assert _refused(cluster, "DELETE", f"/api/v1/namespaces/{name}", {}) == ""


def answer(cluster: Cluster, manifest: Mapping[str, Any], *words: str) -> str:
    """The API server's answer to a manifest: its refusal, or what kubectl prints on success."""
    done = subprocess.run(
        cluster.handle.kubectl(*words, "-f", "-"),
        input=json.dumps(manifest),
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stderr if done.returncode else done.stdout


def refusal(cluster: Cluster, manifest: Mapping[str, Any]) -> str:
    """Why the API server would not create it, in its words; empty if it would.

    The same request as ``kubectl create --dry-run=server``, which takes a tenth of a second of a
    processor each time, because it first asks for all kinds.
    """
    group, namespace = manifest["apiVersion"], manifest["metadata"]["namespace"]
    path = f"/apis/{group}/namespaces/{namespace}/{PLURALS[manifest['kind']]}"
    return _refused(cluster, "POST", f"{path}?dryRun=All&fieldValidation=Strict", manifest)


def _refused(cluster: Cluster, method: str, path: str, body: Mapping[str, Any]) -> str:
    """Send an administrator's request; why it is refused, empty if it is not."""
    try:
        answer_to(cluster, method, path, body)
    except urllib.error.HTTPError as error:
        with error:
            return str(json.load(error)["message"])
    return ""


def answer_to(cluster: Cluster, method: str, path: str, body: Mapping[str, Any]) -> Any:
    """What the API server answers an administrator.

    Raises:
        HTTPError: if it refuses.

    """
    with _sent(cluster, method, path, json.dumps(body).encode()) as said:
        return json.load(said)


def read_at(cluster: Cluster, path: str, **query: str) -> str:
    """What the API server serves an administrator at a path; its refusal fails the test.

    The same as ``kubectl get --raw``, which takes a tenth of a second of a processor each time.
    """
    try:
        with _sent(cluster, "GET", f"{path}?{urllib.parse.urlencode(query)}", None) as said:
            text: str = said.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            raise AssertionError(f"GET {path}: {error.read().decode()}") from None
    except (OSError, http.client.HTTPException) as error:
        raise AssertionError(f"GET {path}: {error}") from None
    return text


def _sent(cluster: Cluster, method: str, path: str, body: bytes | None) -> Any:
    config = json.loads(cluster.kubeconfig.read_text())
    of_cluster, of_user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    asking = urllib.request.Request(
        of_cluster["server"] + path,
        body,
        {"Authorization": f"Bearer {of_user['token']}", "Content-Type": "application/json"},
        method=method,
    )
    trusting = ssl.create_default_context(cafile=of_cluster["certificate-authority"])
    return urllib.request.urlopen(asking, context=trusting)


KINDS = ("TaskProfile", "SizingPolicy")
API = "plimsoll.dev/v1alpha1"


def manifest(kind: str, namespace: str, spec: dict[str, Any] | None, name: str = "t") -> Any:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": API, "kind": kind, "metadata": metadata, "spec": spec}


def write_status(cluster: Cluster, namespace: str, plural: str, name: str, new: Any) -> Any:
    words = ("-n", namespace, "--subresource=status", "--type=merge", "-p")
    cluster.kubectl("patch", plural, name, *words, json.dumps({"status": new}))
    return cluster.get(plural, name, "-n", namespace)["status"]
