"""A pod's program of a few kilobytes that takes memory for real: ``/eat MIB SECONDS``."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from deploy.local.archive import write_image
from deploy.local.images import compile_static, load_image
from deploy.local.layout import Layout

IMAGE = "localhost/plimsoll-eater:1"

_SOURCE = r"""
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv) {
  size_t mib = argc > 1 ? strtoul(argv[1], 0, 10) : 0;
  for (size_t i = 0; i < mib; i++) memset(malloc(1 << 20), 1, 1 << 20);
  if (argc > 2) sleep((unsigned)strtoul(argv[2], 0, 10));
  return 0;
}
"""


def load_eater(layout: Layout) -> str:
    """Load the image into a node; return its name."""
    with tempfile.TemporaryDirectory(prefix="plimsoll-eater-") as scratch:
        compile_static(_SOURCE, Path(scratch) / "root" / "eat")
        archive = Path(scratch) / "eater.tar"
        write_image(Path(scratch) / "root", IMAGE, ["/eat"], archive)
        load_image(layout, archive)
    return IMAGE


def an_eating_pod(name: str, *, eats_mib: int, limit_mib: int, for_s: int = 0) -> dict[str, Any]:
    """A bare pod that is tried once."""
    memory = f"{limit_mib}Mi"
    container = {
        "name": "main",
        "image": IMAGE,
        "imagePullPolicy": "Never",
        "command": ["/eat", str(eats_mib), str(for_s)],
        "resources": {"requests": {"memory": memory}, "limits": {"memory": memory}},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            "automountServiceAccountToken": False,
            "containers": [container],
        },
    }
