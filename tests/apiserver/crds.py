"""The project's CRDs on the real API server, and a namespace to try them in."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from tests.conftest import Cluster

CRDS = Path(__file__).parents[2] / "deploy" / "crds"


def install_crds(cluster: Cluster) -> None:
    """Apply both and wait until they are served."""
    cluster.kubectl("apply", "-f", str(CRDS))
    cluster.kubectl("wait", "--for=condition=Established", "--timeout=30s", "-f", str(CRDS))


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
