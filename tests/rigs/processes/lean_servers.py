"""Servers that load little: what they may not load, how long they drain, what their logs say."""

from __future__ import annotations

import subprocess

NEVER_LOADED = (
    "xgboost",
    "sklearn",
    "scipy",
    "skopt",
    "imblearn",
    "sqlalchemy",
    "alembic",
    "pandas",
    "kubernetes",
    "kubernetes_asyncio",
    "pykube",
)
DRAIN_S = 5.0
"""Longer than any pause of the machine while one question is answered."""


def until_said(process: subprocess.Popen[str], event: str) -> str:
    """Read a process's log up to the line of an event; return what was read."""
    assert process.stdout is not None
    read: list[str] = []
    for line in process.stdout:
        read.append(line)
        if event in line:
            return "".join(read)
    raise AssertionError(f"no {event} in {read}")
