"""Renders the chart with a set of values, as text."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

CHECKOUT: Final = Path(__file__).resolve().parents[2]
EXAMPLES: Final = CHECKOUT / "helm" / "examples"
VALUE_SETS: Final[Mapping[str, Path | None]] = {
    "default": None,
    "ha-postgresql": EXAMPLES / "ha-postgresql.yaml",
    "locked-down": EXAMPLES / "locked-down.yaml",
    "ordered": EXAMPLES / "ordered.yaml",
    "scheduler-extender": EXAMPLES / "scheduler-extender.yaml",
}
"""Name to the file with the values; None for no file."""
KUBERNETES: Final = "1.35.4"
OLDEST: Final = "1.29.0"
"""The oldest Kubernetes that the chart is for."""
NAME: Final = "plimsoll"
"""The name of the release, and of its namespace."""
AS_ON_A_CLUSTER: Final = ("--api-versions", "apiregistration.k8s.io/v1")
"""Every cluster serves this, but Helm does not assume it without a cluster: the chart has hooks
only with it."""


class NotRendered(Exception):
    """Helm refuses; the message is Helm's."""


def render(
    helm: Path, chart: Path, value_set: str, *, hooks: bool = True, kubernetes: str = KUBERNETES
) -> str:
    """Render the chart as it would be installed, without asking a cluster.

    hooks: whether to include what Helm runs: the pod of `helm test`, and the hook that releases all
    pods that wait. kubernetes: the version that it is rendered for.

    Raises:
        NotRendered: if a value or a template is wrong.

    """
    values = VALUE_SETS[value_set]
    words = ["template", NAME, str(chart), "--namespace", NAME, "--kube-version", kubernetes]
    words += AS_ON_A_CLUSTER
    words += [] if values is None else ["--values", str(values)]
    words += [] if hooks else ["--no-hooks"]
    done = subprocess.run([helm, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotRendered(done.stderr.strip())
    return done.stdout
