"""The project's CRDs on the real API server, and a namespace to try them in."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from tests.apiserver.controllers import PATIENCE_S
from tests.conftest import Cluster

CRDS = Path(__file__).parents[2] / "deploy" / "crds"


def install_crds(cluster: Cluster) -> None:
    """Apply both and wait until they are served."""
    cluster.kubectl("apply", "-f", str(CRDS))
    await_kinds(cluster, "-f", str(CRDS))


def await_kinds(cluster: Cluster, *which: str) -> None:
    """Wait until definitions are served. which: as ``kubectl get`` takes them."""
    # `kubectl wait` takes a definition that has no condition yet for a broken one.
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
    cluster.kubectl("create", "namespace", name)
    try:
        yield name
    finally:
        cluster.kubectl("delete", "namespace", name, "--wait=false")


def answer(cluster: Cluster, manifest: Mapping[str, Any], *words: str) -> str:
    """What the API server says to a manifest: its refusal, or what kubectl prints of success."""
    done = subprocess.run(
        cluster.handle.kubectl(*words, "-f", "-"),
        input=json.dumps(manifest),
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stderr if done.returncode else done.stdout
