"""Helm, as the tests use it: without a cluster, or inside the local one's network."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml
from deploy.chart.generated import CHART
from deploy.chart.rendering import AS_ON_A_CLUSTER, KUBERNETES, NAME

from tests.conftest import Cluster

Document = dict[str, Any]
WITHOUT_KINDS: Final = ("--set", "crds.install=false")
READY_WITHIN_S: Final = 600.0
"""Admission waits for Secrets that a controller writes, and each imports for a minute on a busy
machine."""
UNTIL_READY: Final = ("--wait", "--timeout", f"{READY_WITHIN_S:.0f}s")


@dataclass(frozen=True, slots=True)
class Helm:
    """The program, and the cluster it talks to; None for none.

    validates: whether Helm reads the cluster's OpenAPI to check objects before it installs or
        upgrades, which takes each side a second. The API server checks the same kinds of objects in
        test_chart_dry_run.py.
    """

    program: Path
    cluster: Cluster | None = None
    validates: bool = True
    _rendered: dict[tuple[str, ...], bytes] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def run(
        self, *words: str, within_s: float = READY_WITHIN_S + 300.0
    ) -> subprocess.CompletedProcess[str]:
        """Run it to its end, with any result.

        within_s: longer than Helm itself waits, so that Helm says what was not ready.
        """
        command, environment = [str(self.program), *words], dict(os.environ)
        if self.cluster is not None:
            if not self.validates and words[0] in ("install", "upgrade"):
                command.append("--disable-openapi-validation")
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

    def render(
        self, values: Mapping[str, Any], *, namespace: str = NAME, kinds: bool = False
    ) -> list[Document]:
        """What the chart would install with these values.

        kinds: whether with our CRDs. They are two thirds of everything, and no value changes more
            of them than their labels and annotations.
        """
        more: tuple[str, ...] = () if kinds else WITHOUT_KINDS
        return self._documents(values, namespace, *AS_ON_A_CLUSTER, *more)

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
        """Render with a cluster's objects for ``lookup``, without our CRDs.

        more: options of ``helm template``.
        """
        words = ("--dry-run=server", "--kubeconfig", str(kubeconfig), *AS_ON_A_CLUSTER)
        return self._template(values, NAME, *words, *WITHOUT_KINDS, *more)

    def notes(self, values: Mapping[str, Any]) -> str:
        """The notes of an installation with these values; needs a cluster."""
        words = ["-n", NAME, "--dry-run=server", "--take-ownership"]
        # A dry run gets no volume.
        words += ["--set", "persistence.storageClassName=any"]
        for key, value in values.items():
            words += ["--set-json", f"{key}={json.dumps(value)}"]
        return self.do("install", NAME, str(CHART), *words).partition("NOTES:")[2]

    def _documents(self, values: Mapping[str, Any], namespace: str, *more: str) -> list[Document]:
        # Many tests ask for the same. Each gets a copy, because some change what they get.
        asked = (json.dumps(dict(values)), namespace, *more)
        if asked not in self._rendered:
            done = self._template(values, namespace, *more)
            assert done.returncode == 0, done.stderr
            self._rendered[asked] = pickle.dumps(documents_in(done.stdout))
        copied: list[Document] = pickle.loads(self._rendered[asked])
        return copied

    def _template(
        self, values: Mapping[str, Any], namespace: str, *more: str
    ) -> subprocess.CompletedProcess[str]:
        words = ["template", NAME, str(CHART), "-n", namespace, "--kube-version", KUBERNETES, *more]
        return subprocess.run(
            [self.program, *words, "--values", "-"],
            input=json.dumps(dict(values)), capture_output=True, text=True, check=False,
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
