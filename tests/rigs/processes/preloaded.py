"""Processes of Plimsoll that begin with their imports done.

An import of all that a controller uses takes about three seconds of a processor, and tests start
dozens of controllers. One server has imported it and forks each of them. From then on such a
process is like any other: it has its own memory, environment, output and signals.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.context import ForkServerProcess
from typing import IO, Final

PROGRAM: Final = "plimsoll_operator.__main__"
_INTERPRETER: Final = "tests.rigs.processes.own_interpreter"
_CONTROLLER: Final = "plimsoll_operator.processes.controller"
IMPORTED: Final = (_INTERPRETER, PROGRAM, _CONTROLLER, "pytest", __name__)
_STDOUT, _STDERR = 1, 2


@dataclass(frozen=True, slots=True)
class Preloaded:
    """A running ``plimsoll``, with the methods of asyncio's Process that tests use."""

    _process: ForkServerProcess

    @property
    def pid(self) -> int:
        """Its process id."""
        assert self._process.pid is not None
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """Its exit status, or the negative number of the signal; None while it runs."""
        return self._process.exitcode

    def send_signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        os.kill(self.pid, number)

    async def wait(self) -> int:
        """Wait until it has ended; its exit status."""
        loop = asyncio.get_running_loop()
        while (status := self.returncode) is None:
            ended = loop.create_future()
            loop.add_reader(self._process.sentinel, ended.set_result, None)
            try:
                await ended
            finally:
                loop.remove_reader(self._process.sentinel)
        return status


def start_plimsoll(
    words: Sequence[str], log: IO[bytes], environment: Mapping[str, str]
) -> Preloaded:
    """Start ``plimsoll`` with these words. log: gets its output and errors."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(IMPORTED))
    process = context.Process(target=_run, args=(list(words), log.name, dict(environment)))
    process.start()
    return Preloaded(process)


def _run(words: list[str], log: str, environment: dict[str, str]) -> None:
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND)
    os.dup2(descriptor, _STDOUT)
    os.dup2(descriptor, _STDERR)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["plimsoll", *words]
    from plimsoll_operator.__main__ import main

    main()
