"""Runs commands that need the store where it is: in the pod of the leading controller.

The same command runs there with the same arguments. Files stay here: a file that it reads is sent,
and a file that it writes comes back.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final

from plimsoll_operator.commands.printing.printing import complain
from plimsoll_operator.commands.reaching.cluster_objects import cluster_objects
from plimsoll_operator.commands.reaching.installation import Installation
from plimsoll_operator.commands.reaching.leading_pod import NoLeader, find_leading_pod
from plimsoll_operator.kube.errors import ApiError, NoCluster
from plimsoll_operator.kube.pod_exec import Streams, run_in_pod
from plimsoll_operator.web.report.writing import check_writable

PLIMSOLL: Final = ("python", "-P", "-m", "plimsoll_operator")
NARROWEST: Final = 20
"""Columns; commands refuse a terminal that is said to have fewer."""
MOST_PRINTED_BYTES: Final = 64 * 2**20
MOST_FILE_BYTES: Final = 4 * 2**30
NOT_RUN: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """One command to run there.

    words: the command and its arguments in the pod. stdin: a file that it reads; it also gets the
    size. out: the file for its whole standard output; None prints it. tells: whether a message says
    that this file is written.
    """

    words: Sequence[str]
    installation: Installation = field(default_factory=Installation)
    stdin: Path | None = None
    out: Path | None = None
    tells: bool = True


def run_in_controller(errand: Errand) -> int:
    """Run it; its exit status, or NOT_RUN after one sentence on stderr."""
    try:
        if errand.out is None:
            status = asyncio.run(_run(errand, sys.stdout.buffer, MOST_PRINTED_BYTES))
            sys.stdout.flush()
            return status
        return _run_into(errand, errand.out)
    except NoCluster as error:
        complain(
            f"plimsoll {errand.words[0]}: no store and no cluster: name the store with --store or"
            f" PLIMSOLL_STORE_URL, or the cluster that Plimsoll runs in ({error})"
        )
    except (ApiError, NoLeader) as error:
        complain(f"plimsoll {errand.words[0]}: {error}")
    except BrokenPipeError:
        # The reader, such as `head`, has closed the pipe; Python must not fail again at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        complain(f"plimsoll {errand.words[0]}: {error.filename or errand.out}: {error.strerror}")
    return NOT_RUN


def _run_into(errand: Errand, out: Path) -> int:
    """Write a file beside it first, so that no partial output is left behind."""
    check_writable(out)
    handle, name = tempfile.mkstemp(dir=out.parent, prefix=".plimsoll-")
    try:
        with os.fdopen(handle, "wb") as file:
            status = asyncio.run(_run(errand, file, MOST_FILE_BYTES))
        if status == 0:
            # mkstemp makes the file private, but it is meant to be shared.
            os.chmod(name, 0o644)
            os.replace(name, out)
            if errand.tells:
                complain(f"{out}: written")
        return status
    finally:
        Path(name).unlink(missing_ok=True)


async def _run(errand: Errand, stdout: BinaryIO, most_bytes: int) -> int:
    stdin = None if errand.stdin is None else errand.stdin.open("rb")
    try:
        async with cluster_objects(errand.installation) as objects:
            pod = await find_leading_pod(objects, errand.installation)
            streams = Streams(
                stdin=stdin, stdout=stdout.write, stderr=_to_stderr, most_bytes=most_bytes
            )
            size = [] if stdin is None else ["--stdin-bytes", str(os.fstat(stdin.fileno()).st_size)]
            argv = [*PLIMSOLL, *terminal_words(), *errand.words, *size]
            return await run_in_pod(objects.settings, pod, argv, streams)
    finally:
        if stdin is not None:
            stdin.close()


def terminal_words() -> list[str]:
    """Options that make a command print as if it were in our terminal; none without a terminal."""
    from rich.console import Console

    console = Console()
    if not console.is_terminal:
        return []
    plain = ["--no-colour"] if console.no_color else []
    return ["--terminal-width", str(max(NARROWEST, console.width)), *plain]


def _to_stderr(data: bytes) -> None:
    sys.stderr.buffer.write(data)
    sys.stderr.flush()
