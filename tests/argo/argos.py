"""A real Argo Workflows: its controller beside the cluster, its executor in a step's pods.

``python -m tests.argo.argos`` builds both from Argo's Go module: a cluster's network has no way
out, so it is done before.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from deploy.local.binaries.tools import ARGO, module_of, tool
from deploy.local.images.archive import write_image
from deploy.local.images.on_node import load_image

from tests.apiserver.crds import await_kinds
from tests.conftest import Cluster
from tests.rigs.images.eater import a_spec

GROUP, VERSION, PLURAL = "argoproj.io", "v1alpha1", "workflows"
SETTINGS = "workflow-controller-configmap"
EXECUTOR = "localhost/argoexec:1"
END_WITHIN_S = 30.0
REPORTS = {
    "apiGroups": [GROUP],
    "resources": ["workflowtaskresults"],
    "verbs": ["create", "patch"],
}
"""Rights of the executor, which runs in a step's pod as the account ``default``."""


def install_argo(cluster: Cluster) -> None:
    """Put Argo's kinds into the cluster and its executor into the node."""
    kinds = _module() / "manifests" / "base" / "crds" / "minimal"
    for file in sorted(kinds.glob(f"{GROUP}_*.yaml")):
        cluster.kubectl("apply", "-f", str(file))
        await_kinds(cluster, "-f", str(file))
    with tempfile.TemporaryDirectory(prefix="plimsoll-argo-") as scratch:
        root = Path(scratch) / "root"
        (root / "bin").mkdir(parents=True)
        (root / "tmp").mkdir()
        shutil.copy2(_executor(), root / "bin" / "argoexec")
        write_image(root, EXECUTOR, ["/bin/argoexec"], Path(scratch) / "argoexec.tar")
        load_image(cluster.handle.layout, Path(scratch) / "argoexec.tar")


def let_in(cluster: Cluster, namespace: str) -> None:
    """Write what Argo needs in a namespace: its settings, and the right to report a step's end."""
    settings = {"metricsConfig": "enabled: false\n", "telemetryConfig": "enabled: false\n"}
    place = {"namespace": namespace}
    rbac = "rbac.authorization.k8s.io"
    subject = {"kind": "ServiceAccount", "name": "default", **place}
    for kind, version, name, body in (
        ("ConfigMap", "v1", SETTINGS, {"data": settings}),
        ("Role", f"{rbac}/v1", "executor", {"rules": [REPORTS]}),
        (
            "RoleBinding",
            f"{rbac}/v1",
            "executor",
            {
                "roleRef": {"apiGroup": rbac, "kind": "Role", "name": "executor"},
                "subjects": [subject],
            },
        ),
    ):
        metadata = {"name": name, **place}
        cluster.apply({"apiVersion": version, "kind": kind, "metadata": metadata, **body})


@contextmanager
def a_controller(cluster: Cluster, namespace: str, log: Path, looks_again: str) -> Iterator[None]:
    """Argo's controller for one namespace, ended with the block.

    looks_again: how long news of a workflow waits before the controller looks at it, by default
        ``10s``.
    """
    words = ["--kubeconfig", str(cluster.kubeconfig), "--namespaced", "--namespace", namespace]
    words += ["--executor-image", EXECUTOR, "--executor-image-pull-policy", "Never"]
    settings = {"LEADER_ELECTION_DISABLE": "true", "DEFAULT_REQUEUE_TIME": looks_again}
    with log.open("wb") as out:
        process = subprocess.Popen(
            # It ends with this process, however that ends.
            ["setpriv", "--pdeathsig", "KILL", str(_controller()), *words],
            env={"PATH": os.environ["PATH"], "HOME": str(log.parent), **settings},
            stdin=subprocess.DEVNULL, stdout=out, stderr=out,
        )  # fmt: skip
    try:
        yield
        assert process.poll() is None, f"it ended with {process.returncode}: {log.read_text()}"
    finally:
        process.terminate()
        try:
            process.wait(END_WITHIN_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def a_workflow(name: str, command: str, *, memory: str, retries: int) -> dict[str, Any]:
    """A workflow of one step, whose next attempt Argo makes without any backoff.

    name: how its name begins; the API server adds the rest. command: words of ``/task``, see
    eater.py. memory: the step's request and limit.
    """
    (container,) = a_spec(command.split(), memory)["containers"]
    del container["name"]  # Argo calls it "main"
    step = {"name": "crunch", "retryStrategy": {"limit": retries}, "container": container}
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "Workflow",
        "metadata": {"generateName": f"{name}-"},
        "spec": {"entrypoint": "crunch", "templates": [step]},
    }


def _module() -> Path:
    """Argo's sources, with its kinds beside them."""
    return module_of("argo-controller", ARGO, os.environ, _say)


def _controller() -> Path:
    return tool("argo-controller", os.environ, _say)


def _executor() -> Path:
    return tool("argoexec", os.environ, _say)


def _say(text: str) -> None:
    print(text, file=sys.stderr)


if __name__ == "__main__":
    _module()
    _controller()
    _executor()
