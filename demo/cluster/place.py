"""Where the demo runs: the local cluster, brought up for it, or the user's own cluster."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from deploy.local.layout import NODE_NAME, layout_from
from deploy.local.lifecycle import Cluster

ROOT: Final = Path(__file__).resolve().parents[2]
CLUSTER: Final = (sys.executable, "-P", str(ROOT / "deploy" / "local" / "cluster.py"))
LOCAL_HOST: Final = "127.0.0.1"


class PlaceError(Exception):
    """There is no place to run; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Place:
    """A named cluster, and how to reach it.

    enter: prefix of every command that talks to the cluster.
    kubectl_command: kubectl for this cluster and no other.
    kubeconfig, context: of the cluster; None takes what kubectl would.
    host: address of this machine as the API server reaches it.
    node_name: this machine as a node, for the agent; None if it is none.
    shown_kubectl: how people call kubectl for it.
    helm_command, shown_helm: the same for helm.
    """

    image: str
    enter: tuple[str, ...]
    kubectl_command: tuple[str, ...]
    kubeconfig: str | None
    context: str | None
    host: str
    node_name: str | None
    shown_kubectl: str
    helm_command: tuple[str, ...]
    shown_helm: str

    @property
    def flags(self) -> list[str]:
        """--kubeconfig and --context, for plimsoll."""
        given = (("--kubeconfig", self.kubeconfig), ("--context", self.context))
        return [part for flag, value in given if value for part in (flag, value)]


def local_place() -> Place:
    """Bring the local cluster up, build the demo's image and load it.

    Raises:
        PlaceError: if that fails; the reason has been printed.

    """
    _cluster("up")
    image = built_image("demo")
    cluster = Cluster(layout_from(os.environ), os.environ)
    return Place(
        image=image,
        enter=tuple(cluster.enter([])),
        kubectl_command=tuple(cluster.kubectl()),
        kubeconfig=str(cluster.layout.kubeconfig),
        context=None,
        host=LOCAL_HOST,
        node_name=NODE_NAME,
        shown_kubectl="python3 deploy/local/cluster.py kubectl",
        helm_command=(*CLUSTER, "tool", "helm"),
        shown_helm="python3 deploy/local/cluster.py tool helm",
    )


def named_place(context: str, image: str, host: str, node_name: str | None) -> Place:
    """The user's cluster, by its context; nothing is brought up or loaded there."""
    return Place(
        image=image,
        enter=(),
        kubectl_command=("kubectl", "--context", context),
        kubeconfig=None,
        context=context,
        host=host,
        node_name=node_name,
        shown_kubectl=f"kubectl --context {context}",
        helm_command=("helm", "--kube-context", context),
        shown_helm=f"helm --kube-context {context}",
    )


def built_image(target: str) -> str:
    """Build a target of the Dockerfile and load it into the local cluster; return its reference."""
    return _cluster("image", "--target", target, "--load").strip().splitlines()[-1]


def _cluster(*arguments: str) -> str:
    """Run a command of deploy/local/cluster.py; its progress goes to the terminal."""
    return _run([*CLUSTER, *arguments])


def _run(command: Sequence[str]) -> str:
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, check=False)
    if done.returncode != 0:
        raise PlaceError(
            f"`{' '.join(command[2:])}` ended with exit code {done.returncode}; see above"
        )
    return done.stdout
