"""Plimsoll as the Helm chart's pods, of the image built from the Dockerfile."""

from __future__ import annotations

import csv
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from demo.cluster.place import ROOT, Place, built_image
from demo.services.asking import answered
from demo.services.service import TRAINING_BUDGET_S, ServiceError

PLIMSOLL: Final = (sys.executable, "-P", "-m", "plimsoll_operator")
NAME: Final = "plimsoll"
CHART: Final = ROOT / "helm" / "plimsoll"
READY_WITHIN_S: Final = 300
LEASE_S: Final = 60
"""Nobody waits for the lead of an only controller, and on a busy machine it may need longer to
renew the lead than the chart's default allows."""


@dataclass(frozen=True, slots=True)
class Release:
    """The chart's pods; they stay when the demo has ended."""

    place: Place

    @property
    def words(self) -> str:
        """What is started, for people."""
        return "`helm install`"

    @property
    def logs(self) -> str:
        """Where to look if something is wrong."""
        return f"{self.place.shown_kubectl} logs -n {NAME} deploy/plimsoll-controller"

    @property
    def afterwards(self) -> Sequence[str]:
        """What is left when the demo has ended."""
        kubectl = self.place.shown_kubectl
        return (
            "Plimsoll runs on, and so does its page:",
            f"  {kubectl} port-forward -n {NAME} svc/plimsoll-page 8082",
            f"  {self.place.shown_helm} uninstall {NAME} -n {NAME}    ends it",
        )

    @contextmanager
    def running(self, history: Path | None) -> Iterator[None]:
        """From ready, with the recorded runs imported.

        Raises:
            ServiceError: if it cannot be installed or is not ready in time.

        """
        self._forget()
        repository, _, tag = built_image("plimsoll").rpartition(":")
        self._helm(
            *("upgrade", NAME, str(CHART), "--install", "--namespace", NAME),
            *("--create-namespace", "--take-ownership", "--wait", f"--timeout={READY_WITHIN_S}s"),
            *("--set-string", f"image.repository={repository},image.tag={tag}"),
            *("--set", "persistence.enabled=false"),
            *("--set", f"controller.training.budgetSeconds={TRAINING_BUDGET_S}"),
            *("--set", f"controller.leaseSeconds={LEASE_S}"),
        )
        if history is not None:
            self._plimsoll("import", str(history), "--strict")
        yield

    def answer(self, *arguments: str) -> Sequence[str]:
        """The output of `plimsoll` with these arguments, line by line."""
        return answered([*self.place.enter, *PLIMSOLL, *arguments, *self.place.flags])

    def write_report(self, out: Path) -> None:
        """Write the report page as one file."""
        self._plimsoll("report", "--out", str(out))

    def measured_peaks(self, tasks: Iterable[str]) -> Mapping[str, int]:
        """Pod UID -> peak in bytes, of all attempts of these tasks that were measured."""
        with tempfile.TemporaryDirectory(prefix="plimsoll-demo-") as folder:
            out = Path(folder) / "history.csv"
            self._plimsoll("export", *sorted(tasks), "--out", str(out), quiet=True)
            with out.open(encoding="utf-8", newline="") as file:
                return {
                    row["attempt_uid"]: int(row["peak_bytes"])
                    for row in csv.DictReader(file)
                    if row["peak_bytes"]
                }

    def _forget(self) -> None:
        """Remove an earlier demo's release, with everything it learned."""
        self._helm("uninstall", NAME, "--namespace", NAME, "--ignore-not-found", "--wait")

    def _helm(self, *arguments: str) -> None:
        _call([*self.place.helm_command, *arguments], f"helm {arguments[0]}", quiet=True)

    def _plimsoll(self, *arguments: str, quiet: bool = False) -> None:
        command = [*self.place.enter, *PLIMSOLL, *arguments, *self.place.flags]
        _call(command, f"plimsoll {' '.join(arguments)}", quiet=quiet)


def _call(command: Sequence[str], what: str, *, quiet: bool) -> None:
    done = subprocess.run(command, cwd=ROOT, check=False, text=True, capture_output=quiet)
    if done.returncode != 0:
        said = f": {done.stderr.strip()}" if quiet else ""
        raise ServiceError(f"`{what}` ended with {done.returncode}{said}")
