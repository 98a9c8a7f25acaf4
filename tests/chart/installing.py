"""A release of the chart on the local cluster, as an admin makes it, and all that it leaves."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from deploy.chart.generated import CHART
from deploy.chart.rendering import NAME

from tests.apiserver.controllers import PATIENCE_S
from tests.apiserver.crds import read_at
from tests.chart.helm import UNTIL_READY, Document, Helm
from tests.chart.our_kinds import CRD_NAMES
from tests.conftest import Cluster
from tests.rigs.pauses import pause_s

AGENTS = "plimsoll-agent"
CONTROLLER_ADDRESS = "10.96.200.81"
"""An address of the cluster's Service range: agents in another namespace reach it without DNS."""
OWNER = 65532
SHORTEST_PAUSE_S = 0.25
RESTRICTED = "pod-security.kubernetes.io/enforce"
Got = TypeVar("Got")


@dataclass(frozen=True, slots=True)
class Release:
    """An installation. ready_after_s: from the start of ``helm install`` until all was Ready."""

    helm: Helm
    cluster: Cluster
    values: Mapping[str, Any]
    ready_after_s: float
    notes: str

    def upgrade(self, *words: str) -> str:
        """Run ``helm upgrade`` with the same values and some more, until all is Ready again."""
        return self.helm.do(
            "upgrade", NAME, str(CHART), "-n", NAME, "--reuse-values", *UNTIL_READY, *words
        )

    def pods(self, component: str) -> list[Document]:
        """The pods of one process that are not about to end."""
        selector = f"app.kubernetes.io/component={component}"
        found = json.loads(read_at(self.cluster, "/api/v1/pods", labelSelector=selector))["items"]
        return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]

    def authority(self) -> str | None:
        """The caBundle by which the API server trusts admission; None if there is none."""
        found = self.cluster.get("mutatingwebhookconfiguration", NAME)
        bundle: str | None = found["webhooks"][0]["clientConfig"].get("caBundle")
        return bundle

    def certificate(self) -> str:
        """Admission's certificate, as in its Secret."""
        found = self.cluster.get("secret", f"{NAME}-admission-tls", "-n", NAME)
        return str(found["data"]["tls.crt"])


def chart_values(image: str, **more: Any) -> dict[str, Any]:
    """Values of an installation into the local cluster, under Pod Security `restricted`."""
    repository, _, tag = image.rpartition(":")
    return {
        "image": {"repository": repository, "tag": tag, "pullPolicy": "Never"},
        "agent": {"namespace": AGENTS},
        "controller": {"clusterIP": CONTROLLER_ADDRESS},
        **more,
    }


@contextlib.contextmanager
def a_place(cluster: Cluster, *, kinds_too: bool = False) -> Iterator[None]:
    """An empty namespace that enforces `restricted`, and a volume for the claim.

    kinds_too: whether our CRDs go, too, before and afterwards. Otherwise those of an earlier
        release stay, and the next one takes them over.
    """
    _remove_everything(cluster, kinds_too=kinds_too)
    volume = cluster.handle.layout.home / "plimsoll-store"
    cluster.kubectl("create", "namespace", NAME)
    cluster.kubectl("label", "namespace", NAME, f"{RESTRICTED}=restricted")
    cluster.apply(_volume(volume))
    try:
        yield
    finally:
        _remove_everything(cluster, kinds_too=kinds_too)
        shutil.rmtree(volume, ignore_errors=True)


@contextlib.contextmanager
def a_release(
    helm: Helm, cluster: Cluster, values: Mapping[str, Any], *, kinds_too: bool = False
) -> Iterator[Release]:
    """Install into an empty place, wait until all is Ready, and take it away afterwards."""
    with a_place(cluster, kinds_too=kinds_too):
        yield install(helm, cluster, values)


def install(helm: Helm, cluster: Cluster, values: Mapping[str, Any]) -> Release:
    """Run ``helm install`` and wait until all is Ready."""
    file = cluster.handle.layout.home / "values.json"
    file.write_text(json.dumps(values))
    words = ["--namespace", NAME, "--create-namespace", "--values", str(file)]
    began_s = time.monotonic()
    done = helm.run("install", NAME, str(CHART), *words, *UNTIL_READY)
    assert done.returncode == 0, f"{done.stderr}\n{_story(cluster)}"
    _await_agents(cluster)
    return Release(helm, cluster, values, time.monotonic() - began_s, done.stdout)


def _await_agents(cluster: Cluster) -> None:
    # Helm counts a DaemonSet of one node as ready without a pod: that one may be unavailable.
    for agents in cluster.get("daemonsets", "-A", "-l", "app.kubernetes.io/component=agent")[
        "items"
    ]:
        name, namespace = agents["metadata"]["name"], agents["metadata"]["namespace"]
        cluster.kubectl("rollout", "status", f"daemonset/{name}", "-n", namespace, "--timeout=600s")


def _story(cluster: Cluster) -> str:
    """Facts that may tell why an installation is not Ready: pods, Events, logs."""
    said = [cluster.kubectl("get", "pods", "-A", "-o", "wide")]
    for namespace in (NAME, AGENTS):
        said.append(cluster.kubectl("get", "events", "-n", namespace))
        for pod in cluster.get("pods", "-n", namespace)["items"]:
            words = ["logs", "-n", namespace, pod["metadata"]["name"], "--tail=10"]
            said += [
                subprocess.run(
                    cluster.handle.kubectl(*words, *previous), capture_output=True, text=True,
                    check=False,
                ).stdout
                for previous in ([], ["--previous"])
            ]  # fmt: skip
    return "\n".join(said)


def _volume(folder: Path) -> Document:
    # A claim of the default chart has no class here, and takes the volume that names it.
    folder.mkdir(mode=0o700, exist_ok=True)
    os.chown(folder, OWNER, OWNER)
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"{NAME}-store"},
        "spec": {
            "capacity": {"storage": "2Gi"},
            "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Retain",
            "hostPath": {"path": str(folder), "type": "Directory"},
            "claimRef": {"namespace": NAME, "name": f"{NAME}-store"},
        },
    }


def _remove_everything(cluster: Cluster, *, kinds_too: bool) -> None:
    """Remove what a release, or other tests, may have left. The webhook goes first."""
    roles = [f"{NAME}-{role}" for role in ("controller", "view", "edit")]
    ours = {
        "mutatingwebhookconfiguration": [NAME],
        "namespace": [NAME, AGENTS],
        "persistentvolume": [f"{NAME}-store"],
        "clusterrolebinding": roles[:1],
        "clusterrole": roles,
    }
    if kinds_too:
        ours["customresourcedefinition"] = CRD_NAMES
    # There is mostly nothing: ten kubectls that find nothing take 1.5 s of a processor.
    there = cluster.kubectl("get", ",".join(ours), "-o", "name").split()
    left = {kind: [name for name in ours[kind] if _is_in(there, kind, name)] for kind in ours}
    for kind, names in left.items():
        if kind == "namespace":
            _empty(cluster, names)
        if names:
            cluster.kubectl("delete", kind, *names, "--ignore-not-found", "--timeout=240s")


def _is_in(there: Sequence[str], kind: str, name: str) -> bool:
    """Whether one of these objects exists; each is named by kind, perhaps group, and name."""
    parts = (each.partition("/") for each in there)
    return any((of.partition(".")[0], found) == (kind, name) for of, _, found in parts)


def _empty(cluster: Cluster, namespaces: Sequence[str]) -> None:
    # If a namespace has pods when it is deleted, Kubernetes looks at it again only after half of
    # their longest grace period, however soon they end.
    for namespace in namespaces:
        cluster.kubectl("delete", "deployments,daemonsets,jobs", "--all", "-n", namespace)
        cluster.kubectl("delete", "pods", "--all", "-n", namespace, "--now", "--timeout=240s")


def until(what: str, look: Callable[[], Got | None], within_s: float = PATIENCE_S) -> Got:
    """Look again and again; return the first thing found."""
    began_s = time.monotonic()
    while True:
        try:
            found = look()
        except (AssertionError, subprocess.CalledProcessError):
            found = None
        if found:
            return found
        waited_s = time.monotonic() - began_s
        assert waited_s < within_s, f"{what}: not within {within_s} s"
        # Most looks use kubectl, which takes 0.13 s of a processor each.
        time.sleep(max(SHORTEST_PAUSE_S, pause_s(waited_s)))
