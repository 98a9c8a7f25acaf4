"""Catches the answer of `plimsoll` to a question, to show it with the rest of the story."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from typing import Final

from demo.cluster.place import ROOT
from demo.services.service import ServiceError

COLUMNS: Final = 110
"""The width of an answer on the screen."""


def answered(command: Sequence[str]) -> Sequence[str]:
    """Run it; return its output, line by line. Raises ServiceError if it fails."""
    done = subprocess.run(
        command,
        cwd=ROOT,
        check=False,
        text=True,
        capture_output=True,
        env={**os.environ, "COLUMNS": str(COLUMNS)},
    )
    if done.returncode != 0:
        raise ServiceError(f"`{' '.join(command)}` ended with {done.returncode}: {done.stderr}")
    return done.stdout.rstrip().splitlines()
