"""All that a local cluster can leave on this machine, and a harness to be killed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from deploy.local import leftovers
from deploy.local.layout import CHECKOUT, NETNS_ROOT, Layout
from deploy.local.machine import cgroups
from deploy.local.machine.namespaces import processes

CLUSTER_COMMAND = CHECKOUT / "deploy" / "local" / "cluster.py"

PATIENCE_S = 180.0
"""Beside other suites, an API server takes a minute to start."""
PAUSE_S = 0.5
"""Most looks walk through all processes, and many run kubectl."""


def until(probe: Callable[[], Any], what: str, within_s: float = PATIENCE_S) -> Any:
    end_s = time.monotonic() + within_s
    while time.monotonic() < end_s:
        if answer := probe():
            return answer
        time.sleep(PAUSE_S)
    raise AssertionError(f"{what}: not within {within_s} s")


def traces_of(layout: Layout) -> dict[str, list[str]]:
    """All that a cluster can leave anywhere on this machine."""
    mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    marks = (layout.name, str(layout.run), str(layout.home))
    return {
        "processes": [
            f"{p.pid} {' '.join(p.argv)[:80]}"
            for p in processes()
            if any(mark in " ".join(p.argv) for mark in marks) and p.pid != os.getpid()
        ],
        "mounts": [line for line in mounts if any(mark in line for mark in marks)],
        "networks": [str(p) for p in NETNS_ROOT.glob(layout.name)],
        "cgroups": [
            # Other clusters' pods come and go meanwhile; os.walk tolerates that.
            f"{folder}/{layout.name}"
            for hierarchy in cgroups.hierarchies()
            for folder, names, _ in os.walk(hierarchy)
            if layout.name in names
        ],
        "folders": [str(p) for p in (layout.run, layout.home) if p.exists()],
        "logs": [
            str(p)
            for folder in leftovers.FIXED_FOLDERS.values()
            for p in folder.rglob("*")
            if layout.name in p.name
        ],
    }


def nothing() -> dict[str, list[str]]:
    return {k: [] for k in ("processes", "mounts", "networks", "cgroups", "folders", "logs")}


def cluster_command(home: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(CLUSTER_COMMAND), *words],
        env={**os.environ, "PLIMSOLL_CLUSTER_HOME": str(home)},
        stderr=subprocess.PIPE,
        text=True,
    )
