"""The demo's only way to talk to a cluster: kubectl, JSON in and JSON out."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

Manifest = Mapping[str, Any]
TIMEOUT_S: Final = 30.0
TEMPORARY: Final = ("connection refused", "timeout", "timed out", "EOF", "TLS handshake")
"""Words of kubectl for failures that another try may cure."""


class KubectlError(Exception):
    """The cluster or kubectl itself refused or failed; the message is kubectl's own."""

    @property
    def is_temporary(self) -> bool:
        """Whether it may work if tried again."""
        return any(word in str(self) for word in TEMPORARY)


@dataclass(frozen=True, slots=True)
class Kubectl:
    """kubectl for one named cluster; it never falls back to another.

    command: how it is called, with --kubeconfig and --context if they are needed.
    """

    command: tuple[str, ...]

    def __call__(self, *arguments: str, stdin: str | None = None) -> str:
        """Run it. Returns its output.

        Raises:
            KubectlError: if its exit status is not 0, or it did not end in time.

        """
        what = f"kubectl {' '.join(arguments)}"
        try:
            done = subprocess.run(
                [*self.command, *arguments],
                input=stdin,
                capture_output=True,
                text=True,
                timeout=TIMEOUT_S,
                check=False,
            )
        except FileNotFoundError:
            raise KubectlError(f"{self.command[0]} is not there; install kubectl") from None
        except subprocess.TimeoutExpired:
            raise KubectlError(f"{what}: timed out after {TIMEOUT_S:.0f} s") from None
        if done.returncode != 0:
            raise KubectlError(f"{what}: {done.stderr.strip()}")
        return done.stdout

    def objects(self, *arguments: str) -> list[dict[str, Any]]:
        """The objects that ``kubectl get`` finds."""
        found: list[dict[str, Any]] = json.loads(self("get", *arguments, "-o", "json"))["items"]
        return found

    def apply(self, manifests: Sequence[Manifest]) -> None:
        """Bring objects to the state of these manifests."""
        self("apply", "-f", "-", stdin=_as_list(manifests))

    def create(self, manifests: Sequence[Manifest]) -> None:
        """Create new objects."""
        self("create", "-f", "-", stdin=_as_list(manifests))

    def apply_files(self, folder: Path) -> None:
        """Apply the manifests in a folder."""
        self("apply", "-f", str(folder))


def _as_list(manifests: Sequence[Manifest]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(manifests)})
