"""Jobs over items on the real node whose pods are real Python with ``plimsoll_chunks``.

Their image has no Python: the machine's own is mounted into them, since the node is this machine.
They use the node's network, where Plimsoll is.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import plimsoll_chunks
from plimsoll_operator.names import labels
from plimsoll_predictor.splitting.costs import MOST_ITEMS
from tests.rigs.images.eater import IMAGE

Manifest = dict[str, Any]

WORK: Final = """
import os, sys, time
import plimsoll_chunks
last, held_back = int(os.environ["PLIMSOLL_ITEMS"]) - 1, f"{sys.argv[1]}/held-back"
light, heavy, heavy_from = [int(each) for each in sys.argv[2].split(",")]
times_us = [int(each) for each in sys.argv[3:]]
share = (last + 1) // int(os.environ["PLIMSOLL_SHARES"])
with open(f"{sys.argv[1]}/{os.environ['WORKS_AS']}", "a") as record:
    for first, count in plimsoll_chunks.ranges():
        held = []
        for item in range(first, first + count):
            while item == last and os.path.exists(held_back):
                time.sleep(0.1)
            held.append(b"x" * ((heavy if item % share >= heavy_from else light) << 10))
            time.sleep(times_us[(item * 2654435761 >> 7) % len(times_us)] / 1e6)
            record.write(f"{item}\\n")
            record.flush()
"""
"""Does ranges; it holds some KiB for each item of one, another size for late ones of a share, and
notes each item when it is done. The last item of the Job waits while the folder has a file
``held-back``.
"""
_MODULES: Final = Path(plimsoll_chunks.__file__).parent
_PYTHON: Final = Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info.minor}"
_SHOWN: Final = {"/usr": "/usr", "/lib": "/usr/lib", "/lib64": "/usr/lib64"}
"""Path in a container -> folder of the machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """A leased Job. folder: of its pods' records. times_us: of its items, chosen by a hash.

    kib: memory of a range for each of its items; heavy_kib: the same for those of a share from
        ``heavy_from`` on. environment: of its pods.
    """

    name: str
    task: str
    folder: Path
    items: int
    workers: int
    times_us: tuple[int, ...]
    memory: str = "128Mi"
    kib: int = 0
    heavy_kib: int = 0
    heavy_from: int = MOST_ITEMS
    leased: bool = True
    retries: int = 10
    environment: dict[str, str] = field(default_factory=dict)

    def manifest(self) -> Manifest:
        """The Job as its author writes it."""
        held = f"{self.kib},{self.heavy_kib},{self.heavy_from}"
        command = [*(str(_PYTHON), "-u", "-c", WORK, str(self.folder), held)]
        told = {
            "PLIMSOLL_ITEMS": str(self.items),
            "PLIMSOLL_SHARES": str(self.workers),
            "PYTHONPATH": str(_MODULES),
            "PYTHONDONTWRITEBYTECODE": "1",
            **self.environment,
        }
        named = {"valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
        container = {
            "name": "main",
            "image": IMAGE,
            "imagePullPolicy": "Never",
            "command": [*command, *map(str, self.times_us)],
            "resources": {"requests": {"memory": self.memory}, "limits": {"memory": self.memory}},
            "env": [
                *({"name": name, "value": value} for name, value in told.items()),
                {"name": "WORKS_AS", **named},
            ],
            "volumeMounts": [
                {"name": f"of-{at}", "mountPath": path, "readOnly": path != str(self.folder)}
                for at, path in enumerate(self._mounts)
            ],
        }
        spec = {
            "restartPolicy": "Never",
            "hostNetwork": True,
            "terminationGracePeriodSeconds": 0,
            "automountServiceAccountToken": False,
            "containers": [container],
            "volumes": [
                {"name": f"of-{at}", "hostPath": {"path": here}}
                for at, here in enumerate(self._mounts.values())
            ],
        }
        annotations = {labels.ITEMS: str(self.items)}
        if self.leased:
            annotations[labels.LEASES] = "true"
        return {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": self.name, "annotations": annotations},
            "spec": {
                "completionMode": "Indexed",
                "completions": self.workers,
                "parallelism": self.workers,
                "backoffLimitPerIndex": self.retries,
                "template": {"metadata": {"labels": {labels.TASK: self.task}}, "spec": spec},
            },
        }

    @property
    def _mounts(self) -> dict[str, str]:
        """Path in the container -> folder of the machine."""
        own = (str(_MODULES), str(self.folder), sys.base_prefix)
        return {**_SHOWN, **{each: each for each in own if not each.startswith("/usr")}}

    @property
    def held_back(self) -> Path:
        """While this file is there, the last item waits, so that the Job does not end."""
        return self.folder / "held-back"

    def records(self) -> dict[str, list[int]]:
        """The items that each pod did, by its own record; a killed one's last line may be cut."""
        return {
            path.name: [
                int(line)
                for line in path.read_text().splitlines(keepends=True)
                if line.endswith("\n")
            ]
            for path in self.folder.iterdir()
            if path != self.held_back
        }

    def done(self) -> Counter[int]:
        """How often each item was done, by the pods' own records."""
        return Counter(item for each in self.records().values() for item in each)


def process_of(pod: str) -> int | None:
    """The process of a pod's program on this machine; None if there is none."""
    mark = f"WORKS_AS={pod}".encode()
    for each in Path("/proc").iterdir():
        try:
            if each.name.isdigit() and mark in (each / "environ").read_bytes().split(b"\0"):
                return int(each.name)
        except OSError:  # it has just ended
            continue
    return None


def kill(pod: str) -> bool:
    """Kill (-9) a pod's program; False if it has none."""
    process = process_of(pod)
    if process is None:
        return False
    os.kill(process, 9)
    return True
