"""The account of an agent that raises pods itself: the chart's rights, and a token of its node."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from deploy.chart.generated import CHART
from deploy.chart.rendering import NAME
from deploy.local.binaries.tools import tool

from tests.conftest import Cluster
from tests.rigs.images.eater import IMAGE

API_SERVER = "https://127.0.0.1:6443"
TEMPLATE = "templates/agent-rights.yaml"


@dataclass(frozen=True, slots=True)
class AgentAccount:
    """An account with the rights below, in a namespace of its own."""

    cluster: Cluster
    namespace: str

    @property
    def name(self) -> str:
        return f"{self.namespace}-agent"

    def token(self, node: str) -> str:
        """Return a token as a kubelet mounts it into the agent's pod on this node."""
        pod = f"agent-{uuid.uuid4().hex[:8]}"
        self.cluster.apply(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": pod, "namespace": self.namespace},
                "spec": {
                    "nodeName": node,
                    "serviceAccountName": self.name,
                    "automountServiceAccountToken": False,
                    "terminationGracePeriodSeconds": 0,
                    "containers": [
                        {
                            "name": "main",
                            "image": IMAGE,
                            "imagePullPolicy": "Never",
                            "command": ["/task", "eat", "1", "3600"],
                        }
                    ],
                },
            }
        )
        return self._token("--bound-object-kind=Pod", f"--bound-object-name={pod}")

    def environment(self, folder: Path) -> dict[str, str]:
        """Return the settings of this machine's agent that raises pods itself; files go there."""
        (node,) = [each["metadata"]["name"] for each in self.cluster.get("nodes")["items"]]
        token, authority = folder / "api-token", folder / "api-ca"
        token.write_text(self.token(node))
        authority.write_text(self.cluster.get("configmap", "kube-root-ca.crt")["data"]["ca.crt"])
        return {
            "PLIMSOLL_API_SERVER": API_SERVER,
            "PLIMSOLL_API_TOKEN_FILE": str(token),
            "PLIMSOLL_API_CA_FILE": str(authority),
        }

    def unbound_token(self) -> str:
        """Return a token that is bound to no pod, so that nothing names its node."""
        return self._token()

    def _token(self, *words: str) -> str:
        return self.cluster.kubectl(
            "create", "token", self.name, f"--namespace={self.namespace}", *words
        ).strip()


@contextlib.contextmanager
def an_agent_account(cluster: Cluster) -> Iterator[AgentAccount]:
    """Make the account as the chart does; all of it is removed at the block's end."""
    account = AgentAccount(cluster, f"agents-{uuid.uuid4().hex[:8]}")
    rights = _rights(account.namespace)
    cluster.kubectl("create", "namespace", account.namespace)
    try:
        cluster.kubectl("create", "serviceaccount", account.name, "-n", account.namespace)
        cluster.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(rights))
        yield account
    finally:
        cluster.kubectl("delete", "--ignore-not-found", "-f", "-", stdin=yaml.safe_dump_all(rights))
        cluster.kubectl("delete", "namespace", account.namespace, "--wait=false")


def _rights(namespace: str) -> list[dict[str, Any]]:
    """Render them. Their names are the release's, so that several may be side by side."""
    program = tool("helm", os.environ, print)
    values = json.dumps({"fullnameOverride": namespace, "rescue": {"byAgent": True}})
    done = subprocess.run(
        [
            *(str(program), "template", NAME, str(CHART), "--namespace", namespace),
            *("--show-only", TEMPLATE, "--values", "-"),
        ],
        input=values,
        capture_output=True,
        text=True,
        check=True,
    )
    return [each for each in yaml.safe_load_all(done.stdout) if each]
