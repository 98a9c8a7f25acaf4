"""What the chart becomes with a set of values, as text."""

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
NAME: Final = "plimsoll"
"""Of the release, and of its namespace."""
AS_ON_A_CLUSTER: Final = ("--api-versions", "apiregistration.k8s.io/v1")
"""What every cluster serves, and Helm does not take for granted without one: the chart has hooks
only with it."""


class NotRendered(Exception):
    """Helm refuses; its words."""


def render(helm: Path, chart: Path, value_set: str, *, hooks: bool = True) -> str:
    """Render the chart as it would be installed, without asking a cluster.

    hooks: whether what Helm runs is in it: the pod of `helm test`, and who lets go all that wait.

    Raises:
        NotRendered: if a value or a template is wrong.

    """
    values = VALUE_SETS[value_set]
    words = ["template", NAME, str(chart), "--namespace", NAME, "--kube-version", KUBERNETES]
    words += AS_ON_A_CLUSTER
    words += [] if values is None else ["--values", str(values)]
    words += [] if hooks else ["--no-hooks"]
    done = subprocess.run([helm, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotRendered(done.stderr.strip())
    return done.stdout
