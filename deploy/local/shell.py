"""Runs other programs; errors contain their last words."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from deploy.local.trouble import Trouble

PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Debian's system folders: sudo and cron leave some of them out."""


def plain_environment() -> dict[str, str]:
    """The environment of the cluster's programs: no proxy, tokens or Go settings of the user."""
    return {"PATH": PATH, "HOME": "/root", "LANG": "C.UTF-8"}


def run(
    argv: Sequence[str | Path],
    *,
    doing: str,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
    timeout_s: float | None = None,
) -> str:
    """Run to the end and return the output.

    Raises:
        Trouble: if it is missing, fails or takes longer; with the end of its output.

    """
    try:
        done = subprocess.run(
            [str(part) for part in argv],
            cwd=cwd,
            env=plain_environment() if environment is None else dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            check=False,
        )
    except FileNotFoundError:
        raise Trouble(f"{doing}: {argv[0]} is not installed") from None
    except subprocess.TimeoutExpired:
        raise Trouble(f"{doing}: {argv[0]} took longer than {timeout_s} s") from None
    if done.returncode:
        raise Trouble(f"{doing}: {_last_words(done.stderr or done.stdout)}")
    return done.stdout


def try_run(argv: Sequence[str | Path], *, timeout_s: float = 10.0) -> str | None:
    """Return the output, or None if it failed, is missing or takes longer."""
    try:
        return run(argv, doing=str(argv[0]), timeout_s=timeout_s)
    except Trouble:
        return None


def _last_words(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " / ".join(lines[-3:]) or "it failed without a word"


def is_disk_full(error: OSError) -> bool:
    """Whether there is no space, or none within the quota."""
    return error.errno in {errno.ENOSPC, errno.EDQUOT}


def replace_process(argv: Sequence[str], environment: Mapping[str, str]) -> None:
    """Become another program; only returns by raising."""
    try:
        os.execvpe(argv[0], list(argv), dict(environment))
    except FileNotFoundError:
        raise Trouble(f"{argv[0]} is not installed") from None
