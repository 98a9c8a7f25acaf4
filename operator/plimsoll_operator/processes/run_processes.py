"""Children of ``plimsoll run``: started, watched, restarted, and ended with it."""

from __future__ import annotations

import asyncio
import ctypes
import os
import shutil
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import structlog

from plimsoll_operator.processes.ending import beside
from plimsoll_predictor.core.units import MIB

log = structlog.get_logger()

_LIBC = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1
"""prctl(2)."""

RESTART_PAUSE_S = 1.0
LONGEST_RESTART_PAUSE_S = 30.0
STABLE_S = 60.0
"""A child that lived at least this long starts again without a long pause."""
GRACE_S = 15.0
MOST_LOG_BYTES = 16 * MIB
"""A log that is larger becomes the earlier one, which is deleted then."""
LOGS_LOOKED_AT_EVERY_S = 60.0
LAST_BYTES = 500
"""Of a log's last line, people are shown so many."""


@dataclass(frozen=True, slots=True)
class Command:
    """One of our own commands. log_file: where its standard error and output go.

    What was written before is in a file beside it, whose name ends with ``.1``.
    """

    name: str
    arguments: Sequence[str]
    log_file: Path


async def keep_running(command: Command) -> None:
    """Run it, and restart it whenever it ends; when cancelled, end it and wait for its end."""
    pause_s = RESTART_PAUSE_S
    loop = asyncio.get_running_loop()
    while True:
        began_s = loop.time()
        try:
            code = await _run_to_its_end(command)
        except OSError as error:
            # There may be no room for its log, or no memory for the process, for a while.
            log.error(
                "a process cannot be started and is tried again",
                process=command.name,
                why=str(error),
                pause_s=pause_s,
            )
        else:
            pause_s = RESTART_PAUSE_S if loop.time() - began_s > STABLE_S else pause_s
            log.error(
                "a process ended by itself and is started again",
                process=command.name,
                code=code,
                log=str(command.log_file),
                last_line=last_line(command.log_file),
                pause_s=pause_s,
            )
        await asyncio.sleep(pause_s)
        pause_s = min(pause_s * 2, LONGEST_RESTART_PAUSE_S)


def last_line(log_file: Path) -> str:
    """Return the last line of a log that has a letter, or its end; empty if there is none."""
    try:
        with log_file.open("rb") as written:
            written.seek(max(0, written.seek(0, os.SEEK_END) - LAST_BYTES))
            lines = written.read().decode(errors="replace").splitlines()
    except OSError:
        return ""
    return next((line for line in reversed(lines) if any(map(str.isalnum, line))), "")


async def _run_to_its_end(command: Command) -> int:
    process = await _start(command)
    try:
        _write_number(command.log_file.with_suffix(".pid"), process.pid)
        async with beside(_bound(command.log_file)):
            return await process.wait()
    except asyncio.CancelledError:
        await _end(process)
        raise


async def _start(command: Command) -> asyncio.subprocess.Process:
    with command.log_file.open("ab") as out:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            "-m",
            "plimsoll_operator",
            *command.arguments,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            # If the parent is killed outright, its children must not keep running on its ports.
            preexec_fn=_end_with_parent,
        )


async def _bound(log_file: Path) -> None:
    while True:
        try:
            if log_file.stat().st_size > MOST_LOG_BYTES:
                await asyncio.to_thread(_begin_again, log_file)
        except OSError as error:  # somebody moved it; the next look may find another
            log.warning("a log cannot be bounded", file=str(log_file), why=str(error))
        await asyncio.sleep(LOGS_LOOKED_AT_EVERY_S)


def _begin_again(log_file: Path) -> None:
    """Move what is in a log, to which a process goes on writing, to the file beside it.

    What is written between the copy and the cut is lost.
    """
    earlier = log_file.with_suffix(f"{log_file.suffix}.1")
    try:
        shutil.copyfile(log_file, earlier)
    except OSError as error:
        log.warning("a log cannot be kept and is emptied", file=str(log_file), why=str(error))
        earlier.unlink(missing_ok=True)
    os.truncate(log_file, 0)


def _write_number(path: Path, number: int) -> None:
    # The file is replaced as a whole, because others read it while we restart.
    written = path.with_suffix(".pid.new")
    try:
        written.write_text(f"{number}\n", encoding="utf-8")
        written.replace(path)
    except OSError as error:
        log.warning("a process's number cannot be written", file=str(path), why=str(error))


def _end_with_parent() -> None:
    """Ask Linux for a SIGTERM when the parent ends, however it ends."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    process.send_signal(signal.SIGTERM)
    try:
        await asyncio.wait_for(process.wait(), GRACE_S)
    except TimeoutError:
        process.kill()
        await process.wait()
