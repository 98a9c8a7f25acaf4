"""Starting a trainer: a process of its own, in a process group of its own."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from plimsoll_operator.training.limits import ONE_THREAD
from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.core.task import TaskId

COMMAND: Final = (sys.executable, "-P", "-m", "plimsoll_operator.processes.trainer")
STORE_URL: Final = "PLIMSOLL_STORE_URL"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spawner:
    """How trainers are started. budget_s, memory_mib: of each training."""

    store_url: str
    budget_s: float = 60.0
    memory_mib: int = 1024
    seed: int = 1
    command: Sequence[str] = COMMAND

    async def __call__(self, task: TaskId, policy: Policy) -> asyncio.subprocess.Process:
        """Start one. Its result is on its stdout; its log goes to ours.

        Raises:
            OSError: if the process cannot be started.
        """
        return await asyncio.create_subprocess_exec(
            *self.command,
            str(task),
            *("--budget", str(self.budget_s)),
            *("--memory-mib", str(self.memory_mib)),
            *("--seed", str(self.seed)),
            *("--policy", json.dumps(policy.to_dict())),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            # The trainer gets its own process group: all of it can end, and Ctrl-C is for us.
            start_new_session=True,
            env=self._environment(),
        )

    def _environment(self) -> Mapping[str, str]:
        # The address may hold a password, which a command line would show to everyone.
        return {**os.environ, **ONE_THREAD, STORE_URL: self.store_url}
