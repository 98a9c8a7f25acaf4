"""Helm, as the tests use it: without a cluster, or inside the local one's network."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from deploy.chart.generated import CHART
from deploy.chart.rendering import AS_ON_A_CLUSTER, KUBERNETES, NAME

from tests.conftest import Cluster

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Helm:
    """The program, and the cluster it talks to; None for none."""

    program: Path
    cluster: Cluster | None = None

    def run(self, *words: str, within_s: float = 300.0) -> subprocess.CompletedProcess[str]:
        """Run it to its end, with any result."""
        command, environment = [str(self.program), *words], dict(os.environ)
        if self.cluster is not None:
            command = self.cluster.enter(command)
            environment["KUBECONFIG"] = str(self.cluster.kubeconfig)
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=within_s
        )

    def do(self, *words: str) -> str:
        """Run it; return what it printed. Its error fails the test."""
        done = self.run(*words)
        assert done.returncode == 0, f"helm {' '.join(words)}: {done.stderr}"
        return done.stdout

    def render(self, values: Mapping[str, Any], *, namespace: str = NAME) -> list[Document]:
        """Everything the chart would install with these values."""
        return self._documents(values, namespace, *AS_ON_A_CLUSTER)

    def render_for_kubectl(self, values: Mapping[str, Any]) -> list[Document]:
        """The output of a plain ``helm template``, which people apply unchanged."""
        return self._documents(values, NAME)

    def refusal(self, values: Mapping[str, Any], *, namespace: str = NAME) -> str:
        """Why the chart refuses these values, in its words."""
        done = self._template(values, namespace)
        assert done.returncode != 0, f"{values} is not refused"
        return done.stderr

    def against(
        self, kubeconfig: Path, values: Mapping[str, Any], *more: str
    ) -> subprocess.CompletedProcess[str]:
        """Render with a cluster's objects for ``lookup``. more: options of ``helm template``."""
        words = ("--dry-run=server", "--kubeconfig", str(kubeconfig), *AS_ON_A_CLUSTER, *more)
        return self._template(values, NAME, *words)

    def notes(self, values: Mapping[str, Any]) -> str:
        """The notes of an installation with these values; needs a cluster."""
        words = ["-n", NAME, "--dry-run=server", "--take-ownership"]
        # A dry run gets no volume.
        words += ["--set", "persistence.storageClassName=any"]
        for key, value in values.items():
            words += ["--set-json", f"{key}={json.dumps(value)}"]
        return self.do("install", NAME, str(CHART), *words).partition("NOTES:")[2]

    def _documents(self, values: Mapping[str, Any], namespace: str, *more: str) -> list[Document]:
        done = self._template(values, namespace, *more)
        assert done.returncode == 0, done.stderr
        return documents_in(done.stdout)

    def _template(
        self, values: Mapping[str, Any], namespace: str, *more: str
    ) -> subprocess.CompletedProcess[str]:
        words = ["template", NAME, str(CHART), "-n", namespace, "--kube-version", KUBERNETES, *more]
        return subprocess.run(
            [self.program, *words, "--values", "-"],
            input=yaml.safe_dump(dict(values)), capture_output=True, text=True, check=False,
        )  # fmt: skip


def documents_in(text: str) -> list[Document]:
    """All documents of a YAML text. C reads it: Python takes a second for a chart's."""
    return [each for each in yaml.load_all(text, yaml.CSafeLoader) if each]


def named(documents: Sequence[Document], kind: str, name: str) -> Document:
    """The one object of this kind and name."""
    found = [each for each in documents if (each["kind"], each["metadata"]["name"]) == (kind, name)]
    (only,) = found
    return only


def pod_specs(documents: Sequence[Document]) -> dict[str, Document]:
    """Names of pods and of objects that make pods -> the pods' specs."""
    found = {}
    for each in documents:
        if each["kind"] == "Pod":
            found[each["metadata"]["name"]] = each["spec"]
        elif "template" in each.get("spec", {}):
            found[each["metadata"]["name"]] = each["spec"]["template"]["spec"]
    return found


def nested(path: str, value: Any) -> dict[str, Any]:
    """``a.b`` and 1 give {a: {b: 1}}."""
    for key in reversed(path.split(".")):
        value = {key: value}
    assert isinstance(value, dict)
    return value
