"""Plimsoll's own processes, killed (-9) at random while something goes on."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from random import Random
from typing import Final

from tests.e2e.plimsolls import AGENT, CONTROLLER, Plimsoll

TRAINER_PROCESS: Final = "trainer"
LOOKS_AGAIN_S: Final = 10.0
"""From a new agent's start until it has found all pods, on a busy machine."""


async def always() -> bool:
    """Let the kills go on to their number."""
    return True


async def killed_at_random(
    plimsoll: Plimsoll,
    kills: int,
    between_s: float,
    going: Callable[[], Awaitable[bool]] = always,
) -> tuple[Counter[str], list[tuple[float, float]]]:
    """Kill one after the other. A trainer is killed only while one trains.

    kills: at most that many. between_s: the longest pause before each. going: says whether to go
        on; it is asked right before each kill, so that only kills within the activity count.

    Return how often each was killed, and from when to when no agent lived, in Unix seconds.
    """
    random, killed, without_agent = Random(29), Counter[str](), []
    for _ in range(kills):
        await asyncio.sleep(between_s * random.random())
        if not await going():
            break
        victim = random.choice([CONTROLLER, AGENT, TRAINER_PROCESS])
        trainers = plimsoll.trainers()
        if victim == TRAINER_PROCESS and trainers:
            with contextlib.suppress(ProcessLookupError):  # has just ended by itself
                os.kill(random.choice(trainers), signal.SIGKILL)
        else:
            victim = CONTROLLER if victim == TRAINER_PROCESS else victim
            began_s = time.time()
            await plimsoll.killed(victim)
            if victim == AGENT:
                without_agent.append((began_s, time.time() + LOOKS_AGAIN_S))
        killed[victim] += 1
    return killed, without_agent
