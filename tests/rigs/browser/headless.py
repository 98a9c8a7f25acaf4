"""A browser that runs once, for one page from a file."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.rigs.browser.browsers import PATIENCE_S, QUIET

ALONE = (
    *QUIET,
    "--virtual-time-budget=2000",
    # No name and no address resolves: the page must need neither.
    "--host-resolver-rules=MAP * ~NOTFOUND",
)


def run(browser: str, profile: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [browser, *ALONE, f"--user-data-dir={profile}", *words],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )


def console_of(stderr: str) -> Sequence[str]:
    return [line for line in stderr.splitlines() if ":CONSOLE" in line]
