"""Starts a trainer in a process and process group of its own, and reads its result."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from plimsoll_operator.training.limits import BUDGET_S, MEMORY_MIB, ONE_THREAD, SEED
from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.core.task import TaskId

COMMAND: Final = (sys.executable, "-P", "-m", "plimsoll_operator.processes.trainer")
STORE_URL: Final = "PLIMSOLL_STORE_URL"

Ended = tuple[str | None, Mapping[str, Any]]
"""Why a trainer failed (None if it did not), and what it printed about itself."""

Locally = Callable[[], Awaitable[Ended]]
"""Learns in a process of this machine."""
LearnedBy = Callable[[Locally], Awaitable[Ended]]
"""Has something learned, by the given function or elsewhere."""


def here(locally: Locally) -> Awaitable[Ended]:
    """Have it learned by the given function."""
    return locally()


@dataclass(frozen=True, slots=True, kw_only=True)
class Spawner:
    """How trainers are started. budget_s, memory_mib: of each training."""

    store_url: str
    budget_s: float = BUDGET_S
    memory_mib: int = MEMORY_MIB
    seed: int = SEED
    command: Sequence[str] = COMMAND

    async def __call__(self, task: TaskId, policy: Policy) -> asyncio.subprocess.Process:
        """Start one. OSError if the process cannot be started."""
        return await start(
            self.store_url,
            *self.command,
            str(task),
            *("--budget", str(self.budget_s)),
            *("--memory-mib", str(self.memory_mib)),
            *("--seed", str(self.seed)),
            *("--policy", json.dumps(policy.to_dict())),
        )


async def start(store_url: str, *command: str) -> asyncio.subprocess.Process:
    """Start a process that learns from the store. Its last line on stdout is its result.

    Raises:
        OSError: if it cannot be started.
    """
    return await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        # It gets its own process group: all of it can be ended, and Ctrl-C reaches only us.
        start_new_session=True,
        # The address may hold a password, and a command line would show it to everyone.
        env={**os.environ, **ONE_THREAD, STORE_URL: store_url},
    )


async def result_of(starting: Awaitable[asyncio.subprocess.Process], limit_s: float) -> Ended:
    """Wait for a trainer that is being started, and end it after ``limit_s``."""
    try:
        process = await starting
    except OSError as error:
        return f"the trainer could not be started: {error}", {}
    try:
        async with asyncio.timeout(limit_s):
            stdout, _ = await process.communicate()
    except TimeoutError:
        return f"ended after {limit_s:.0f} s, far over its budget", {}
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.communicate()
    return _outcome(process.returncode or 0, stdout)


def _outcome(status: int, stdout: bytes) -> Ended:
    """status: exit status, negative for the signal that ended it."""
    result = _last_line(stdout)
    if result.get("ok") is True:
        # The trainer prints this after it saved the model: the model serves, whatever follows.
        return None, result
    if status < 0:
        hint = " (memory cap?)" if -status == signal.SIGKILL else ""
        return f"killed by signal {-status}{hint}", result
    if not isinstance(result.get("ok"), bool):
        # Linear algebra libraries end the process themselves when they get no memory.
        return (
            f"the trainer ended with status {status} and no result (memory cap?); see its log",
            {},
        )
    return str(result.get("message") or f"ended with status {status}"), result


def _last_line(stdout: bytes) -> dict[str, Any]:
    lines = stdout.strip().splitlines()
    try:
        result = json.loads(lines[-1]) if lines else {}
    except ValueError:
        return {}
    return result if isinstance(result, dict) else {}
