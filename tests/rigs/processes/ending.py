"""Ends programs that a test has started, so that none is left behind."""

from __future__ import annotations

import subprocess


def end(process: subprocess.Popen[bytes], within_s: float) -> None:
    """Ask a program to end, and kill it if it has not ended after a while.

    Raises:
        subprocess.TimeoutExpired: if it had to be killed.

    """
    process.terminate()
    try:
        process.wait(within_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise
