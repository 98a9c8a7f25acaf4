"""People at the real API server: an administrator, and a person with few rights."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.conftest import Cluster
from tests.rigs.processes.command_lines import PLIMSOLL


@dataclass(frozen=True, slots=True)
class Done:
    """How a command ended."""

    status: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """What it printed as JSON."""
        return json.loads(self.out)


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody with a kubeconfig and a shell."""

    kubeconfig: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    program: tuple[str, ...] = PLIMSOLL

    def plimsoll(self, *words: str, stdin: bytes | None = None) -> Done:
        """Run ``plimsoll`` as this person."""
        return self.run([*self.program, *words], stdin)

    def run(self, argv: list[str], stdin: bytes | None = None) -> Done:
        """Run anything as this person."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith("PLIMSOLL_STORE")}
        done = subprocess.run(
            argv,
            input=stdin if stdin is not None else b"",
            env={**kept, "KUBECONFIG": str(self.kubeconfig), **self.environment},
            capture_output=True,
            check=False,
        )
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


def an_admin(cluster: Cluster, program: Path | None = None, **environment: str) -> Person:
    """An administrator. program: a ``plimsoll`` that starts faster than the installed one."""
    words = PLIMSOLL if program is None else (str(program),)
    return Person(cluster.kubeconfig, environment, words)


def a_person_who_may(
    cluster: Cluster, namespace: str, rules: list[dict[str, Any]], folder: Path
) -> Person:
    """A person with only these rights, in one namespace; runs the installed program."""
    cluster.kubectl("create", "serviceaccount", "somebody", "-n", namespace)
    named = {"metadata": {"name": "somebody", "namespace": namespace}}
    rbac = {"apiVersion": "rbac.authorization.k8s.io/v1"}
    cluster.apply({**rbac, "kind": "Role", **named, "rules": rules})
    subject = {"kind": "ServiceAccount", "name": "somebody", "namespace": namespace}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "somebody"}
    cluster.apply({**rbac, "kind": "RoleBinding", **named, "subjects": [subject], "roleRef": role})
    token = cluster.kubectl("create", "token", "somebody", "-n", namespace).strip()
    config = json.loads(cluster.kubectl("config", "view", "--raw", "-o", "json"))
    config["users"] = [{"name": "somebody", "user": {"token": token}}]
    config["contexts"][0]["context"]["user"] = "somebody"
    config["current-context"] = config["contexts"][0]["name"]
    kubeconfig = folder / "somebody.kubeconfig"
    kubeconfig.write_text(json.dumps(config))
    return Person(kubeconfig)
