"""Processes that a run of all suites leaves when it is killed, and how they are ended.

Everything that a run starts carries a mark in its environment. A guard waits for the end of the
run, however it ends, then ends all processes with the mark and takes the run's clusters away.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from deploy.local import lifecycle
from deploy.local.layout import CHECKOUT, Layout
from deploy.local.trouble import Trouble

_ENDED_WITHIN_S = 60.0


def marked(mark: str) -> list[int]:
    """Processes that a run has started, by the mark in their environment."""
    wanted = f"{mark}=1".encode()
    found = []
    for entry in os.listdir("/proc"):
        # Other users' processes cannot be read, and ended ones are gone.
        with contextlib.suppress(OSError):
            if entry.isdigit() and wanted in Path(f"/proc/{entry}/environ").read_bytes().split(
                b"\0"
            ):
                found.append(int(entry))
    return found


def end_marked(mark: str) -> None:
    """Kill them all, and all that they start meanwhile."""
    give_up_s = time.monotonic() + _ENDED_WITHIN_S
    while (found := marked(mark)) and time.monotonic() < give_up_s:
        for process in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.05)


def guard(mark: str, homes: Sequence[Path], lock: int) -> subprocess.Popen[bytes]:
    """Start a process that ends what is left of this one.

    homes: of the clusters to take away. lock: held until that is done.
    """
    return subprocess.Popen(
        [sys.executable, "-S", "-m", "tests.rigs.processes.run_remains", mark, *map(str, homes)],
        # In its own session no key press reaches it.
        cwd=CHECKOUT, stdin=subprocess.PIPE, pass_fds=[lock], start_new_session=True,
    )  # fmt: skip


def main(mark: str, *homes: str) -> None:
    """Wait until the run has ended, and clean up."""
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)
    sys.stdin.read()
    end_marked(mark)
    try:
        for home in homes:
            lifecycle.down(lifecycle.Cluster(Layout(Path(home)), dict(os.environ)))
    except Trouble as trouble:
        sys.exit(f"make test: {trouble}")


if __name__ == "__main__":
    main(*sys.argv[1:])
