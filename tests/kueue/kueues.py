"""A real Kueue on the cluster: its program, built from its Go module, installed by its own chart.

``python -m tests.kueue.kueues`` builds and downloads what it takes: a cluster's network has no way
out, so it is done before.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml
from deploy.local.binaries.tools import module_of, tool
from deploy.local.images.archive import write_image
from deploy.local.images.on_node import load_image

from tests.chart.helm import UNTIL_READY, Helm
from tests.conftest import Cluster
from tests.kueue.quotas import GROUP

MODULE = "sigs.k8s.io/kueue"
NAME = "kueue"
SYSTEM = "kueue-system"
IMAGE = "localhost/kueue"
OWNER = 65532
FRAMEWORKS = ["batch/job", "pod"]
"""What it manages here. Of bare pods only those with a queue's label, as by default."""


def program() -> Path:
    """Kueue's manager."""
    return tool("kueue", os.environ, _say)


def chart() -> Path:
    """Kueue's own chart, which is in its module beside the sources."""
    return module_of("kueue", MODULE, os.environ, _say) / "charts" / "kueue"


@contextmanager
def a_kueue(cluster: Cluster, helm: Helm) -> Iterator[None]:
    """Install it as its users do, wait until its webhooks answer, and remove it again."""
    folder = chart()
    version = str(yaml.safe_load((folder / "Chart.yaml").read_text())["version"])
    _load(cluster, f"{IMAGE}:{version}")
    values = cluster.handle.layout.home / "kueue-values.json"
    values.write_text(json.dumps(_values(folder, version)))
    words = ["-n", SYSTEM, "--create-namespace", "--values", str(values)]
    # Also if a killed run has left one.
    helm.do("upgrade", "--install", NAME, str(folder), *words, *UNTIL_READY)
    try:
        yield
    finally:
        _forget_queues(cluster)
        helm.do("uninstall", NAME, "-n", SYSTEM, *UNTIL_READY)
        cluster.kubectl("delete", "namespace", SYSTEM, "--ignore-not-found")


def _forget_queues(cluster: Cluster) -> None:
    """Remove what a failed test has left: only Kueue can release it, and Kueue is about to go."""
    for kind in ("workloads", "clusterqueues", "resourceflavors"):
        for each in cluster.get(f"{kind}.{GROUP}", "-A")["items"]:
            meta = each["metadata"]
            place = ["-n", meta["namespace"]] if "namespace" in meta else []
            words = [f"{kind}.{GROUP}", meta["name"], *place]
            cluster.kubectl("delete", *words, "--wait=false", "--ignore-not-found")
            bare = json.dumps({"metadata": {"finalizers": None}})
            # It may already be gone.
            subprocess.run(
                cluster.handle.kubectl("patch", *words, "--type=merge", "--patch", bare),
                capture_output=True, check=False,
            )  # fmt: skip


def _load(cluster: Cluster, reference: str) -> None:
    """Put the program into the node as an image of one file."""
    with tempfile.TemporaryDirectory(prefix="plimsoll-kueue-") as scratch:
        root = Path(scratch) / "root"
        root.mkdir()
        shutil.copy2(program(), root / "manager")
        write_image(root, reference, ["/manager"], Path(scratch) / "kueue.tar")
        load_image(cluster.handle.layout, Path(scratch) / "kueue.tar")


def _values(folder: Path, version: str) -> dict[str, object]:
    """Differences from the chart's values: the image, bare pods, and a quick readiness."""
    own = yaml.safe_load((folder / "values.yaml").read_text())
    configuration = yaml.safe_load(own["managerConfig"]["controllerManagerConfigYaml"])
    configuration["integrations"]["frameworks"] = FRAMEWORKS
    return {
        "controllerManager": {
            "manager": {
                "image": {"repository": IMAGE, "tag": version, "pullPolicy": "Never"},
                "resources": {"requests": {"cpu": "50m", "memory": "128Mi"}},
                # An image of one file names no user.
                "podSecurityContext": {"runAsUser": OWNER},
            },
            "readinessProbe": {"initialDelaySeconds": 1},
        },
        "managerConfig": {"controllerManagerConfigYaml": yaml.safe_dump(configuration)},
    }


def _say(text: str) -> None:
    print(text, file=sys.stderr)


if __name__ == "__main__":
    program()
    chart()
    tool("helm", os.environ, _say)
